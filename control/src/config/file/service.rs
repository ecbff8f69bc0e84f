//! `[[service]]` with its tables, and `[[client_zone]]`.

use std::net::IpAddr;

use ipnet::IpNet;
use schemars::JsonSchema;
use serde::Deserialize;

use super::encapsulation::Encapsulation;
use super::proxy::{BalancingMode, ProxyProtocol, Tlv};
use crate::config::field::Field;
use crate::config::table::config_table;
use crate::config::value::number::Int;
use crate::config::value::text::{Length, Name};
use crate::model::{Affinity, CheckProtocol, CheckTarget, Persistence, Ratio, Role, TrackingMode};

config_table! {
    /// A set of backends and how connections are distributed over them.
    "service" struct Service {
        /// Its name.
        required name: Name = "unnamed",
        /// Whose rules it follows, limits included.
        default profile: Profile = "native",
        /// What the selection hash is over.
        default session_affinity: Affinity = "NONE",
        /// azure: what the selection hash is over.
        default distribution: Distribution = "Default",
        /// What a connection is.
        default tracking_mode: TrackingMode = "PER_CONNECTION",
        /// Whether connections stay on a backend that has become unhealthy.
        default connection_persistence_on_unhealthy_backends: Persistence = "DEFAULT_FOR_PROTOCOL",
        /// A connection without a packet for this long is forgotten; default and bounds by profile.
        optional idle_timeout: Length,
        /// How long the connections of a removed backend go on: 0 s to 3600 s.
        default connection_draining_timeout: Length = "0s",
        /// How a backend is chosen from the eligible ones.
        default locality_lb_policy: LocalityPolicy = "MAGLEV",
        /// Slots of the Maglev table: a prime, at least ten times the backends; absent: as in `[dataplane]`.
        optional maglev_table_size: Int<101, 5_000_011>,
        /// What a backend counts as before its first check's result.
        default initial_health: InitialHealth = "unhealthy",
        /// Overrides keys of `[encapsulation]`.
        optional encapsulation: Encapsulation,
        /// Whether clients stay in their zone (native, gcp-internal).
        optional zonal_affinity: ZonalAffinity,
        /// When the failover backends take over; only with at least one failover group.
        optional failover_policy: FailoverPolicy,
        /// How the backends are checked.
        optional health_check: HealthCheck,
        /// The backends, in named groups.
        inner group: Vec<Field<Group>> = [],
        /// Proxy: the PROXY header to the backend.
        optional proxy_protocol: ProxyProtocol,
        /// Proxy: how long a connection to a backend may take to open.
        optional connect_timeout: Length,
        /// Proxy: regions, nearest first.
        optional region_order: Vec<Name>,
        /// Proxy: extensions of the PROXY header, version 2.
        optional proxy_protocol_tlvs: Vec<Tlv>,
    }
}

config_table! {
    /// Whether clients stay in their zone.
    "zonal_affinity" struct ZonalAffinity {
        /// Whether, and until when.
        default spillover: Spillover = "ZONAL_AFFINITY_DISABLED",
        /// ZONAL_AFFINITY_SPILL_CROSS_ZONE: the share of the zone's backends that must be healthy.
        default spillover_ratio: Ratio = 0.0,
    }
}

config_table! {
    /// When the failover backends take over.
    "failover_policy" struct FailoverPolicy {
        /// The share of the primaries that must be healthy; 0.0: at least one.
        default failover_ratio: Ratio = 0.0,
        /// With nobody healthy: drop new connections instead of a last resort.
        default drop_traffic_if_unhealthy: bool = false,
        /// Whether connections stay when primaries and failover backends switch.
        default connection_draining_on_failover: bool = true,
    }
}

config_table! {
    /// How the backends are checked.
    "health_check" struct HealthCheck {
        /// How to ask.
        required protocol: CheckProtocol = "HTTP",
        /// Where.
        required port: Int<1, 65_535> = 80,
        /// HTTP, HTTPS, HTTP2: the path.
        default request_path: String = "/",
        /// All but TCP: the host header, or `:authority`, and the TLS server name; empty: the address.
        default host: String = "",
        /// HTTP2 (default true) and GRPC (default false): inside TLS.
        optional tls: bool,
        /// Inside TLS: a PEM file; the server's certificate has to be vouched for by one of these. Without it every certificate will do.
        optional tls_ca: String,
        /// TCP, SSL: what is sent once there is a connection.
        default send: String = "",
        /// TCP, SSL: what the answer has to begin with.
        default expect: String = "",
        /// GRPC: the service that is asked about; empty: the server as a whole.
        default grpc_service: String = "",
        /// From one check to the next: 100 ms to 3600 s.
        default interval: Length = "5s",
        /// For the whole check; at most the interval.
        default timeout: Length = "5s",
        /// Successes in a row until healthy.
        default healthy_threshold: Int<1, 100> = 2,
        /// Failures in a row until unhealthy.
        default unhealthy_threshold: Int<1, 100> = 2,
        /// Which address is asked.
        default target: CheckTarget = "vip",
    }
}

