//! `device`, `members` and `bond` of `[[port]]`: each device is driven once, by one port for each
//! VLAN (N-4).

use std::collections::HashSet;

use super::identity::{Identity, name_of_device};
use super::names::Unique;
use crate::config::field::Field;
use crate::config::file::dataplane::Port;
use crate::config::report::Report;
use crate::model::{Bond, BondMode};

const ALLOWED: &str = "allowed: a PCI address such as \"0000:01:00.0\", or a vdev such as \"net_af_packet0,iface=eth1\"";

/// DPDK's limit.
const MOST_MEMBERS: usize = 8;

/// DPDK's limit on a device's name, less what goes in front of it.
const LONGEST_NAME: usize = 32;

/// All that were seen.
pub(super) struct Devices {
    vlans: Unique<(String, u16)>,
    members: Unique<String>,
    /// Ports' own devices.
    own: HashSet<String>,
    bonds: Unique<String>,
    /// Those that some port gives members to.
    made: HashSet<String>,
    driven: Vec<(String, Identity)>,
}

/// The kernel's interfaces that a port drives.
pub(super) fn interfaces(port: &Port) -> impl Iterator<Item = String> {
    let devices = std::iter::once(&port.device).chain(&port.members.value);
    devices.filter_map(|device| Identity::of(device).interface)
}

impl Devices {
    /// For these ports.
    pub(super) fn of(ports: &[Field<Port>]) -> Self {
        let made = ports.iter().filter(|port| !port.members.is_empty());
        Self {
            vlans: Unique::new(
                "another port has this device and this vlan",
                "allowed: each device once, or once for each vlan",
            ),
            members: Unique::new("this device is a member already", "allowed: each device once"),
            own: ports.iter().map(|port| port.device.value.clone()).collect(),
            bonds: Unique::new(
                "another port gives the members of this bond",
                "give them once, in any one of its ports",
            ),
            made: made.map(|port| port.device.value.clone()).collect(),
            driven: Vec::new(),
        }
    }

    pub(super) fn check(&mut self, port: &Port, report: &mut Report<'_>) {
        if port.device.trim().is_empty() {
            report.refuse(&port.device, "no device", ALLOWED);
        }
        if port.vlan.is_sound() {
            let key = (port.device.value.clone(), port.vlan.get());
            self.vlans.check_as(&port.device, key, report);
        }
        for member in &port.members.value {
            self.member(member, report);
        }
        if !self.made.contains(&port.device.value) {
            // One with `bond` is told what it lacks.
            if port.bond.is_none() {
                device(&port.device, report);
            }
            self.driven_once(&port.device, report);
        }
        bonded(port, report);
        if !port.members.is_empty() {
            self.bonds.check(&port.device, report);
        }
    }

    fn member(&mut self, member: &Field<String>, report: &mut Report<'_>) {
        if member.trim().is_empty() {
            report.refuse(member, "not a device", ALLOWED);
        } else {
            device(member, report);
        }
        if self.own.contains(&member.value) {
            report.refuse(member, "a port of its own has this device", "allowed: each device once");
        }
        self.members.check(member, report);
        self.driven_once(member, report);
    }

    /// Refuses another string for something that is driven already.
    fn driven_once(&mut self, device: &Field<String>, report: &mut Report<'_>) {
        let identity = Identity::of(device);
        let mut others = self.driven.iter().filter(|(text, _)| *text != device.value);
        if let Some((why, help)) = others.find_map(|(text, other)| identity.clash(other, text)) {
            report.refuse(device, &why, help);
        }
        self.driven.push((device.value.clone(), identity));
    }
}

/// A device of a port that is no bond.
fn device(device: &Field<String>, report: &mut Report<'_>) {
    if is_name(device) {
        let allowed = format!(
            "an interface of the kernel is \"net_af_packet0,iface={device}\", a card its PCI address (\"0000:01:00.0\"), a bond has members and bond",
            device = device.value
        );
        report.refuse(device, "not a device of DPDK, nor a bond", allowed);
    }
}

/// What a bond needs, and what only a bond may have.
fn bonded(port: &Port, report: &mut Report<'_>) {
    let members = &port.members;
    match (members.len(), &port.bond) {
        (0, Some(bond)) => {
            report.refuse(bond, "without members", "give members = [\"DEVICE\", \"DEVICE\"]");
        }
        (0, None) => {}
        (1, _) => report.refuse(members, "one member", "allowed: 2 to 8 devices"),
        (_, None) => {
            let allowed = "give bond = \"lacp\", \"active-backup\" or \"balance-xor\"";
            report.refuse(members, "without bond", allowed);
        }
        (MOST_MEMBERS.., _) if members.len() > MOST_MEMBERS => {
            report.refuse(members, "too many members", "allowed: 2 to 8 devices");
        }
        _ => {}
    }
    unlike(port, report);
    if !members.is_empty() && !is_name(&port.device) {
        let allowed = "with members, device is a name for the bond, for example \"bond0\": up to 32 letters, digits, \"-\" and \"_\"";
        report.refuse(&port.device, "not a name for a bond", allowed);
    }
}

/// DPDK's LACP takes members of one speed together, and drivers on interfaces of the kernel tell one
/// that nobody has asked for.
fn unlike(port: &Port, report: &mut Report<'_>) {
    let driver = |member: &Field<String>| {
        let name = name_of_device(member);
        name.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned()
    };
    let is_card = |member: &Field<String>| !member.starts_with("net_");
    let alike = |a: &Field<String>, b: &Field<String>| {
        is_card(a) && is_card(b) || !is_card(a) && !is_card(b) && driver(a) == driver(b)
    };
    let lacp = port.bond.as_ref().is_some_and(|bond| **bond == BondMode::Lacp);
    // What is no device at all is told by itself.
    let mut members = port.members.iter().filter(|member| !is_name(member));
    if let Some(first) = members.next().filter(|_| lacp)
        && let Some(other) = members.find(|member| !alike(first, member))
    {
        let why = "not driven as the first member is: LACP would leave one of them out";
        let allowed = "with \"lacp\": cards alone, or interfaces of the kernel by one driver; \"active-backup\" takes both";
        report.refuse(other, why, allowed);
    }
}

/// Whether it can name a bond: nothing that DPDK would take for a device of its own.
fn is_name(text: &str) -> bool {
    let good = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !text.is_empty()
        && text.len() <= LONGEST_NAME
        && text.chars().all(good)
        && !text.starts_with("net_")
}

/// The bond that a port describes.
pub(super) fn bond(port: &Port) -> Option<Bond> {
    let members: Vec<_> = port.members.iter().map(|member| member.value.clone()).collect();
    let mode = port.bond.as_ref().map(|bond| **bond).unwrap_or_default();
    (!members.is_empty()).then_some(Bond { mode, members })
}
