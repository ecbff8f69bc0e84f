//! Direct return without a tunnel, over routers: the packet's destination becomes the backend's
//! address, and its DSCP says which VIP it was. The backend turns it back before its sockets.
//!
//! The one case where a packet's own bytes change (N-1 speaks of encapsulation). Checksums follow
//! by the difference, so that one that was wrong stays wrong.

use tables::{Family, Template};

use super::checksum::{Change, never_zero};
use crate::parse::{Fragment, Parsed};

const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;
const DCCP: u8 = 33;
const ICMPV6: u8 = 58;
const UDP_LITE: u8 = 136;

/// Rewrites the packet that is all of `ip`.
pub(super) fn rewrite(ip: &mut [u8], parsed: &Parsed, template: &Template) -> Option<()> {
    let tos = template.tos(parsed.tos);
    let addresses = match parsed.flow.family() {
        Family::V4 => ipv4(ip.first_chunk_mut()?, template.backend().first_chunk()?, tos),
        Family::V6 => ipv6(ip.first_chunk_mut()?, template.backend(), tos)?,
    };
    if matches!(parsed.fragment, Fragment::Whole | Fragment::First) {
        transport(ip, parsed, addresses);
    }
    Some(())
}

fn ipv4(header: &mut [u8; 20], backend: &[u8; 4], tos: u8) -> Change {
    let [v, t, _, _, _, _, _, _, _, _, c0, c1, _, _, _, _, destination @ ..] = header;
    let addresses = Change::default().words(destination, backend);
    let all = addresses.words(&[*v, *t], &[*v, tos]);
    [*c0, *c1] = all.applied_to(u16::from_be_bytes([*c0, *c1])).to_be_bytes();
    *t = tos;
    *destination = *backend;
    addresses
}

fn ipv6(header: &mut [u8; 40], backend: &[u8; 16], tos: u8) -> Option<Change> {
    let [first, second, ..] = header;
    *first = 0x60 | tos >> 4;
    *second = *second & 0x0F | tos << 4;
    let destination = header.last_chunk_mut()?;
    let addresses = Change::default().words(destination, backend);
    *destination = *backend;
    Some(addresses)
}

/// Adapts a checksum that covers the addresses, if the packet has one here.
fn transport(ip: &mut [u8], parsed: &Parsed, addresses: Change) {
    let Some(at) = checksum_at(parsed) else { return };
    let start = usize::from(parsed.l4.saturating_sub(parsed.l3)) + at;
    let Some([c0, c1]) = ip.get_mut(start..).and_then(|rest| rest.first_chunk_mut::<2>()) else {
        return;
    };
    let old = u16::from_be_bytes([*c0, *c1]);
    let new = addresses.applied_to(old);
    let new = match protocol(parsed) {
        // None was sent, so there is none to adapt.
        UDP | UDP_LITE if old == 0 => 0,
        UDP | UDP_LITE => never_zero(new),
        _ => new,
    };
    [*c0, *c1] = new.to_be_bytes();
}

/// The packet's own protocol, also where its flow is that of a connection that it is about (S-7).
fn protocol(parsed: &Parsed) -> u8 {
    match (parsed.quotes(), parsed.flow.family()) {
        (true, Family::V4) => ICMP,
        (true, Family::V6) => ICMPV6,
        (false, _) => parsed.flow.proto(),
    }
}

/// Where in the transport header such a checksum stands, bytes.
fn checksum_at(parsed: &Parsed) -> Option<usize> {
    match (protocol(parsed), parsed.flow.family()) {
        (TCP, _) => Some(16),
        (UDP | UDP_LITE | DCCP, _) => Some(6),
        (ICMPV6, Family::V6) => Some(2),
        _ => None,
    }
}
