//! Every answer's JSON. Fields are only ever added; a reader passes over those that it does not
//! know.

mod change;
mod connections;
mod counters;
mod given;
mod status;

use serde::{Deserialize, Serialize};

pub use change::{Changed, Compared, Explained, OrderOf, Question, Reloaded};
pub use connections::{By, Connection, ConnectionCount, ConnectionList, ConnectionQuery, Counted};
pub use counters::{BackendCounts, CountersNow, Counts, PortCounts, ServiceCounts};
pub use given::{Given, GivenRates};
pub use status::{
    BackendStatus, BondMember, BondStatus, Health, LastReload, Live, PortStatus, Rates, RuleStatus,
    ServiceStatus, Status, Workers,
};

/// Why there is no answer; the HTTP status says of what kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// One sentence, with the cure.
    pub error: String,
}
