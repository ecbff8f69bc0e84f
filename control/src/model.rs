//! A valid configuration: every limit of every profile already holds, every default is filled in.
//!
//! `config` is the only maker of these values. Names are kept as written; references by
//! name have been checked to lead somewhere.

mod authorities;
mod link;
mod ratio;
pub(crate) mod written;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tables::{HashSeed, Mac};

pub use authorities::Authorities;
pub use link::{AnnounceVips, Bond, BondMode, DeviceUse};
pub use ratio::{Ratio, RatioError};
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

/// `[dataplane]`: what cannot change without a restart, but the Maglev defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct Dataplane {
    /// CPU ids, one worker each; empty: every CPU but the first.
    pub workers: Vec<u16>,
    /// Whether to use huge pages.
    pub hugepages: Hugepages,
    /// EAL memory, bytes.
    pub memory: u64,
    /// Capacity of the connection table for IPv4, entries.
    pub conntrack_entries: u32,
    /// The same for IPv6.
    pub conntrack_entries_v6: u32,
    /// New entries a second a worker (D-4); 0: no limit.
    pub insert_rate: u32,
    /// Keys selection and Maglev.
    pub hash_seed: HashSeed,
    /// What a worker does when nothing arrives.
    pub idle: Idle,
    /// Passed through to DPDK.
    pub eal_args: Vec<String>,
}

/// `hugepages`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Hugepages {
    /// Use them if they are there.
    #[default]
    Auto,
    /// Refuse to start without.
    Require,
    /// Ordinary pages (EAL `--no-huge`).
    Off,
}

/// `idle`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Idle {
    /// Never sleep.
    Spin,
    /// Sleep when queues stay empty.
    #[default]
    Adaptive,
}

/// `[[port]]`
#[derive(Clone, Debug, PartialEq)]
pub struct Port {
    /// Its name.
    pub name: Arc<str>,
    /// A PCI address, a DPDK vdev string, or the name of a bond. Ports of one device differ in
    /// [`Port::vlan`].
    pub device: String,
    /// What `device` is made of, if it is a bond; one of its ports says so.
    pub bond: Option<Bond>,
    /// Its own addresses with their on-link prefixes.
    pub addresses: Vec<IpNet>,
    /// Next hops for what is not on link, at most one per family.
    pub gateways: Vec<IpAddr>,
    /// The largest IP packet, bytes.
    pub mtu: u16,
    /// ICMP answers a second a worker (N-3).
    pub icmp_rate: u32,
    /// Echo to a VIP that no rule takes ICMP for.
    pub answer_echo: bool,
    /// Fragment what is too big and may be (D-8).
    pub fragment_oversize: bool,
    /// VLAN id, 0: untagged.
    pub vlan: u16,
    /// The host interface's name; empty: none.
    pub host_interface: String,
    /// Frames a second that are taken from the workers for the host (D-11).
    pub host_rate: u32,
    /// Whether VIPs within the prefixes of `addresses` are answered for.
    pub announce_vips: AnnounceVips,
    /// Static neighbours.
    pub neighbours: Vec<(IpAddr, Mac)>,
}

/// `[encapsulation]`, a service's own keys already merged over it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Encapsulation {
    /// The tunnel.
    pub kind: EncapsulationKind,
    /// Outer sources, at most one per family.
    pub source: Vec<IpAddr>,
    /// Whether the outer source of IPIP and GRE is spread over `entropy_prefix`.
    pub source_entropy: bool,
    /// At most one per family.
    pub entropy_prefix: Vec<IpNet>,
    /// The UDP port that GUE is sent to.
    pub gue_port: u16,
    /// What GUE puts between the UDP header and the packet.
    pub gue_variant: GueVariant,
    /// The code of the VIP that L3DSR sends as DSCP, 1 to 63; 0 where there is none.
    pub l3dsr_dscp: u8,
    /// The GRE key field.
    pub gre_key: GreKey,
    /// The outer DSCP.
    pub dscp: Dscp,
    /// The outer TTL or hop limit.
    pub ttl: u8,
}

/// `kind`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EncapsulationKind {
    /// IP in IP: 4in4, 6in4, 4in6, 6in6 as the two addresses need.
    #[default]
    Ipip,
    /// GRE (RFC 2784, RFC 2890).
    Gre,
    /// Generic UDP encapsulation.
    Gue,
    /// No tunnel: the destination becomes the backend, the DSCP says which VIP it was.
    L3dsr,
    /// No tunnel: only the Ethernet header is new.
    L2,
}

impl EncapsulationKind {
    /// Whether packets get an outer IP header.
    pub fn is_tunnel(self) -> bool {
        matches!(self, Self::Ipip | Self::Gre | Self::Gue)
    }
}

impl Encapsulation {
    /// The prefixes that outer sources are spread over; `None` where they are not. GUE spreads
    /// its source port instead, always.
    pub fn spread(&self) -> Option<&[IpNet]> {
        let spreads = matches!(self.kind, EncapsulationKind::Ipip | EncapsulationKind::Gre);
        (spreads && self.source_entropy).then_some(&*self.entropy_prefix)
    }
}

/// `gue_variant`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum GueVariant {
    /// A header that names the protocol.
    #[default]
    Zero,
    /// No header: the packet directly.
    One,
}

/// `gre_key`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum GreKey {
    /// No key field.
    #[default]
    None,
    /// One per service, derived from its name: the same on every appliance.
    Service,
    /// This one.
    Number(u32),
}

/// `dscp`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Dscp {
    /// The inner packet's.
    #[default]
    Copy,
    /// Zero.
    Zero,
    /// This one, 0 to 63.
    Number(u8),
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
