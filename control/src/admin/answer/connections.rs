//! `windrose connections`.

use serde::{Deserialize, Serialize};

/// Which connections somebody asks for: those that meet every condition given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ConnectionQuery {
    /// Of this service.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// On this backend of it, `group/name`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    /// Of clients in this prefix; an address stands for itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// To a VIP in this prefix. Entries whose key has no VIP (CLIENT_IP_NO_DESTINATION) do not match.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vip: Option<String>,
    /// At most so many rows; default 100, at most 10,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// Count instead of list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count_by: Option<By>,
}

/// What connections are counted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// Backends.
    Backend,
    /// Client addresses.
    Client,
    /// Services.
    Service,
}

/// Connections, in no order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConnectionList {
    /// The first of those that match.
    pub connections: Vec<Connection>,
    /// How many match.
    pub matched: u64,
    /// How long the walk through the table took: what came or went meanwhile may be missing.
    pub took_seconds: f64,
}

/// One live entry of the connection table. What its tracking key does not hold is null.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Connection {
    /// Its service.
    pub service: String,
    /// Its backend.
    pub backend: String,
    /// `tcp`, `udp`, or a number.
    pub protocol: Option<String>,
    /// The client.
    pub client: String,
    /// The client's port.
    pub client_port: Option<u16>,
    /// Where it sends to.
    pub vip: Option<String>,
    /// The port there.
    pub vip_port: Option<u16>,
    /// Seconds since its last packet, to a tick.
    pub idle_seconds: f64,
    /// Whether more than its first packet was seen.
    pub confirmed: bool,
}

/// Connections, counted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConnectionCount {
    /// By what.
    pub by: By,
    /// The most frequent ones first.
    pub counts: Vec<Counted>,
    /// Connections of all that is not listed.
    pub others: u64,
    /// How many match.
    pub matched: u64,
    /// As for a list.
    pub took_seconds: f64,
}

/// One line of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// The service; null where clients are counted.
    pub service: Option<String>,
    /// The backend, where those are counted.
    pub backend: Option<String>,
    /// The client, where those are counted.
    pub client: Option<String>,
    /// Connections.
    pub connections: u64,
}
