//! `windrose counters`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Every counter, zeros included, since the start of the process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountersNow {
    /// Over all workers.
    pub total: Counts,
    /// By worker.
    pub workers: Vec<Counts>,
    /// What the ports report themselves.
    pub ports: Vec<PortCounts>,
}

/// Counters of one worker, or of all. received = Σ outcomes + held (D-7), but for what is counted
/// while it is read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// How packets ended.
    pub outcomes: BTreeMap<String, u64>,
    /// What is counted beside that.
    pub events: BTreeMap<String, u64>,
    /// Packets held now.
    pub held: u64,
}

/// One port's own counters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortCounts {
    /// Its name.
    pub name: String,
    /// `rx_missed`, `rx_errors`, `rx_no_buffer`, `tx_errors`
    pub losses: BTreeMap<String, u64>,
}
