//! The IPv4 header (RFC 791).

use tables::{Flow, Outcome, PacketClass};

use super::bytes::{be16, chunk};
use super::transport::{self, Transport};
use super::{Fragment, Icmp, Parsed, address, icmp};
use crate::encap::checksum;

const MORE_FRAGMENTS: u16 = 0x2000;
const DONT_FRAGMENT: u16 = 0x4000;
const OFFSET: u16 = 0x1FFF;
/// The checksum of a header that was to get one on its way out: so frames stand in captures, and
/// so they come from virtual machines next door. Nothing was damaged.
const LEFT_TO_A_NIC: [u8; 2] = [0, 0];

/// Reads the packet whose header starts at `l3`.
#[inline]
pub(super) fn packet(bytes: &[u8], l3: usize) -> Result<Parsed, Outcome> {
    let header: &[u8; 20] = chunk(bytes, l3).ok_or(Outcome::MalformedIp)?;
    let [first, tos, n0, n1, i0, i1, f0, f1, ttl, proto, c0, c1, s0, s1, s2, s3, d0, d1, d2, d3] =
        *header;
    let header_length = usize::from(first & 0x0F) * 4;
    let length = be16(n0, n1);
    let end = l3 + usize::from(length);
    if first >> 4 != 4 || header_length < 20 || usize::from(length) < header_length {
        return Err(Outcome::MalformedIp);
    }
    let l4 = l3 + header_length;
    let payload = bytes.get(l4..end).ok_or(Outcome::RxTruncated)?;
    // A damaged address would enter, and reach, somebody else's connection (RFC 1812, 5.2.2).
    let undamaged = match header_length {
        20 => checksum::is_right(header),
        _ => checksum::is_right_with_options(bytes.get(l3..l4).unwrap_or_default()),
    };
    if !undamaged && [c0, c1] != LEFT_TO_A_NIC {
        return Err(Outcome::WrongChecksum);
    }

    let flags = be16(f0, f1);
    let fragment = fragment(flags);
    let Transport { class, sport, dport, syn, fault } = transport::ipv4(proto, fragment, payload);
    let mut parsed = Parsed {
        flow: Flow::v4([s0, s1, s2, s3], [d0, d1, d2, d3], proto, sport, dport),
        class,
        l3: l3 as u16,
        l4: l4 as u16,
        length,
        fragment,
        fragment_id: u32::from(be16(i0, i1)),
        chained: false,
        syn,
        tos,
        dont_fragment: flags & DONT_FRAGMENT != 0,
        icmp: Icmp::Other,
        fault: address::v4([s0, s1, s2, s3], [d0, d1, d2, d3], ttl).or(fault),
    };
    if class == PacketClass::Icmp {
        icmp::v4(&mut parsed, payload);
    }
    Ok(parsed)
}

#[inline]
fn fragment(flags: u16) -> Fragment {
    if flags & (OFFSET | MORE_FRAGMENTS) == 0 {
        Fragment::Whole
    } else if flags & OFFSET == 0 {
        Fragment::First
    } else {
        Fragment::Later
    }
}
