//! What tells tunnels of different flows apart: routers and a backend's RSS spread them by it.

use tables::{FieldSet, Flow, HashSeed, ServiceId};

use crate::parse::{Fragment, Parsed};

/// Makes flow labels (RFC 6438) and the like: the same for the same flow on every appliance of a
/// fleet. Not an attacker's target as the selection hash is, so a multiply-mix will do, but keyed
/// by something from which the seed cannot be had back, since labels are seen on the wire.
#[derive(Clone, Copy, Debug)]
pub struct FlowLabels(u64);

impl FlowLabels {
    /// Labels for a fleet's seed.
    pub fn new(seed: &HashSeed) -> Self {
        Self(Flow::default().selection_hash(FieldSet::FIVE_TUPLE, seed))
    }

    /// The label of a packet's flow. Fragments have no ports but the first, so that none counts
    /// theirs.
    #[inline]
    pub fn of(&self, parsed: &Parsed) -> FlowLabel {
        let fields = match parsed.fragment {
            Fragment::Whole => FieldSet::FIVE_TUPLE,
            Fragment::First | Fragment::Later | Fragment::Follows => FieldSet::THREE_TUPLE,
        };
        let words = parsed.flow.key(fields, ServiceId(0)).v6_words();
        let mixed = words.iter().fold(self.0, |mixed, word| mix(mixed ^ word));
        // Ports sit in the last word's high half; one more round carries them down again. The
        // best bits of a product are its highest.
        FlowLabel(((mix(mixed) >> 32) as u32).rotate_left(20))
    }
}

/// 32 bits that a flow keeps and others do not share; each outer header takes what it has room for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowLabel(pub u32);

impl FlowLabel {
    /// For an IPv6 header: 20 bits, never 0 (which means "no label").
    #[inline]
    pub fn ipv6(self) -> u32 {
        (self.0 & 0xF_FFFF).max(1)
    }

    /// A UDP source port of the dynamic range's upper half, 0x8000 to 0xFFFF (N-2).
    #[inline]
    pub fn port(self) -> u16 {
        self.0 as u16 | 0x8000
    }

    /// The low bits of an address in the prefix whose free bits are in `mask`. Never none and
    /// never all of them: those are the prefix's own address and its broadcast address.
    #[inline]
    pub fn host(self, mask: u32) -> u32 {
        match self.0 & mask {
            0 => 1 & mask,
            host if host == mask => mask - 1,
            host => host,
        }
    }
}

#[inline(always)]
fn mix(word: u64) -> u64 {
    /// 2^64 divided by the golden ratio: odd, its bits spread.
    const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;
    let product = word.wrapping_mul(SPREAD);
    product ^ product >> 32
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn label(seed: u8, sport: u16, fragment: Fragment) -> FlowLabel {
        let flow = Flow::v4([198, 51, 100, 7], [203, 0, 113, 10], 6, sport, 80);
        FlowLabels::new(&HashSeed([seed; 16])).of(&Parsed { flow, fragment, ..Parsed::default() })
    }

    #[test]
    fn a_flow_keeps_its_label_and_another_seed_gives_another() {
        assert_eq!(label(1, 40000, Fragment::Whole), label(1, 40000, Fragment::Whole));
        assert_ne!(label(1, 40000, Fragment::Whole), label(2, 40000, Fragment::Whole));
    }

    #[test]
    fn all_fragments_of_a_packet_share_a_label() {
        assert_eq!(label(1, 40000, Fragment::First), label(1, 0, Fragment::Later));
    }

    #[test]
    fn labels_spread_over_every_byte_of_32_bits() {
        let labels: Vec<_> = (0..4096).map(|port| label(1, port, Fragment::Whole).0).collect();
        for shift in [0, 8, 12, 16, 24] {
            let buckets: BTreeSet<_> = labels.iter().map(|l| l >> shift & 0xFF).collect();
            assert_eq!(buckets.len(), 256, "from bit {shift}");
        }
    }

    #[test]
    fn an_ipv6_label_and_a_port_are_never_zero() {
        assert_eq!((FlowLabel(0).ipv6(), FlowLabel(0xFFF0_0000).ipv6()), (1, 1));
        assert_eq!(FlowLabel(0x1234_5678).ipv6(), 0x4_5678);
        assert_eq!((FlowLabel(0).port(), FlowLabel(u32::MAX).port()), (0x8000, 0xFFFF));
    }

    #[test]
    fn a_host_is_neither_the_first_nor_the_last_of_its_prefix() {
        for (label, mask, host) in
            [(0, 0xF, 1), (0x1F, 0xF, 0xE), (0x17, 0xF, 7), (u32::MAX, u32::MAX, 0xFFFF_FFFE)]
        {
            assert_eq!(FlowLabel(label).host(mask), host, "{label:#x} of {mask:#x}");
        }
        assert_eq!(FlowLabel(7).host(0), 0, "nothing to spread over");
    }
}
