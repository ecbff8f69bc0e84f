//! Writing an outer header, front to back.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{MixedFamilies, TemplateSpec, Tunnel};
use crate::Family;

/// The longest outer header: Ethernet with a tag 18, IPv6 40, UDP 8 and GUE 4, rounded up.
pub(super) const CAPACITY: usize = 72;

const PROTOCOL_IPV4: u8 = 4;
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
    write_ethernet(&mut writer, spec);
    let l3 = writer.len;
    let outer = write_ip(&mut writer, spec)?;
    if let Tunnel::Gre { key } = spec.tunnel {
        write_gre(&mut writer, key, spec.inner);
    }
    Ok(Header { bytes: writer.bytes, len: writer.len, l3, outer })
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

fn write_ethernet(writer: &mut Writer, spec: &TemplateSpec) {
    let outer = if spec.destination.is_ipv4() { Family::V4 } else { Family::V6 };
    writer.put(&spec.next_hop.unwrap_or_default().0);
    writer.put(&spec.src_mac.0);
    if spec.vlan != 0 {
        writer.put16(0x8100);
        writer.put16(spec.vlan & 0x0FFF);
    }
    writer.put16(ether_type(outer));
}

fn write_ip(writer: &mut Writer, spec: &TemplateSpec) -> Result<Family, MixedFamilies> {
    match (spec.source, spec.destination) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            write_ipv4(writer, spec, from, to);
            Ok(Family::V4)
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            write_ipv6(writer, spec, from, to);
            Ok(Family::V6)
        }
        (from, to) => Err(MixedFamilies { from, to }),
    }
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
    match (spec.tunnel, spec.inner) {
        (Tunnel::Gre { .. }, _) => PROTOCOL_GRE,
        (Tunnel::Ipip, Family::V4) => PROTOCOL_IPV4,
        (Tunnel::Ipip, Family::V6) => PROTOCOL_IPV6,
    }
}

fn write_gre(writer: &mut Writer, key: Option<u32>, inner: Family) {
    writer.put16(if key.is_some() { GRE_KEY_PRESENT } else { 0 });
    writer.put16(ether_type(inner));
    if let Some(key) = key {
        writer.put(&key.to_be_bytes());
    }
}
