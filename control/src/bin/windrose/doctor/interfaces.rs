//! The kernel's interfaces: `/sys`, `/proc`, and ethtool where it is installed.

use std::fs;
use std::io;
use std::net::IpAddr;
use std::process::Command;

use control::doctor::facts::Interface;
use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;

/// What makes frames on an interface differ from those on a wire, as ethtool calls it.
const OFFLOADS: [(&str, &str); 5] = [
    ("rx-checksumming", "rx"),
    ("tx-checksumming", "tx"),
    ("tcp-segmentation-offload", "tso"),
    ("generic-segmentation-offload", "gso"),
    ("generic-receive-offload", "gro"),
];

/// All of this network namespace.
pub(super) fn all() -> io::Result<Vec<Interface>> {
    let mut interfaces: Vec<Interface> = Vec::new();
    for entry in getifaddrs()? {
        let name = &entry.interface_name;
        let place = interfaces.iter().position(|interface| interface.name == *name);
        let place = place.unwrap_or_else(|| {
            interfaces.push(one(name, entry.flags));
            interfaces.len() - 1
        });
        let address = entry.address.as_ref();
        let v4 = address.and_then(|a| Some(IpAddr::V4(a.as_sockaddr_in()?.ip())));
        let v6 = address.and_then(|a| Some(IpAddr::V6(a.as_sockaddr_in6()?.ip())));
        if let (Some(interface), Some(address)) = (interfaces.get_mut(place), v4.or(v6)) {
            interface.addresses.push(address);
        }
    }
    Ok(interfaces)
}

fn one(name: &str, flags: InterfaceFlags) -> Interface {
    let class = |file: &str| number(&format!("/sys/class/net/{name}/{file}"));
    let in_effect = |setting: &str| {
        let of = |scope: &str| number(&format!("/proc/sys/net/ipv4/conf/{scope}/{setting}"));
        of("all").max(of(name)).unwrap_or(0)
    };
    Interface {
        name: name.to_owned(),
        mtu: class("mtu").unwrap_or(0),
        up: flags.contains(InterfaceFlags::IFF_UP),
        carrier: class("carrier") == Some(1),
        addresses: Vec::new(),
        rp_filter: in_effect("rp_filter") as u8,
        arp_ignore: in_effect("arp_ignore") as u8,
        ipv6: number(&format!("/proc/sys/net/ipv6/conf/{name}/disable_ipv6")) == Some(0),
        // -1 and 0: it does not know.
        speed: class("speed").filter(|speed| *speed > 0),
        on_top: on_top(name),
        master: link(name, "master"),
        offloads: offloads(name),
    }
}

/// What the kernel has made on top of an interface, a bond or a bridge among it.
fn on_top(name: &str) -> Vec<String> {
    let files = fs::read_dir(format!("/sys/class/net/{name}")).into_iter().flatten().flatten();
    let names = files.map(|file| file.file_name().to_string_lossy().into_owned());
    names.filter_map(|file| file.strip_prefix("upper_").map(str::to_owned)).collect()
}

fn link(name: &str, file: &str) -> Option<String> {
    let to = fs::read_link(format!("/sys/class/net/{name}/{file}")).ok()?;
    Some(to.file_name()?.to_string_lossy().into_owned())
}

fn number(path: &str) -> Option<u32> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// None, too, where nobody can say.
fn offloads(name: &str) -> Vec<String> {
    let Ok(output) = Command::new("ethtool").args(["-k", name]).output() else {
        return Vec::new();
    };
    let told = String::from_utf8_lossy(&output.stdout);
    let on = |feature: &str| {
        told.lines().any(|line| {
            line.strip_prefix(feature).is_some_and(|rest| rest.trim_start().starts_with(": on"))
        })
    };
    let is_on = OFFLOADS.into_iter().filter(|(feature, _)| on(feature));
    is_on.map(|(_, short)| short.to_owned()).collect()
}
