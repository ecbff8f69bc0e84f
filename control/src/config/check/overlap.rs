//! Two rules that claim the same packet with the same specificity (F-3).
//!
//! Specificity is prefix length, protocol, listed ports before ALL: so only rules of one prefix
//! and one protocol can clash, ALL with ALL, or lists that share a port.

use std::collections::HashMap;

use ipnet::IpNet;

use crate::config::field::Field;
use crate::config::file::rule::ForwardingRule;
use crate::config::report::Report;
use crate::config::value::mixed::PortList;
use crate::model::RuleProtocol;

type Rule = Field<ForwardingRule>;

/// A claim on ports: first, last, whether by ALL; and whose it is, by the order of the file.
type Claim = (bool, u16, u16, usize);

pub(super) fn check(rules: &[Rule], report: &mut Report<'_>) {
    let mut claims: HashMap<(IpNet, RuleProtocol), Vec<Claim>> = HashMap::new();
    for (i, rule) in rules.iter().enumerate().filter(|(_, rule)| is_sound(rule)) {
        let key = (rule.address.value.0.trunc(), *rule.protocol);
        claims.entry(key).or_default().extend(of(rule, i));
    }
    let mut clashes: Vec<_> = claims.into_values().flat_map(clashes).collect();
    clashes.sort();
    clashes.dedup();
    for (first, second) in clashes {
        refuse(&rules[first], &rules[second], report);
    }
}

fn is_sound(rule: &ForwardingRule) -> bool {
    rule.address.is_sound() && rule.protocol.is_sound() && rule.ports.is_sound()
}

fn of(rule: &ForwardingRule, number: usize) -> Vec<Claim> {
    match &rule.ports.value {
        PortList::All => vec![(true, 0, u16::MAX, number)],
        PortList::Listed(list) => {
            list.iter().map(|range| (false, range.first, range.last, number)).collect()
        }
    }
}

/// Pairs of rules whose claims meet. Of several that meet at one place each is paired with one
/// before it, so the work stays linear.
fn clashes(mut claims: Vec<Claim>) -> Vec<(usize, usize)> {
    claims.sort();
    let mut found = Vec::new();
    let mut widest: Option<Claim> = None;
    for claim in claims {
        let (all, first, last, rule) = claim;
        match widest {
            Some((wide_all, _, wide_last, wide_rule)) if wide_all == all && wide_last >= first => {
                if wide_rule != rule {
                    found.push((wide_rule.min(rule), wide_rule.max(rule)));
                }
                if last > wide_last {
                    widest = Some(claim);
                }
            }
            _ => widest = Some(claim),
        }
    }
    found
}

fn refuse(first: &Rule, second: &Rule, report: &mut Report<'_>) {
    report.enter(format!("forwarding_rule {:?}", second.name.0));
    let why = format!("rule {:?} claims the same packets with the same specificity", first.name.0);
    let beside = Some((first.ports.span.clone(), format!("rule {:?} is here", first.name.0)));
    let allowed = "allowed: another address, protocol or ports, in one of the two";
    report.refuse_beside(&second.ports, &why, allowed, beside);
    report.leave();
}
