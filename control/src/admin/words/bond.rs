//! Bonds, of `windrose status`, of SIGUSR1 and of the log.

use crate::admin::answer::{BondMember, BondStatus, PortStatus};

/// Each bond once, however many ports it is.
pub(super) fn bonds(ports: &[PortStatus]) -> String {
    let mut text = String::new();
    for (place, port) in ports.iter().enumerate() {
        let same = |other: &&PortStatus| other.device == port.device;
        if let Some(of) = &port.bond
            && !ports.iter().take(place).any(|other| same(&other))
        {
            let names: Vec<_> = ports.iter().filter(same).map(|port| port.name.as_str()).collect();
            text += &bond(&names.join("+"), of);
        }
    }
    text
}

/// A bond, a line for each member.
pub fn bond(ports: &str, bond: &BondStatus) -> String {
    let members = bond.members.iter().map(|one| format!("  {}\n", member(one)));
    format!("bond of {ports}: {}\n{}", bond.mode, members.collect::<String>())
}

/// How one member is.
pub fn member(member: &BondMember) -> String {
    let BondMember { device, up, active, partner } = member;
    let link = if *up { "link up" } else { "link DOWN" };
    let carries = if *active { ", carries traffic" } else { "" };
    let partner = partner.as_ref().map(|mac| format!(", LACP with {mac}"));
    format!("{device}: {link}{carries}{}", partner.unwrap_or_default())
}
