//! What a template is made of.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::{Family, Mac, PortId};

/// How a packet is carried to its backend: what is put between the outer and the inner IP header,
/// or, without a tunnel, what is rewritten instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tunnel {
    /// Nothing: IP in IP, protocol 4 or 41 (RFC 2003, 2473, 4213).
    Ipip,
    /// GRE (RFC 2784).
    Gre {
        /// The key (RFC 2890), if there is one.
        key: Option<u32>,
    },
    /// Generic UDP encapsulation (N-2): the source port is the flow's.
    Gue {
        /// The UDP destination port.
        port: u16,
        /// What stands between the UDP header and the packet.
        variant: GueVariant,
    },
    /// No tunnel: the destination address becomes the backend's, and the DSCP says which VIP it
    /// was. Only for packets of the backend's family.
    L3dsr {
        /// The code of the VIP, 0 to 63; higher bits are ignored.
        dscp: u8,
    },
    /// No tunnel: only the Ethernet header is new. The backend has the VIP on an interface.
    L2,
}

impl Tunnel {
    /// Whether packets get an outer IP header.
    pub fn is_tunnel(self) -> bool {
        !matches!(self, Self::L3dsr { .. } | Self::L2)
    }
}

/// The version field of GUE (draft-ietf-intarea-gue).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GueVariant {
    /// A header of four bytes that names the packet's protocol.
    Zero,
    /// None: the packet directly, told apart by its own version field.
    One,
}

/// Where the outer DSCP comes from. ECN is always copied (RFC 6040, normal mode).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dscp {
    /// From the inner packet.
    Copy,
    /// 0.
    Zero,
    /// This value, 0 to 63; higher bits are ignored.
    Fixed(u8),
}

/// What a [`Template`](super::Template) is made of.
#[derive(Clone, Debug)]
pub struct TemplateSpec {
    /// The port that leads to the backend.
    pub port: PortId,
    /// That port's Ethernet address.
    pub src_mac: Mac,
    /// The Ethernet address of the next hop, once it is known.
    pub next_hop: Option<Mac>,
    /// The port's VLAN id, 0: untagged.
    pub vlan: u16,
    /// The largest IP packet that the next hop takes, bytes.
    pub mtu: u16,
    /// Whether IPv4 packets without "don't fragment" are fragmented where they are too big (D-8).
    pub fragment_oversize: bool,
    /// The outer source. Without a tunnel it says nothing.
    pub source: IpAddr,
    /// The outer destination: the backend. Of the source's family.
    pub destination: IpAddr,
    /// Spreads the outer source of IPIP and GRE over a prefix of its family, by flow (N-2).
    pub entropy: Option<IpNet>,
    /// The kind of encapsulation.
    pub tunnel: Tunnel,
    /// The family of the packets to be put inside.
    pub inner: Family,
    /// The outer DSCP.
    pub dscp: Dscp,
    /// The outer TTL or hop limit.
    pub ttl: u8,
}

/// The outer source and destination are not of one family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the tunnel source {from} and the backend {to} are not of one address family")]
pub struct MixedFamilies {
    /// The outer source.
    pub from: IpAddr,
    /// The outer destination.
    pub to: IpAddr,
}