config_table! {
    /// A named set of backends.
    "group" struct Group {
        /// Its name, unique in the service.
        required name: Name = "unnamed",
        /// Whether it serves first.
        default role: Role = "primary",
        /// Its backends' zone.
        optional zone: Name,
        /// Its backends.
        default backends: Vec<Field<Backend>> = [],
        /// Proxy: its region.
        optional region: Name,
        /// Proxy: what its capacity is counted in.
        optional balancing_mode: BalancingMode,
        /// Proxy: connections at a time of the group.
        optional max_connections: Int<0, 4_294_967_295>,
        /// Proxy: connections at a time of each backend.
        optional max_connections_per_backend: Int<0, 4_294_967_295>,
        /// Proxy: the utilization that counts as full.
        optional max_utilization: Ratio,
        /// Proxy: the share of its capacity that is used: 0, or 0.1 to 1.0.
        optional capacity_scaler: Ratio,
    }
}

config_table! {
    /// One backend.
    "backend" struct Backend {
        /// Its name, unique in its group.
        required name: Name = "unnamed",
        /// Where encapsulated packets are sent to.
        required address: IpAddr = "192.0.2.0",
        /// Static weight (native, with WEIGHTED_MAGLEV).
        optional weight: Int<0, 1_000>,
        /// Proxy: where it listens.
        optional port: Int<1, 65_535>,
    }
}

config_table! {
    /// Which zone a client is in.
    "client_zone" struct ClientZone {
        /// Clients.
        required prefix: IpNet = "192.0.2.0/32",
        /// Their zone.
        required zone: Name = "unnamed",
    }
}

/// `profile`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(in crate::config) enum Profile {
    /// The superset, for people who own their hardware.
    Native,
    /// Google Cloud, external passthrough.
    GcpExternal,
    /// Google Cloud, internal passthrough.
    GcpInternal,
    /// Google Cloud, external proxy.
    GcpProxy,
    /// Azure.
    Azure,
}

/// `distribution`, by the interface's names and by the portal's (P-3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub(in crate::config) enum Distribution {
    /// Five-tuple.
    Default,
    /// Two-tuple.
    #[serde(rename = "SourceIP")]
    SourceIp,
    /// Three-tuple.
    #[serde(rename = "SourceIPProtocol")]
    SourceIpProtocol,
    /// The portal's name of Default.
    None,
    /// The portal's name of SourceIP.
    #[serde(rename = "Client IP")]
    ClientIp,
    /// The portal's name of SourceIPProtocol.
    #[serde(rename = "Client IP and protocol")]
    ClientIpAndProtocol,
}

/// `locality_lb_policy`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(in crate::config) enum LocalityPolicy {
    /// Consistent hashing.
    Maglev,
    /// Consistent hashing by weight.
    WeightedMaglev,
    /// Proxy: in turn.
    RoundRobin,
    /// Proxy: the one with the fewest connections.
    LeastRequest,
    /// Proxy: at random.
    Random,
    /// Proxy: consistent hashing on a circle.
    RingHash,
}

/// `initial_health`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(in crate::config) enum InitialHealth {
    /// Until a check says otherwise, it is taken to be down.
    Unhealthy,
    /// Until a check says otherwise, it is taken to be up.
    Healthy,
}

/// `spillover`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub(in crate::config) enum Spillover {
    /// Zones do not matter.
    #[serde(rename = "ZONAL_AFFINITY_DISABLED")]
    Disabled,
    /// To backends of the client's zone only.
    #[serde(rename = "ZONAL_AFFINITY_STAY_WITHIN_ZONE")]
    StayWithinZone,
    /// The same while enough of them are healthy, else to all.
    #[serde(rename = "ZONAL_AFFINITY_SPILL_CROSS_ZONE")]
    SpillCrossZone,
}
