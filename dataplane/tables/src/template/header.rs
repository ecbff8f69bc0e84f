//! Writing an outer header, front to back.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

use super::{GueVariant, MixedFamilies, TemplateSpec, Tunnel};
use crate::Family;

/// The longest outer header: Ethernet with a tag 18, IPv6 40, UDP 8 and GUE 4, rounded up.
pub(super) const CAPACITY: usize = 72;

const PROTOCOL_IPV4: u8 = 4;
const PROTOCOL_UDP: u8 = 17;
const PROTOCOL_IPV6: u8 = 41;
const PROTOCOL_GRE: u8 = 47;
const GRE_KEY_PRESENT: u16 = 0x2000;
const DONT_FRAGMENT: u16 = 0x4000;

/// A header and where its parts are, bytes.
pub(super) struct Header {
    pub(super) bytes: [u8; CAPACITY],
    pub(super) len: usize,
    pub(super) l3: usize,
    pub(super) outer: Family,
    pub(super) source_mask: u32,
}

impl Header {
    /// The sum that a worker starts from ([`Template::checksum`](super::Template::checksum)).
    pub(super) fn sum(&self, spec: &TemplateSpec) -> u32 {
        match (self.outer, spec.tunnel) {
            (Family::V4, _) => sum(&self.bytes[self.l3..self.l3 + 20]),
            // Addresses, and all behind them; length and protocol make the rest of RFC 8200, 8.1.
            (Family::V6, Tunnel::Gue { .. }) => {
                u32::from(PROTOCOL_UDP) + sum(&self.bytes[self.l3 + 8..self.len])
            }
            (Family::V6, _) => 0,
        }
    }
}

struct Writer {
    bytes: [u8; CAPACITY],
    len: usize,
}

impl Writer {
    fn put(&mut self, piece: &[u8]) {
        self.bytes[self.len..self.len + piece.len()].copy_from_slice(piece);
        self.len += piece.len();
    }

    fn put16(&mut self, value: u16) {
        self.put(&value.to_be_bytes());
    }
}

/// The bytes of `spec`'s outer header.
pub(super) fn build(spec: &TemplateSpec) -> Result<Header, MixedFamilies> {
    let mut writer = Writer { bytes: [0; CAPACITY], len: 0 };
    let (source, source_mask) = source(spec);
    let outer = if spec.tunnel.is_tunnel() { family(spec.destination) } else { spec.inner };
    write_ethernet(&mut writer, spec, outer);
    let l3 = writer.len;
    if spec.tunnel.is_tunnel() {
        write_ip(&mut writer, spec, source)?;
        write_shim(&mut writer, spec);
    }
    Ok(Header { bytes: writer.bytes, len: writer.len, l3, outer, source_mask })
}

/// The outer source, and which of its low bits differ from flow to flow: 32 at most, which are
/// more flows than a backend can tell apart.
fn source(spec: &TemplateSpec) -> (IpAddr, u32) {
    match (spec.tunnel, spec.entropy) {
        (Tunnel::Ipip | Tunnel::Gre { .. }, Some(prefix)) => (prefix.network(), host_mask(prefix)),
        _ => (spec.source, 0),
    }
}

fn host_mask(prefix: IpNet) -> u32 {
    let free = prefix.max_prefix_len() - prefix.prefix_len();
    u32::MAX.checked_shr(32_u32.saturating_sub(free.into())).unwrap_or(0)
}

fn family(address: IpAddr) -> Family {
    if address.is_ipv4() { Family::V4 } else { Family::V6 }
}

/// An address's 4 or 16 bytes, then zeros.
pub(super) fn octets(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V6(six) => six.octets(),
        IpAddr::V4(four) => {
            let mut octets = [0; 16];
            octets[..4].copy_from_slice(&four.octets());
            octets
        }
    }
}

/// The sum of 16-bit words, not folded.
pub(super) fn sum(bytes: &[u8]) -> u32 {
    bytes.chunks_exact(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum()
}

fn ether_type(family: Family) -> u16 {
    match family {
        Family::V4 => 0x0800,
        Family::V6 => 0x86DD,
    }
}

fn write_ethernet(writer: &mut Writer, spec: &TemplateSpec, outer: Family) {
    writer.put(&spec.next_hop.unwrap_or_default().0);
    writer.put(&spec.src_mac.0);
    if spec.vlan != 0 {
        writer.put16(0x8100);
        writer.put16(spec.vlan & 0x0FFF);
    }
    writer.put16(ether_type(outer));
}

fn write_ip(writer: &mut Writer, spec: &TemplateSpec, source: IpAddr) -> Result<(), MixedFamilies> {
    match (source, spec.destination) {
        (IpAddr::V4(from), IpAddr::V4(to)) => write_ipv4(writer, spec, from, to),
        (IpAddr::V6(from), IpAddr::V6(to)) => write_ipv6(writer, spec, from, to),
        (from, to) => return Err(MixedFamilies { from, to }),
    }
    Ok(())
}

fn write_ipv4(writer: &mut Writer, spec: &TemplateSpec, from: Ipv4Addr, to: Ipv4Addr) {
    writer.put(&[0x45, 0, 0, 0, 0, 0]);
    writer.put16(DONT_FRAGMENT);
    writer.put(&[spec.ttl, protocol(spec), 0, 0]);
    writer.put(&from.octets());
    writer.put(&to.octets());
}

fn write_ipv6(writer: &mut Writer, spec: &TemplateSpec, from: Ipv6Addr, to: Ipv6Addr) {
    writer.put(&[0x60, 0, 0, 0, 0, 0, protocol(spec), spec.ttl]);
    writer.put(&from.octets());
    writer.put(&to.octets());
}

fn protocol(spec: &TemplateSpec) -> u8 {
    match spec.tunnel {
        Tunnel::Gre { .. } => PROTOCOL_GRE,
        Tunnel::Gue { .. } => PROTOCOL_UDP,
        _ => inner_protocol(spec.inner),
    }
}

fn inner_protocol(inner: Family) -> u8 {
    match inner {
        Family::V4 => PROTOCOL_IPV4,
        Family::V6 => PROTOCOL_IPV6,
    }
}

/// What stands between the two IP headers.
fn write_shim(writer: &mut Writer, spec: &TemplateSpec) {
    match spec.tunnel {
        Tunnel::Gre { key } => write_gre(writer, key, spec.inner),
        Tunnel::Gue { port, variant } => write_gue(writer, port, variant, spec.inner),
        _ => {}
    }
}

/// Source port, length and checksum of the UDP header are a worker's to write.
fn write_gue(writer: &mut Writer, port: u16, variant: GueVariant, inner: Family) {
    writer.put16(0);
    writer.put16(port);
    writer.put(&[0; 4]);
    if variant == GueVariant::Zero {
        // Version 0, no control message, no optional fields; the protocol; no flags.
        writer.put(&[0, inner_protocol(inner), 0, 0]);
    }
}

fn write_gre(writer: &mut Writer, key: Option<u32>, inner: Family) {
    writer.put16(if key.is_some() { GRE_KEY_PRESENT } else { 0 });
    writer.put16(ether_type(inner));
    if let Some(key) = key {
        writer.put(&key.to_be_bytes());
    }
}
