//! Whether the ports' devices are there and ready.

use super::driven::{self, Driven};
use super::{error, warning};
use crate::doctor::Finding;
use crate::doctor::facts::{Device, Facts};
use crate::model::Config;

/// Kernel drivers under which DPDK takes a card.
const DPDK_DRIVERS: [&str; 3] = ["vfio-pci", "uio_pci_generic", "igb_uio"];
/// Kernel drivers beside which it does.
const BESIDE: [&str; 3] = ["mlx5_core", "mlx4_core", "mana"];

pub(super) fn device(config: &Config, facts: &Facts) -> Vec<Finding> {
    let all = driven::all(config, facts);
    all.iter().flat_map(|driven| one(driven, driven.is_spare(&all, facts), facts)).collect()
}

fn one(driven: &Driven<'_>, spare: bool, facts: &Facts) -> Vec<Finding> {
    match driven.device {
        Device::Virtual => Vec::new(),
        Device::Unreadable(why) => vec![error(
            "device",
            format!("{}: {why}", driven.whose()),
            "give a PCI address (0000:01:00.0) or net_af_packet0,iface=NAME".into(),
        )],
        Device::Interface { name, .. } => interface(driven, name, spare, facts),
        Device::Pci { address, present, driver } => {
            card(&driven.whose(), address, *present, driver.as_deref()).into_iter().collect()
        }
    }
}

fn interface(driven: &Driven<'_>, name: &str, spare: bool, facts: &Facts) -> Vec<Finding> {
    let whose = driven.whose();
    let Some(interface) = facts.interface(name) else {
        let what = format!("{whose}: there is no interface {name}");
        let there: Vec<_> = facts.interfaces.iter().map(|i| i.name.as_str()).collect();
        let cure = format!("name one that there is: {}", there.join(", "));
        return vec![error("device", what, cure)];
    };
    let mut findings = Vec::new();
    if !interface.up {
        let what = format!("{whose}: interface {name} is down");
        let finding = if spare { warning } else { error };
        findings.push(finding("device", what, format!("ip link set {name} up")));
    } else if !interface.carrier {
        let what = format!("{whose}: interface {name} has no carrier");
        findings.push(warning("device", what, "look at the cable, or the other end".into()));
    }
    if interface.mtu < driven.mtu.into() {
        let (has, mtu) = (interface.mtu, driven.mtu);
        let what = format!("{whose}: mtu = {mtu}, but interface {name} has {has}");
        let cure = format!("ip link set {name} mtu {mtu}, or mtu = {has}");
        findings.push(error("mtu", what, cure));
    }
    findings
}

fn card(whose: &str, address: &str, present: bool, driver: Option<&str>) -> Option<Finding> {
    if !present {
        let what = format!("{whose}: there is no PCI device {address}");
        return Some(error("device", what, "lspci -D lists those that there are".into()));
    }
    let driver = match driver {
        Some(driver) if DPDK_DRIVERS.contains(&driver) || BESIDE.contains(&driver) => return None,
        Some(driver) => format!("the kernel's driver {driver} has it"),
        None => "no driver has it".into(),
    };
    let what = format!("{whose}: DPDK cannot take {address}: {driver}");
    let cure = format!("modprobe vfio-pci; dpdk-devbind.py --bind=vfio-pci {address}");
    Some(error("device", what, cure))
}

/// While it runs the name is its own.
pub(super) fn host_interface(config: &Config, facts: &Facts) -> Vec<Finding> {
    let named = config.ports.iter().filter(|port| !port.host_interface.is_empty());
    let here = named.map(|port| (port, facts.interface(&port.host_interface).is_some()));
    here.filter_map(|(port, here)| {
        let name = &port.host_interface;
        match (facts.running, here) {
            (false, true) => Some(error(
                "host-interface",
                format!("port {}: an interface {name} is there already", port.name),
                format!("ip link del {name}, or another host_interface"),
            )),
            (true, false) => Some(error(
                "host-interface",
                format!("port {}: its host interface {name} is gone", port.name),
                "restart windrose; find out who removed it".into(),
            )),
            _ => None,
        }
    })
    .collect()
}
