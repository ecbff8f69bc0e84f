//! A valid configuration: every limit of every profile already holds, every default is filled in.
//!
//! `config` is the only maker of these values. Names are kept as written; references by
//! name have been checked to lead somewhere.

mod authorities;
mod dataplane;
mod encapsulation;
mod group;
mod health_check;
mod link;
mod port;
mod ratio;
mod rule;
mod service;
pub(crate) mod written;

use std::sync::Arc;

use ipnet::IpNet;

pub use authorities::Authorities;
pub use dataplane::{Dataplane, Hugepages, Idle};
pub use encapsulation::{Dscp, Encapsulation, EncapsulationKind, GreKey, GueVariant};
pub use group::{Backend, Group, Role};
pub use health_check::{CheckProtocol, CheckTarget, HealthCheck};
pub use link::{AnnounceVips, Bond, BondMode, DeviceUse};
pub use port::Port;
pub use ratio::{Ratio, RatioError};
pub use rule::{ForwardingRule, RuleProtocol};
pub use service::{
    Affinity, FailoverPolicy, Persistence, Profile, Service, TrackingMode, ZonalAffinity,
};
pub use tables::rules::Ports;

/// The whole file.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// `[dataplane]`
    pub dataplane: Dataplane,
    /// `[[port]]`, in the order of the file.
    pub ports: Vec<Port>,
    /// `[admin]`
    pub admin: Admin,
    /// `[[client_zone]]` (Z-4)
    pub client_zones: Vec<ClientZone>,
    /// `[[service]]`
    pub services: Vec<Service>,
    /// `[[forwarding_rule]]`
    pub rules: Vec<ForwardingRule>,
}

/// `[admin]`
#[derive(Clone, Debug, PartialEq)]
pub struct Admin {
    /// Where metrics and the JSON API listen.
    pub listen: String,
    /// The control socket's path.
    pub socket: String,
    /// The file that keeps the operator's orders (T-18) over a restart; empty: none.
    pub orders: String,
}

/// `[[client_zone]]`
#[derive(Clone, Debug, PartialEq)]
pub struct ClientZone {
    /// Sources in it.
    pub prefix: IpNet,
    /// The zone that they are in.
    pub zone: Arc<str>,
}
