//! Source addresses that no packet on a wire has, and hops that have run out. A backend would drop
//! such packets, or answer itself; each would cost an entry here first.

use tables::Outcome;

/// What is wrong with an IPv4 packet's source, destination and TTL for a balanced service.
#[inline(always)]
pub(super) fn v4(source: [u8; 4], destination: [u8; 4], ttl: u8) -> Option<Outcome> {
    // "This network", loopback; groups, reserved, everyone (RFC 6890).
    let martian = matches!(source, [0 | 127 | 224..=255, ..]);
    fault(martian || source == destination, ttl)
}

/// The same for IPv6.
#[inline(always)]
pub(super) fn v6(source: [u8; 16], destination: [u8; 16], hop_limit: u8) -> Option<Outcome> {
    // Unspecified, loopback, IPv4 in disguise (all in ::/80); groups (RFC 4291).
    let martian = u128::from_be_bytes(source) >> 48 == 0 || source.starts_with(&[0xFF]);
    fault(martian || source == destination, hop_limit)
}

#[inline(always)]
fn fault(martian: bool, hops: u8) -> Option<Outcome> {
    let expired = (hops == 0).then_some(Outcome::TtlExpired);
    if martian { Some(Outcome::MartianSource) } else { expired }
}
