//! `[[forwarding_rule]]`

use std::sync::Arc;

use ipnet::IpNet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Ports;

/// `protocol` of a rule (F-1)
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[allow(missing_docs, reason = "the protocols' own names")]
pub enum RuleProtocol {
    Tcp,
    Udp,
    /// Every IP protocol.
    L3Default,
}

/// `[[forwarding_rule]]`
#[derive(Clone, Debug, PartialEq)]
pub struct ForwardingRule {
    /// Its name.
    pub name: Arc<str>,
    /// The VIP, a host prefix where the file gives an address.
    pub address: IpNet,
    /// TCP, UDP or all.
    pub protocol: RuleProtocol,
    /// Which destination ports.
    pub ports: Ports,
    /// The service's name.
    pub service: Arc<str>,
    /// Clients that may use it; empty: all.
    pub client_allow: Vec<IpNet>,
}
