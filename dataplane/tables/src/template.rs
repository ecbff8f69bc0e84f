//! Outer headers, prepared once per backend (D-8).
//!
//! Control builds a [`Template`] from a [`TemplateSpec`]; a worker copies [`Template::header`] in
//! front of the packet and patches only what differs from packet to packet: length,
//! identification or flow label, DSCP and ECN, checksum.

mod header;

use std::net::IpAddr;

use crate::{Family, Mac, PortId};

use header::{CAPACITY, Header};

/// What is put between the outer and the inner IP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tunnel {
    /// Nothing: IP in IP, protocol 4 or 41 (RFC 2003, 2473, 4213).
    Ipip,
    /// GRE (RFC 2784).
    Gre {
        /// The key (RFC 2890), if there is one.
        key: Option<u32>,
    },
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

/// What a [`Template`] is made of.
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
    /// The outer source.
    pub source: IpAddr,
    /// The outer destination: the backend. Of the source's family.
    pub destination: IpAddr,
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

/// The outer header for one backend and one inner family.
///
/// Its figures and the first 46 bytes of the header share a cache line: all that an IPv4 tunnel
/// needs.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Template {
    checksum: u32,
    max_inner: u16,
    tos_keep: u8,
    tos_set: u8,
    len: u8,
    l3: u8,
    egress: PortId,
    outer: Family,
    resolved: bool,
    bytes: [u8; CAPACITY],
}

impl Template {
    /// Prepares the header.
    pub fn new(spec: &TemplateSpec) -> Result<Self, MixedFamilies> {
        let Header { bytes, len, l3, outer } = header::build(spec)?;
        let (tos_keep, tos_set) = tos_policy(spec.dscp);
        Ok(Self {
            checksum: header::sum(&bytes[l3..l3 + 20]),
            max_inner: spec.mtu.saturating_sub((len - l3) as u16),
            tos_keep,
            tos_set,
            len: len as u8,
            l3: l3 as u8,
            egress: spec.port,
            outer,
            resolved: spec.next_hop.is_some(),
            bytes,
        })
    }

    /// The whole outer header. IP length, identification, checksum, TOS and flow label are zero.
    #[inline]
    pub fn header(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or_default()
    }

    /// Where the outer IP header starts in it, bytes.
    #[inline]
    pub fn l3(&self) -> usize {
        usize::from(self.l3)
    }

    /// The outer header's family.
    #[inline]
    pub fn outer(&self) -> Family {
        self.outer
    }

    /// The port that it leaves by.
    #[inline]
    pub fn egress(&self) -> PortId {
        self.egress
    }

    /// The largest inner packet that fits the next hop's MTU, bytes.
    #[inline]
    pub fn max_inner(&self) -> u16 {
        self.max_inner
    }

    /// Whether the next hop's Ethernet address is known.
    #[inline]
    pub fn resolved(&self) -> bool {
        self.resolved
    }

    /// The outer TOS or traffic class for an inner one.
    #[inline]
    pub fn tos(&self, inner: u8) -> u8 {
        inner & self.tos_keep | self.tos_set
    }

    /// The sum of the outer IPv4 header's 16-bit words, with zero in what a worker patches; not
    /// folded. Meaningless for IPv6.
    #[inline]
    pub fn checksum(&self) -> u32 {
        self.checksum
    }
}

/// Which bits of the inner TOS are kept, and which are set.
fn tos_policy(dscp: Dscp) -> (u8, u8) {
    const ECN: u8 = 0x03;
    match dscp {
        Dscp::Copy => (0xFF, 0),
        Dscp::Zero => (ECN, 0),
        Dscp::Fixed(value) => (ECN, value << 2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(source: &str, destination: &str, vlan: u16, tunnel: Tunnel) -> TemplateSpec {
        TemplateSpec {
            port: PortId(1),
            src_mac: Mac([2, 0, 0, 0, 0, 1]),
            next_hop: Some(Mac([2, 0, 0, 0, 0, 2])),
            vlan,
            mtu: 1500,
            source: source.parse().expect("address"),
            destination: destination.parse().expect("address"),
            tunnel,
            inner: Family::V4,
            dscp: Dscp::Copy,
            ttl: 64,
        }
    }

    #[test]
    fn the_header_is_as_long_as_its_parts_and_leaves_the_rest_to_the_inner_packet() {
        let key = Tunnel::Gre { key: Some(7) };
        for (source, destination, vlan, tunnel, l3, outer) in [
            ("10.0.0.2", "10.1.0.11", 0, Tunnel::Ipip, 14, 20),
            ("10.0.0.2", "10.1.0.11", 7, Tunnel::Gre { key: None }, 18, 24),
            ("2001:db8::2", "2001:db8::11", 0, Tunnel::Ipip, 14, 40),
            ("2001:db8::2", "2001:db8::11", 7, key, 18, 48),
        ] {
            let template =
                Template::new(&spec(source, destination, vlan, tunnel)).expect("one family");
            assert_eq!((template.l3(), template.header().len()), (l3, l3 + outer));
            assert_eq!(usize::from(template.max_inner()), 1500 - outer);
        }
    }

    #[test]
    fn a_backend_of_another_family_than_the_source_is_an_error() {
        let spec = spec("10.0.0.2", "2001:db8::11", 0, Tunnel::Ipip);
        let error = Template::new(&spec).expect_err("mixed");
        assert!(error.to_string().contains("2001:db8::11"));
    }

    #[test]
    fn an_mtu_below_the_header_leaves_no_room() {
        let spec = TemplateSpec { mtu: 19, ..spec("10.0.0.2", "10.1.0.11", 0, Tunnel::Ipip) };
        assert_eq!(Template::new(&spec).expect("one family").max_inner(), 0);
    }

    #[test]
    fn an_unknown_next_hop_is_unresolved() {
        let spec =
            TemplateSpec { next_hop: None, ..spec("10.0.0.2", "10.1.0.11", 0, Tunnel::Ipip) };
        assert!(!Template::new(&spec).expect("one family").resolved());
    }

    #[test]
    fn two_templates_fill_four_cache_lines() {
        assert_eq!(std::mem::size_of::<[Template; 2]>(), 256);
    }
}
