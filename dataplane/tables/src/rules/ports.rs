//! Port → rule, for one protocol at one address.

use super::MaybeRule;

/// A range of listed ports, inclusive, and the rule that takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PortRange {
    pub(super) first: u16,
    pub(super) last: u16,
    pub(super) rule: MaybeRule,
}

/// The rules of one protocol: listed ports, as a part of [`super::RuleTable`]'s ranges, and
/// what takes the others and packets without a port.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PortRules {
    start: u32,
    end: u32,
    all: MaybeRule,
}

impl PortRules {
    /// The most specific rule for a packet (F-3).
    #[inline]
    pub(super) fn look_up(&self, ranges: &[PortRange], port: Option<u16>) -> MaybeRule {
        match port.and_then(|port| find(self.listed(ranges), port)) {
            Some(listed) => listed,
            None => self.all,
        }
    }

    /// Adds to `ranges` and refers to what it added. `own` are the ranges that rules of this very
    /// prefix list, in order and disjoint, and `all` is its rule for all ports; it leaves nothing
    /// to covering prefixes, whose rules are `covering`.
    pub(super) fn compile(
        own: Vec<PortRange>,
        all: MaybeRule,
        covering: Self,
        ranges: &mut Vec<PortRange>,
    ) -> Self {
        let (listed, all) = if all == MaybeRule::NONE {
            (overlay(own, covering.listed(ranges)), covering.all)
        } else {
            (own, all)
        };
        let start = ranges.len() as u32;
        ranges.extend(listed);
        Self { start, end: ranges.len() as u32, all }
    }

    #[inline]
    fn listed<'a>(&self, ranges: &'a [PortRange]) -> &'a [PortRange] {
        ranges.get(self.start as usize..self.end as usize).unwrap_or_default()
    }
}

/// The range with this port; they are in order and disjoint.
#[inline]
fn find(ranges: &[PortRange], port: u16) -> Option<MaybeRule> {
    let range = match ranges {
        // Most rules list one port.
        [only] => only,
        _ => ranges.get(ranges.partition_point(|range| range.last < port))?,
    };
    (range.first <= port && port <= range.last).then_some(range.rule)
}

/// `upper`, and of `lower` what is beside it.
fn overlay(upper: Vec<PortRange>, lower: &[PortRange]) -> Vec<PortRange> {
    let mut ranges: Vec<_> = lower.iter().flat_map(|range| beside(*range, &upper)).collect();
    ranges.extend(upper);
    ranges.sort_unstable_by_key(|range| range.first);
    ranges
}

/// The parts of `range` that no range of `upper` covers.
fn beside(range: PortRange, upper: &[PortRange]) -> Vec<PortRange> {
    let mut parts = Vec::new();
    let mut rest = Some(range);
    let touching = upper.partition_point(|above| above.last < range.first);
    for above in &upper[touching..] {
        let Some(part) = rest.filter(|part| above.first <= part.last) else { break };
        if part.first < above.first {
            parts.push(PortRange { last: above.first - 1, ..part });
        }
        rest = (above.last < part.last).then(|| PortRange { first: above.last + 1, ..part });
    }
    parts.extend(rest);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range((first, last, rule): (u16, u16, u16)) -> PortRange {
        PortRange { first, last, rule: MaybeRule(rule) }
    }

    #[test]
    fn what_is_above_covers_what_is_below() {
        type Ranges = &'static [(u16, u16, u16)];
        const CASES: &[(Ranges, Ranges, Ranges)] = &[
            (&[], &[(1, 9, 0)], &[(1, 9, 0)]),
            (&[(3, 4, 1)], &[(1, 9, 0)], &[(1, 2, 0), (3, 4, 1), (5, 9, 0)]),
            (&[(1, 2, 1), (9, 12, 1)], &[(1, 9, 0)], &[(1, 2, 1), (3, 8, 0), (9, 12, 1)]),
            (&[(0, 65535, 1)], &[(1, 9, 0)], &[(0, 65535, 1)]),
            (&[(5, 65535, 1)], &[(0, 65535, 0)], &[(0, 4, 0), (5, 65535, 1)]),
            (&[(0, 5, 1)], &[(0, 65535, 0)], &[(0, 5, 1), (6, 65535, 0)]),
        ];
        for (upper, lower, want) in CASES {
            let ranges = |of: Ranges| of.iter().copied().map(range).collect::<Vec<_>>();
            assert_eq!(overlay(ranges(upper), &ranges(lower)), ranges(want), "{upper:?}");
        }
    }
}
