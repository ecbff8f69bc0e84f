//! Rules that claim the same packet with the same specificity (F-3).

use std::collections::BTreeMap;

use ipnet::IpNet;

use super::{Ports, Protocol, RuleSpec};

/// Pairs of rules in conflict, as ordered indices, each pair once. Every rule that is in conflict
/// with some other is in a pair, though not with every one of them.
pub fn conflicts(specs: &[RuleSpec]) -> Vec<(usize, usize)> {
    let mut claims: BTreeMap<(IpNet, Protocol), Vec<usize>> = BTreeMap::new();
    for (rule, spec) in specs.iter().enumerate() {
        claims.entry((spec.address.trunc(), spec.protocol)).or_default().push(rule);
    }
    let mut pairs: Vec<_> = claims.values().flat_map(|rules| among(specs, rules)).collect();
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

/// Conflicts among rules of one address and one protocol.
fn among(specs: &[RuleSpec], rules: &[usize]) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    let mut ranges = Vec::new();
    let mut first_for_all = None;
    for rule in rules {
        match &specs[*rule].ports {
            Ports::Ranges(listed) => {
                ranges.extend(merged(listed).into_iter().map(|(first, last)| (first, last, *rule)));
            }
            Ports::All => match first_for_all {
                Some(first) => pairs.push((first, *rule)),
                None => first_for_all = Some(*rule),
            },
        }
    }
    overlaps(ranges, &mut pairs);
    pairs
}

/// Finds overlaps by one sweep. A rule's own ranges do not overlap, so whoever overlaps anything
/// before it overlaps the range that reaches furthest, which is another rule's.
fn overlaps(mut ranges: Vec<(u16, u16, usize)>, pairs: &mut Vec<(usize, usize)>) {
    ranges.sort_unstable();
    let mut furthest: Option<(u16, usize)> = None;
    for (first, last, rule) in ranges {
        if let Some((_, other)) = furthest.filter(|(reach, _)| *reach >= first) {
            pairs.push((rule.min(other), rule.max(other)));
        }
        if furthest.is_none_or(|(reach, _)| last > reach) {
            furthest = Some((last, rule));
        }
    }
}

/// One rule's ranges in ascending order, those that overlap or touch made one.
pub(super) fn merged(ranges: &[(u16, u16)]) -> Vec<(u16, u16)> {
    let mut sorted = ranges.to_vec();
    sorted.sort_unstable();
    let mut merged: Vec<(u16, u16)> = Vec::new();
    for (first, last) in sorted {
        match merged.last_mut() {
            Some((_, reach)) if first <= reach.saturating_add(1) => *reach = last.max(*reach),
            _ => merged.push((first, last)),
        }
    }
    merged
}
