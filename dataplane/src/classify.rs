//! Destination → rule and service (F-1 to F-4).

use tables::rules::Match;
use tables::{Outcome, RuleId, Tables};

use crate::batch::{Batch, Packet};
use crate::icmp::is_about_tunnel;
use crate::parse::{Fragment, is_loop};

const TCP: u8 = 6;
const UDP: u8 = 17;

/// Gives every packet its rule, or ends its way.
pub fn stage<F>(batch: &mut Batch<F>, tables: &Tables) {
    for packet in batch.live() {
        if let Err(outcome) = classify(packet, tables) {
            packet.end(outcome);
        }
    }
}

fn classify<F>(packet: &mut Packet<F>, tables: &Tables) -> Result<(), Outcome> {
    let parsed = &packet.parsed;
    if parsed.quotes() && is_about_tunnel(&parsed.flow, tables) {
        return Err(Outcome::TunnelError);
    }
    if !parsed.quotes() && is_loop(parsed, tables) {
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
