//! `[service.health_check]`

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Authorities;

/// `[service.health_check]`
#[derive(Clone, Debug, PartialEq)]
pub struct HealthCheck {
    /// How to ask.
    pub protocol: CheckProtocol,
    /// Where.
    pub port: u16,
    /// HTTP kinds: the path.
    pub request_path: String,
    /// The host header, `:authority` and TLS server name; empty: the probed address.
    pub host: String,
    /// Whether it is inside TLS.
    pub tls: bool,
    /// Whom the server's certificate has to be vouched for by; `None`: any certificate will do.
    pub tls_ca: Option<Arc<Authorities>>,
    /// TCP and SSL: what is sent once there is a connection.
    pub send: String,
    /// TCP and SSL: what the answer has to begin with.
    pub expect: String,
    /// GRPC: the service that is asked about; empty: the server as a whole.
    pub grpc_service: String,
    /// Between checks.
    pub interval: Duration,
    /// Over the whole probe.
    pub timeout: Duration,
    /// Consecutive successes to healthy.
    pub healthy_threshold: u32,
    /// Consecutive failures to unhealthy.
    pub unhealthy_threshold: u32,
    /// Which address is probed.
    pub target: CheckTarget,
}

/// `protocol` of a check (W-4)
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
#[allow(missing_docs, reason = "the protocols' own names")]
pub enum CheckProtocol {
    Http,
    Https,
    Http2,
    Tcp,
    Ssl,
    Grpc,
}

/// `target` of a check (W-8)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CheckTarget {
    /// The VIP, through the encapsulation.
    #[default]
    Vip,
    /// The backend's own address.
    Address,
}
