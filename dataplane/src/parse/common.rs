//! The common case in one straight line: untagged, IPv4 without options or IPv6 without extension
//! headers, whole, TCP or UDP, nothing wrong with it.
//!
//! `None` says nothing about the frame but that the general walk (`super::walk`) must read it; what
//! is read here is what the walk would have read (`tests` holds the two together). Worth 90 of 220
//! instructions a packet.

use tables::{Flow, PacketClass, Port};

use super::bytes::{be16, chunk};
use super::{Fragment, Icmp, Parsed, address};
use crate::encap::checksum;

const TCP: u8 = 6;
const UDP: u8 = 17;
const SYN: u8 = 0x02;
const LINK: usize = 14;
const DONT_FRAGMENT: u8 = 0x40;

/// Ethernet, IP and TCP headers: what a frame must have to be read here.
const SHORTEST_V4: usize = LINK + 20 + 20;
const SHORTEST_V6: usize = LINK + 40 + 20;

/// Reads the frame, if it is a common one.
#[inline(always)]
pub(super) fn read(bytes: &[u8], port: &Port) -> Option<Parsed> {
    let [d0, d1, d2, d3, d4, d5, s0, s1, s2, s3, s4, s5, t0, t1] = *chunk::<LINK>(bytes, 0)?;
    let (to, from) = ([d0, d1, d2, d3, d4, d5], [s0, s1, s2, s3, s4, s5]);
    if to != port.mac.0 || from == to || port.vlan != 0 {
        return None;
    }
    match be16(t0, t1) {
        0x0800 => ipv4(bytes),
        0x86DD => ipv6(bytes),
        _ => None,
    }
}

#[inline(always)]
fn ipv4(bytes: &[u8]) -> Option<Parsed> {
    let head = bytes.first_chunk::<SHORTEST_V4>()?;
    let ip: &[u8; 20] = chunk(head, LINK)?;
    let [first, tos, n0, n1, i0, i1, f0, f1, ttl, proto, _, _, s0, s1, s2, s3, d0, d1, d2, d3] =
        *ip;
    let length = be16(n0, n1);
    let payload = usize::from(length).checked_sub(20)?;
    let (source, destination) = ([s0, s1, s2, s3], [d0, d1, d2, d3]);
    let fits = LINK + usize::from(length) <= bytes.len();
    // Neither "more fragments" nor an offset.
    let whole = f0 & 0x3F | f1 == 0;
    if first != 0x45 || !fits || !whole || address::v4(source, destination, ttl).is_some() {
        return None;
    }
    if !checksum::is_right(ip) {
        return None;
    }
    let Transport { class, sport, dport, syn } =
        transport(proto, chunk(head, LINK + 20)?, payload)?;
    Some(Parsed {
        flow: Flow::v4(source, destination, proto, sport, dport),
        class,
        l3: LINK as u16,
        l4: (LINK + 20) as u16,
        length,
        fragment: Fragment::Whole,
        fragment_id: u32::from(be16(i0, i1)),
        chained: false,
        syn,
        tos,
        dont_fragment: f0 & DONT_FRAGMENT != 0,
        icmp: Icmp::Other,
        fault: None,
    })
}

#[inline(always)]
fn ipv6(bytes: &[u8]) -> Option<Parsed> {
    let head = bytes.first_chunk::<SHORTEST_V6>()?;
    let [v0, v1, _, _, n0, n1, proto, hop_limit] = *chunk::<8>(head, LINK)?;
    let payload = be16(n0, n1);
    let (source, destination) = (*chunk::<16>(head, LINK + 8)?, *chunk::<16>(head, LINK + 24)?);
    let fits = LINK + 40 + usize::from(payload) <= bytes.len();
    if v0 >> 4 != 6 || !fits || address::v6(source, destination, hop_limit).is_some() {
        return None;
    }
    let header = chunk(head, LINK + 40)?;
    let Transport { class, sport, dport, syn } = transport(proto, header, payload.into())?;
    Some(Parsed {
        flow: Flow::v6(source, destination, proto, sport, dport),
        class,
        l3: LINK as u16,
        l4: (LINK + 40) as u16,
        length: payload.checked_add(40)?,
        fragment: Fragment::Whole,
        fragment_id: 0,
        chained: false,
        syn,
        tos: v0 << 4 | v1 >> 4,
        dont_fragment: true,
        icmp: Icmp::Other,
        fault: None,
    })
}

struct Transport {
    class: PacketClass,
    sport: u16,
    dport: u16,
    syn: bool,
}

/// What stands behind the IP header: `payload` bytes, of which the first 20 of the frame are
/// `header`. They may be padding where the payload is shorter: the lengths are compared.
#[inline(always)]
fn transport(proto: u8, header: &[u8; 20], payload: usize) -> Option<Transport> {
    let [s0, s1, d0, d1, n0, n1, _, _, _, _, _, _, offset, flags, ..] = *header;
    let (class, length, least, syn) = match proto {
        TCP => (PacketClass::Tcp, usize::from(offset >> 4) * 4, 20, flags & SYN != 0),
        UDP => (PacketClass::Udp, usize::from(be16(n0, n1)), 8, false),
        _ => return None,
    };
    let sound = length >= least && length <= payload;
    sound.then_some(Transport { class, sport: be16(s0, s1), dport: be16(d0, d1), syn })
}
