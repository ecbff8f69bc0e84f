//! The common case in one straight line: untagged, IPv4 without options or IPv6 without extension
//! headers, whole, TCP or UDP, nothing wrong with it.
//!
//! `None` says nothing about the frame but that the general walk (`super::walk`) must read it; what
//! is read here is what the walk would have read (`tests` holds the two together). It takes half of
//! the walk's instructions.

use tables::{Flow, PacketClass, Port};

use super::bytes::{be16, chunk};
use super::{Fragment, Icmp, Parsed, address};
use crate::encap::checksum;

const TCP: u8 = 6;
const UDP: u8 = 17;
const SYN: u8 = 0x02;
const DONT_FRAGMENT: u16 = 0x4000;

/// Where the IP header starts.
const L3: usize = 14;
/// Where the transport header starts.
const L4_V4: usize = L3 + 20;
const L4_V6: usize = L3 + 40;

/// What stands in the IP header.
struct Network {
    /// Without ports.
    flow: Flow,
    l4: usize,
    /// The IP packet's length, header included, bytes.
    length: u16,
    id: u16,
    tos: u8,
    dont_fragment: bool,
}

/// Reads the frame, if it is a common one.
#[inline(always)]
pub(super) fn read(bytes: &[u8], port: &Port) -> Option<Parsed> {
    let network = match ether_type(bytes.first_chunk()?, port)? {
        0x0800 => ipv4(bytes.get(L3..)?.first_chunk()?)?,
        0x86DD => ipv6(bytes.get(L3..)?.first_chunk()?)?,
        _ => return None,
    };
    let Network { flow, l4, length, id, tos, dont_fragment } = network;
    // A datagram shorter than this is read with what is behind it; lengths are compared below.
    let header: &[u8; 20] = bytes.get(l4..)?.first_chunk()?;
    let end = L3 + usize::from(length);
    let payload = end.checked_sub(l4)?;
    let fits = end <= bytes.len();
    let proto = flow.proto();
    let [_, _, _, _, n0, n1, _, _, _, _, _, _, offset, flags, ..] = *header;
    let (class, own_length, least, syn) = match proto {
        TCP => (PacketClass::Tcp, usize::from(offset >> 4) * 4, 20, flags & SYN != 0),
        UDP => (PacketClass::Udp, usize::from(be16(n0, n1)), 8, false),
        _ => return None,
    };
    if !fits || own_length < least || own_length > payload {
        return None;
    }
    Some(Parsed {
        flow: flow.with_ports(*chunk(header, 0)?),
        class,
        l3: L3 as u16,
        l4: l4 as u16,
        length,
        fragment: Fragment::Whole,
        fragment_id: id.into(),
        chained: false,
        syn,
        tos,
        dont_fragment,
        icmp: Icmp::Other,
        fault: None,
    })
}

/// The ethertype of a frame from another to us; on an untagged port.
#[inline(always)]
fn ether_type(link: &[u8; L3], port: &Port) -> Option<u16> {
    /// Of eight bytes in the order of the wire, the first six.
    const ADDRESS: u64 = 0xFFFF_FFFF_FFFF;
    let to = u64::from_le_bytes(*chunk(link, 0)?) & ADDRESS;
    let from = u64::from_le_bytes(*chunk(link, 6)?);
    let [a, b, c, d, e, f] = port.mac.0;
    let ours = u64::from_le_bytes([a, b, c, d, e, f, 0, 0]);
    let good = to == ours && from & ADDRESS != ours && port.vlan == 0;
    good.then_some(((from >> 48) as u16).swap_bytes())
}

/// In three words: byte by byte it is twice as long.
#[inline(always)]
fn ipv4(header: &[u8; 20]) -> Option<Network> {
    // Version and length, TOS, total length, identification, flags and offset.
    let first = u64::from_be_bytes(*chunk(header, 0)?);
    // TTL, protocol, checksum, source.
    let second = u64::from_be_bytes(*chunk(header, 8)?);
    let destination = u32::from_be_bytes(*chunk(header, 16)?);
    let (source, ttl) = (second as u32, (second >> 56) as u8);
    let flags = first as u16;
    // Neither "more fragments" nor an offset.
    let plain = first >> 56 == 0x45 && flags & 0x3FFF == 0;
    let fault = address::v4(source.to_be_bytes(), destination.to_be_bytes(), ttl);
    if !plain || fault.is_some() || !checksum::is_right_in_words(first, second, destination) {
        return None;
    }
    Some(Network {
        flow: Flow::v4_without_ports(source, destination, (second >> 48) as u8),
        l4: L4_V4,
        length: (first >> 32) as u16,
        id: (first >> 16) as u16,
        tos: (first >> 48) as u8,
        dont_fragment: flags & DONT_FRAGMENT != 0,
    })
}

#[inline(always)]
fn ipv6(header: &[u8; 40]) -> Option<Network> {
    let [v0, v1, _, _, n0, n1, proto, hop_limit, addresses @ ..] = header;
    let (source, destination) = super::ipv6::halves(addresses);
    if v0 >> 4 != 6 || address::v6(source, destination, *hop_limit).is_some() {
        return None;
    }
    Some(Network {
        flow: Flow::v6(source, destination, *proto, 0, 0),
        l4: L4_V6,
        length: be16(*n0, *n1).checked_add(40)?,
        id: 0,
        tos: v0 << 4 | v1 >> 4,
        dont_fragment: true,
    })
}
