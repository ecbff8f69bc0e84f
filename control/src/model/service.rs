//! `[[service]]`: how packets are told apart, and where they go.

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Encapsulation, Group, HealthCheck, Ratio};

/// `profile` (section 0)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// The superset (P-4).
    #[default]
    Native,
    /// Google Cloud, external passthrough.
    GcpExternal,
    /// Google Cloud, internal passthrough.
    GcpInternal,
    /// Azure.
    Azure,
}

/// `session_affinity` (S-1); `azure`'s `distribution` is mapped onto it (P-3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Affinity {
    /// Five-tuple where the packet has ports, else three-tuple.
    #[default]
    None,
    /// The same.
    ClientIpPortProto,
    /// Three-tuple.
    ClientIpProto,
    /// Two-tuple.
    ClientIp,
    /// One-tuple.
    ClientIpNoDestination,
}

/// `tracking_mode`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum TrackingMode {
    /// T-6
    #[default]
    PerConnection,
    /// T-7
    PerSession,
}

/// `connection_persistence_on_unhealthy_backends` (section 2)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Persistence {
    /// H-1
    #[default]
    DefaultForProtocol,
    /// H-2
    NeverPersist,
    /// H-3
    AlwaysPersist,
}

/// `[[service]]`
#[derive(Clone, Debug, PartialEq)]
pub struct Service {
    /// Its name.
    pub name: Arc<str>,
    /// Whose rules it follows.
    pub profile: Profile,
    /// What the selection hash is over.
    pub affinity: Affinity,
    /// What a connection is.
    pub tracking_mode: TrackingMode,
    /// Whether entries outlive their backend's health.
    pub persistence: Persistence,
    /// T-8; the profile's default where the file gives none.
    pub idle_timeout: Duration,
    /// T-13
    pub draining_timeout: Duration,
    /// `locality_lb_policy = "WEIGHTED_MAGLEV"`
    pub weighted: bool,
    /// Prime.
    pub maglev_table_size: u32,
    /// `initial_health = "healthy"`
    pub initially_healthy: bool,
    /// How packets reach its backends.
    pub encapsulation: Encapsulation,
    /// Section 4.
    pub zonal_affinity: ZonalAffinity,
    /// Present exactly when there is a failover group (E-8, E-10).
    pub failover: Option<FailoverPolicy>,
    /// Its check, if it has one.
    pub health_check: Option<HealthCheck>,
    /// Its backends.
    pub groups: Vec<Group>,
}

/// `[service.zonal_affinity]`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ZonalAffinity {
    /// Z-1
    #[default]
    Disabled,
    /// Z-2
    StayWithinZone,
    /// Z-3, with the spillover ratio.
    SpillCrossZone(Ratio),
}

/// `[service.failover_policy]`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailoverPolicy {
    /// E-3, E-5
    pub ratio: Ratio,
    /// E-4, E-6
    pub drop_traffic_if_unhealthy: bool,
    /// T-10
    pub connection_draining_on_failover: bool,
}

impl Default for FailoverPolicy {
    /// E-10
    fn default() -> Self {
        Self {
            ratio: Ratio::default(),
            drop_traffic_if_unhealthy: false,
            connection_draining_on_failover: true,
        }
    }
}
