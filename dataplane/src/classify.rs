//! Destination → rule and service (F-1 to F-4).

use tables::rules::{Match, Rule};
use tables::{Outcome, RuleId, ServiceId, Tables, Target};

use crate::batch::{Batch, Packet};
use crate::icmp::is_about_tunnel;
use crate::parse::{Fragment, Icmp, Parsed, is_loop, is_tunnel};

const TCP: u8 = 6;
const UDP: u8 = 17;

/// Gives every packet its rule, or ends its way.
#[inline(never)]
pub fn stage<F>(batch: &mut Batch<F>, tables: &Tables) {
    let mut last = None;
    for packet in batch.live() {
        if let Some(Last { target, rule, service }) = last
            && is_plain(&packet.parsed)
            && packet.parsed.flow.target() == target
        {
            (packet.rule, packet.service) = (rule, service);
            continue;
        }
        match classify(packet, tables) {
            Ok(()) => last = Last::of(packet, tables).or(last),
            Err(outcome) => packet.end(outcome),
        }
    }
}

/// A packet's rule, to be had again by the next plain one for the same target: bursts are often for
/// one service, and this is a tenth of a look-up.
#[derive(Clone, Copy)]
struct Last {
    target: Target,
    rule: RuleId,
    service: ServiceId,
}

impl Last {
    /// `None` where the next packet's answer may be another.
    #[inline]
    fn of<F>(packet: &Packet<F>, tables: &Tables) -> Option<Self> {
        let parsed = &packet.parsed;
        let same_for_all = is_plain(parsed)
            && !is_tunnel(parsed, tables)
            && tables.rules.rule(packet.rule).is_some_and(Rule::admits_all);
        let target = parsed.flow.target();
        same_for_all.then_some(Self { target, rule: packet.rule, service: packet.service })
    }
}

/// Whether rules are matched by the packet's target and nothing else.
#[inline(always)]
fn is_plain(parsed: &Parsed) -> bool {
    parsed.fragment == Fragment::Whole && parsed.icmp != Icmp::Quoting && parsed.fault.is_none()
}

#[inline(never)]
fn classify<F>(packet: &mut Packet<F>, tables: &Tables) -> Result<(), Outcome> {
    let parsed = &packet.parsed;
    if parsed.quotes() {
        if is_about_tunnel(&parsed.flow, tables) {
            return Err(Outcome::TunnelError);
        }
    } else if is_loop(parsed, tables) {
        return Err(Outcome::Loop);
    }
    match tables.rules.look_up(&parsed.flow, rule_port(packet)) {
        Match::Unclaimed => Err(Outcome::Host),
        Match::ClaimedNoRule => Err(unruled(packet)),
        Match::Rule(id) => take(packet, id, tables),
    }
}

/// The port that rules are matched by: none where the packet has none, and none is known from its
/// first fragment (F-2, S-6).
fn rule_port<F>(packet: &Packet<F>) -> Option<u16> {
    let has_ports = matches!(packet.parsed.flow.proto(), TCP | UDP)
        && packet.parsed.fragment != Fragment::Later
        && packet.parsed.fault.is_none()
        // A quoted later fragment has no ports either.
        && !(packet.parsed.quotes() && packet.parsed.flow.dport() == 0);
    has_ports.then(|| packet.parsed.flow.dport())
}

/// Why a packet to a claimed address has no rule (F-4). A fault says more than a missing rule.
fn unruled<F>(packet: &Packet<F>) -> Outcome {
    packet.parsed.fault.unwrap_or(Outcome::VipNoRule)
}

fn take<F>(packet: &mut Packet<F>, id: RuleId, tables: &Tables) -> Result<(), Outcome> {
    if let Some(outcome) = packet.parsed.fault {
        return Err(outcome);
    }
    let rule = tables.rules.rule(id).ok_or(Outcome::VipNoRule)?;
    if !rule.admits(packet.parsed.flow.src()) {
        return Err(Outcome::ClientDenied);
    }
    packet.rule = id;
    packet.service = rule.service;
    Ok(())
}
