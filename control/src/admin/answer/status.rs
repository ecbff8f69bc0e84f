//! `windrose status` and `windrose health`.

use serde::{Deserialize, Serialize};

use super::GivenRates;

/// Everything at a glance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// The program's version.
    pub version: String,
    /// Its process id.
    pub pid: u32,
    /// The configuration file.
    pub file: String,
    /// Seconds since its start.
    pub uptime_seconds: u64,
    /// Counts Tables: each change makes new ones.
    pub generation: u64,
    /// The last reload that somebody asked for; null: none yet.
    pub last_reload: Option<LastReload>,
    /// The workers.
    pub workers: Workers,
    /// Packets and connections a second, over the last few seconds; null: not known yet.
    pub rates: Option<Rates>,
    /// Live entries of the connection table; null: the first count is not done.
    pub connections: Option<Live>,
    /// The ports, in the order of the file.
    pub ports: Vec<PortStatus>,
    /// The forwarding rules, in the order of the file.
    pub rules: Vec<RuleStatus>,
    /// The services by name, those that only drain included.
    pub services: Vec<ServiceStatus>,
    /// Orders about what the file does not name: they wait for it.
    pub waiting_orders: Vec<String>,
}

/// What came of a reload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastReload {
    /// Whether it was applied.
    pub applied: bool,
    /// Seconds ago.
    pub seconds_ago: u64,
    /// Why not, in short.
    pub error: Option<String>,
}

/// The workers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workers {
    /// How many.
    pub count: usize,
    /// Those that still use old Tables.
    pub lagging: Vec<String>,
}

/// A second, over the last few seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rates {
    /// Packets received.
    pub received: f64,
    /// Packets sent to backends.
    pub forwarded: f64,
    /// Connection table entries made.
    pub new_connections: f64,
    /// Packets that went neither to a backend nor to the host.
    pub dropped: f64,
}

/// Live entries, counted in the background.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Live {
    /// IPv4.
    pub v4: u64,
    /// IPv6.
    pub v6: u64,
    /// Those that have seen more than one packet.
    pub confirmed: u64,
    /// How old the figures are at most.
    pub age_seconds: u64,
}

/// One port.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PortStatus {
    /// Its name.
    pub name: String,
    /// Its device.
    pub device: String,
    /// Whether its link is up; null: not asked yet.
    pub up: Option<bool>,
    /// Its addresses with their prefixes.
    pub addresses: Vec<String>,
    /// Its host interface; null: none.
    pub host_interface: Option<String>,
    /// Its bond; null: its device is none.
    #[serde(default)]
    pub bond: Option<BondStatus>,
}

/// A bond.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BondStatus {
    /// Its mode, as the file has it.
    pub mode: String,
    /// Its members.
    pub members: Vec<BondMember>,
}

/// One member of a bond.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BondMember {
    /// Its device.
    pub device: String,
    /// Whether its link is up.
    pub up: bool,
    /// Whether it carries traffic.
    pub active: bool,
    /// The Ethernet address of the other end's system, if that speaks LACP.
    #[serde(default)]
    pub partner: Option<String>,
}

/// One forwarding rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleStatus {
    /// Its name.
    pub name: String,
    /// Its address or prefix.
    pub address: String,
    /// Its protocol.
    pub protocol: String,
    /// Its ports: `port 80`, `all ports`.
    pub ports: String,
    /// Its service.
    pub service: String,
}

/// One service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServiceStatus {
    /// Its name.
    pub name: String,
    /// Its profile.
    pub profile: String,
    /// Whether the file names it; else it only drains.
    pub in_file: bool,
    /// Whether the operator drains all of it.
    pub drained: bool,
    /// The role of the eligible backends: primary, failover or none.
    pub pool: String,
    /// Whether they are a last resort.
    pub last_resort: bool,
    /// How many are eligible for new connections.
    pub eligible: usize,
    /// Why these.
    pub why: String,
    /// Live connections; null: the first count is not done.
    pub connections: Option<u64>,
    /// What its backends are given a second; null: not known yet.
    #[serde(default)]
    pub rates: Option<GivenRates>,
    /// Its backends, in the order of the file, those that drain included.
    pub backends: Vec<BackendStatus>,
}

/// A backend's health as policy has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Health {
    /// It passes.
    Healthy,
    /// It does not, or the operator has disabled it.
    Unhealthy,
}

/// One backend.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BackendStatus {
    /// `group/name`
    pub backend: String,
    /// Its address.
    pub address: String,
    /// Its group's role.
    pub role: String,
    /// Its group's zone.
    pub zone: Option<String>,
    /// Its health.
    pub health: Health,
    /// What its check asks; null: it has none.
    pub check: Option<String>,
    /// What the last probe said: `HTTP 503`; null: none has been answered.
    pub reason: Option<String>,
    /// Since when, in seconds ago, its health is what it is; null: not known.
    pub since_seconds: Option<u64>,
    /// Its weight in force.
    pub weight: u16,
    /// Whether new connections may be given to it.
    pub eligible: bool,
    /// Why, or why not.
    pub why: String,
    /// Its share of new connections, exact over the slots of the Maglev table, 0.0 to 1.0.
    pub share: f64,
    /// Live connections; null: the first count is not done.
    pub connections: Option<u64>,
    /// What it is given a second; null: not known yet.
    #[serde(default)]
    pub rates: Option<GivenRates>,
    /// Drained by the operator, by itself or with its service.
    pub drained: bool,
    /// Disabled by the operator.
    pub disabled: bool,
    /// Seconds until a removed backend's connections end (T-13); null: it is not on its way out.
    pub drains_for_seconds: Option<u64>,
}
