//! Flow labels of outer IPv6 headers (RFC 6438): routers and a backend's RSS spread tunnels by them.

use tables::{FieldSet, Flow, HashSeed, ServiceId};

use crate::parse::{Fragment, Parsed};

/// Makes flow labels: the same for the same flow on every appliance of a fleet. Not an attacker's
/// target as the selection hash is, so a multiply-mix will do, but keyed by something from which
/// the seed cannot be had back, since labels are seen on the wire.
#[derive(Clone, Copy, Debug)]
pub struct FlowLabels(u64);

impl FlowLabels {
    /// Labels for a fleet's seed.
    pub fn new(seed: &HashSeed) -> Self {
        Self(Flow::default().selection_hash(FieldSet::FIVE_TUPLE, seed))
    }

    /// The label of a packet's flow, 20 bits, never 0 (which means "no label"). Fragments have no
    /// ports but the first, so that none counts theirs.
    #[inline]
    pub fn of(&self, parsed: &Parsed) -> u32 {
        let fields = match parsed.fragment {
            Fragment::Whole => FieldSet::FIVE_TUPLE,
            Fragment::First | Fragment::Later => FieldSet::THREE_TUPLE,
        };
        let words = parsed.flow.key(fields, ServiceId(0)).v6_words();
        let mixed = words.iter().fold(self.0, |mixed, word| mix(mixed ^ word));
        // Ports sit in the last word's high half; one more round carries them down again.
        ((mix(mixed) >> 44) as u32).max(1)
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
    use super::*;

    fn label(seed: u8, sport: u16, fragment: Fragment) -> u32 {
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
    fn labels_spread_over_20_bits() {
        let labels: Vec<_> = (0..4096).map(|port| label(1, port, Fragment::Whole)).collect();
        let buckets: std::collections::BTreeSet<_> = labels.iter().map(|l| l >> 12).collect();
        assert_eq!(buckets.len(), 256, "the high bits");
        let buckets: std::collections::BTreeSet<_> = labels.iter().map(|l| l & 0xFF).collect();
        assert_eq!(buckets.len(), 256, "the low bits");
    }
}
