//! `[encapsulation]`, and a service's own.

use std::net::IpAddr;

use ipnet::IpNet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
