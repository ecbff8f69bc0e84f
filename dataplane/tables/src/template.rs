//! Outer headers, prepared once per backend (D-8).
//!
//! Control builds a [`Template`] from a [`TemplateSpec`]; a worker copies [`Template::header`] in
//! front of the packet and patches only what differs from packet to packet: length,
//! identification or flow label, DSCP and ECN, checksum.

mod header;
mod spec;
mod spread;
#[cfg(test)]
mod tests;

use crate::{Family, PortId};

use header::{CAPACITY, Header};
pub use spec::{Dscp, GueVariant, MixedFamilies, TemplateSpec, Tunnel};
use spread::Spread;

/// What a worker does to a packet with this template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// The header in front, its IP header patched: all that most tunnels need.
    Plain,
    /// The same, and what differs from flow to flow: the outer source, "don't fragment".
    Varied,
    /// The same, and a UDP header patched.
    Gue,
    /// A new Ethernet header, another destination address and DSCP.
    L3dsr,
    /// A new Ethernet header.
    L2,
}

/// The outer header for one backend and one inner family.
///
/// Its figures and the first 48 bytes of the header share a cache line: all that an IPv4 tunnel
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
    work: Work,
    fragments: bool,
    varies: bool,
    bytes: [u8; CAPACITY],
    backend: [u8; 16],
    source_mask: u32,
    hop: u32,
    spread: Option<Box<Spread>>,
}

impl Template {
    /// Prepares the header.
    pub fn new(spec: &TemplateSpec) -> Result<Self, MixedFamilies> {
        let header = header::build(spec)?;
        let (tos_keep, tos_set) = tos_policy(spec);
        let Header { len, l3, outer, source_mask, .. } = header;
        let fragments = spec.fragment_oversize && spec.inner == Family::V4;
        Ok(Self {
            checksum: header.sum(spec),
            max_inner: spec.mtu.saturating_sub((len - l3) as u16),
            tos_keep,
            tos_set,
            len: len as u8,
            l3: l3 as u8,
            egress: spec.port,
            outer,
            resolved: spec.next_hop.is_some() && reaches(spec),
            work: work(spec.tunnel, fragments || source_mask != 0),
            fragments,
            varies: varies(spec, source_mask),
            source_mask,
            bytes: header.bytes,
            backend: header::octets(spec.destination),
            hop: 0,
            spread: None,
        })
    }

    /// The whole outer header, or without a tunnel the Ethernet header. IP length, identification,
    /// checksum, TOS, flow label, and of UDP source port, length and checksum are zero, and so are
    /// the bits of a source that is spread.
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

    /// The number of a next hop that somebody is asked for, so that packets may wait for it; 0:
    /// nobody answers for it.
    #[inline]
    pub fn hop(&self) -> u32 {
        self.hop
    }

    /// The same for a next hop of this number.
    #[must_use]
    pub fn behind(self, hop: u32) -> Self {
        Self { hop, ..self }
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

    /// What is to be done beside that.
    #[inline]
    pub fn work(&self) -> Work {
        self.work
    }

    /// Whether what is too big and may be fragmented is, so that it needs no "don't fragment".
    #[inline]
    pub fn fragments(&self) -> bool {
        self.fragments
    }

    /// The low bits of the outer source that differ from flow to flow; none are set if none do.
    #[inline]
    pub fn source_mask(&self) -> u32 {
        self.source_mask
    }

    /// Whether the outer header differs from flow to flow, so that a worker must tell flows apart.
    #[inline]
    pub fn varies(&self) -> bool {
        self.varies
    }

    /// The backend's address: 4 or 16 bytes count.
    #[inline]
    pub fn backend(&self) -> &[u8; 16] {
        &self.backend
    }

    /// A sum of 16-bit words with zero in what a worker patches, not folded: the outer IPv4
    /// header's, or for GUE over IPv6 that of the UDP checksum's pseudo-header and of all
    /// between it and the inner packet. Meaningless for others.
    #[inline]
    pub fn checksum(&self) -> u32 {
        self.checksum
    }
}

fn varies(spec: &TemplateSpec, source_mask: u32) -> bool {
    let label = spec.tunnel.is_tunnel() && spec.destination.is_ipv6();
    label || source_mask != 0 || matches!(spec.tunnel, Tunnel::Gue { .. })
}

fn work(tunnel: Tunnel, varied: bool) -> Work {
    match tunnel {
        Tunnel::Gue { .. } => Work::Gue,
        Tunnel::L3dsr { .. } => Work::L3dsr,
        Tunnel::L2 => Work::L2,
        Tunnel::Ipip | Tunnel::Gre { .. } if varied => Work::Varied,
        Tunnel::Ipip | Tunnel::Gre { .. } => Work::Plain,
    }
}

/// Without a tunnel a packet only reaches an address of its own family. No configuration leads
/// here; if one did, nothing would be sent.
fn reaches(spec: &TemplateSpec) -> bool {
    !matches!(spec.tunnel, Tunnel::L3dsr { .. })
        || spec.destination.is_ipv4() == (spec.inner == Family::V4)
}

/// Which bits of the inner TOS are kept, and which are set.
fn tos_policy(spec: &TemplateSpec) -> (u8, u8) {
    const ECN: u8 = 0x03;
    match (spec.tunnel, spec.dscp) {
        (Tunnel::L3dsr { dscp }, _) | (_, Dscp::Fixed(dscp)) => (ECN, dscp << 2),
        (_, Dscp::Copy) => (0xFF, 0),
        (_, Dscp::Zero) => (ECN, 0),
    }
}
