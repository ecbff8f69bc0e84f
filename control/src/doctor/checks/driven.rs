//! The devices that DPDK drives, each once, however many ports it is.

use crate::doctor::facts::{Device, Facts, Interface};
use crate::model::{Config, DeviceUse, Port};

/// A device and whose it is.
pub(super) struct Driven<'a> {
    pub device: &'a Device,
    /// Its ports.
    pub ports: Vec<&'a Port>,
    /// The name of the bond that it is a member of.
    pub bond: Option<&'a str>,
    /// The largest of its ports.
    pub mtu: u16,
}

/// All of them, in the order of the facts.
pub(super) fn all<'a>(config: &'a Config, facts: &'a Facts) -> Vec<Driven<'a>> {
    let members = |used: DeviceUse<'a>| {
        let count = used.driven().len();
        std::iter::repeat_n(used, count)
    };
    let uses = config.devices().into_iter().flat_map(members);
    let driven = |(used, device): (DeviceUse<'a>, &'a Device)| Driven {
        device,
        ports: used.ports.iter().filter_map(|place| config.ports.get(*place)).collect(),
        bond: used.bond.map(|_| used.device),
        mtu: used.mtu,
    };
    uses.zip(&facts.devices).map(driven).collect()
}

impl Driven<'_> {
    /// `port front`, `ports front, back (bond0)`
    pub(super) fn whose(&self) -> String {
        let names: Vec<_> = self.ports.iter().map(|port| &*port.name).collect();
        let port = if names.len() == 1 { "port" } else { "ports" };
        let bond = self.bond.map(|bond| format!(" ({bond})"));
        format!("{port} {}{}", names.join(", "), bond.unwrap_or_default())
    }

    /// Whether any of its ports has a host interface.
    pub(super) fn has_host(&self) -> bool {
        self.ports.iter().any(|port| !port.host_interface.is_empty())
    }

    /// The kernel's interface under it, if it is there.
    pub(super) fn interface<'f>(&self, facts: &'f Facts) -> Option<&'f Interface> {
        match self.device {
            Device::Interface { name, .. } => facts.interface(name),
            _ => None,
        }
    }

    /// The same where the kernel sees all that arrives.
    pub(super) fn shared<'f>(&self, facts: &'f Facts) -> Option<&'f Interface> {
        let shared = matches!(self.device, Device::Interface { shared: true, .. });
        self.interface(facts).filter(|_| shared)
    }

    /// Whether its ports go on without it: a bond of which another member is fit.
    pub(super) fn is_spare(&self, all: &[Self], facts: &Facts) -> bool {
        let fit = |other: &Self| match other.device {
            Device::Interface { name, .. } => {
                facts.interface(name).is_some_and(|i| i.up && i.carrier)
            }
            Device::Pci { present, .. } => *present,
            Device::Virtual => true,
            Device::Unreadable(_) => false,
        };
        self.bond.is_some()
            && all.iter().any(|o| o.bond == self.bond && o.device != self.device && fit(o))
    }
}
