//! `[[service.group]]` and its backends.

use std::net::IpAddr;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `[[service.group]]`
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Its name.
    pub name: Arc<str>,
    /// Primary or failover.
    pub role: Role,
    /// Its backends' zone (Z-4).
    pub zone: Option<Arc<str>>,
    /// Its backends.
    pub backends: Vec<Backend>,
}

/// `role`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Serves first.
    #[default]
    Primary,
    /// Serves when too few primaries can (E-3, E-5).
    Failover,
}

/// One backend of a group.
#[derive(Clone, Debug, PartialEq)]
pub struct Backend {
    /// Its name, unique in its group.
    pub name: Arc<str>,
    /// Where encapsulated packets are sent to.
    pub address: IpAddr,
    /// Its static weight, 0 to 1000 (W-3).
    pub weight: Option<u16>,
}
