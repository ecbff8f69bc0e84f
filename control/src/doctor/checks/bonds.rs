//! What members of a bond have to have in common, and must not have.

use super::driven::{self, Driven};
use super::warning;
use crate::doctor::Finding;
use crate::doctor::facts::{Facts, Interface};
use crate::model::{BondMode, Config};

/// A bond spreads flows evenly, and LACP takes members of one speed together.
pub(super) fn speeds(config: &Config, facts: &Facts) -> Vec<Finding> {
    let all = driven::all(config, facts);
    let bonds = config.devices().into_iter().filter_map(|used| Some((used.device, used.bond?)));
    let even = bonds.filter(|(_, bond)| bond.mode != BondMode::ActiveBackup);
    even.filter_map(|(bond, _)| {
        let members: Vec<_> = all.iter().filter(|d| d.bond == Some(bond)).collect();
        unlike(bond, &members, facts)
    })
    .collect()
}

fn unlike(bond: &str, members: &[&Driven<'_>], facts: &Facts) -> Option<Finding> {
    let interfaces = members.iter().filter_map(|member| member.interface(facts));
    let known: Vec<_> =
        interfaces.filter_map(|i: &Interface| Some((i.name.as_str(), i.speed?))).collect();
    let speed = |(_, speed): &(&str, u32)| *speed;
    if known.iter().map(speed).min() == known.iter().map(speed).max() {
        return None;
    }
    let told: Vec<_> = known.iter().map(|(name, speed)| format!("{name} {speed}")).collect();
    let what = format!(
        "{}: members are not equally fast (Mbit/s): {}; each gets as many flows, and a switch leaves the slower ones out of a LAG",
        members.first()?.whose(),
        told.join(", ")
    );
    let cure = format!("members of one speed, or bond = \"active-backup\" for {bond}");
    Some(warning("bond", what, cure))
}

/// A member has the bond's Ethernet address: what the kernel has on it would not be found any more.
pub(super) fn addresses(config: &Config, facts: &Facts) -> Vec<Finding> {
    let all = driven::all(config, facts);
    let members = all.iter().filter(|driven| driven.bond.is_some());
    members.filter_map(|member| own_address(member, member.interface(facts)?)).collect()
}

fn own_address(member: &Driven<'_>, interface: &Interface) -> Option<Finding> {
    let reachable: Vec<_> =
        interface.addresses.iter().filter(|a| !super::is_link_local(**a)).collect();
    let address = reachable.first()?;
    let name = &interface.name;
    let what = format!(
        "{}: member {name} has {address} of its own: it is to have the bond's Ethernet address, so that {address} is not reached any more",
        member.whose()
    );
    let cure = format!(
        "ip address flush dev {name} scope global; what is needed belongs into addresses of the port, which has a host interface"
    );
    Some(warning("bond", what, cure))
}
