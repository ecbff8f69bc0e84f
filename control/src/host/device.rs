//! The kernel's side of a host interface.

use std::io::{self, ErrorKind};

use ipnet::IpNet;
use tun_rs::{DeviceBuilder, Layer, SyncDevice};

use super::HostConfig;
use crate::netlink::carrier;

/// What fails on a kernel without carriers for TAP devices (before Linux 5.0).
pub(super) const FOLLOW: &str = "follow its port's link";

/// Why there is no host interface, or not the one that is wanted.
#[derive(Debug, thiserror::Error)]
#[error("host interface {name}: {what}: {source}{cure}")]
pub struct HostError {
    name: String,
    what: String,
    source: io::Error,
    cure: &'static str,
}

/// Makes the device and brings it up; it goes when it is dropped.
pub(super) fn create(config: &HostConfig) -> Result<SyncDevice, HostError> {
    let failed = |what: &'static str| move |source| error(&config.name, what, source);
    let builder = DeviceBuilder::new().name(&config.name).layer(Layer::L2).enable(false);
    let builder = builder.mac_addr(config.mac).mtu(config.mtu);
    let device = builder.build_sync().map_err(failed("create it"))?;
    settings(&config.name);
    for address in &config.addresses {
        add_address(&device, *address).map_err(failed("give it its addresses"))?;
    }
    if !config.link
        && let Err(error) = set_carrier(&device, false)
    {
        // Worse than following, and better than no start.
        tracing::warn!("{}", self::error(&config.name, FOLLOW, error));
    }
    let up = device.enabled(true).and_then(|()| device.set_nonblocking(true));
    up.map_err(failed("bring it up"))?;
    Ok(device)
}

/// Where /proc is read-only each costs what is said here.
fn settings(name: &str) {
    // An IPv6 address would be unusable for a second or two, and next hops unknown for as long: nobody
    // but us is on this link. Where `all` says otherwise that counts, and nothing is asked, at once.
    for key in ["accept_dad", "dad_transmits", "router_solicitation_delay"] {
        set(name, "ipv6", key, "0");
    }
    // The first IPv4 address of a prefix would take all others of it with it when it goes.
    set(name, "ipv4", "promote_secondaries", "1");
    // An operator who sets it down and up again finds the IPv6 addresses there too.
    set(name, "ipv6", "keep_addr_on_down", "1");
    // What is sent over a port without a link is lost: the next best route is to be taken.
    for family in ["ipv4", "ipv6"] {
        set(name, family, "ignore_routes_with_linkdown", "1");
    }
}

fn set(name: &str, family: &str, key: &str, value: &str) {
    let path = format!("/proc/sys/net/{family}/conf/{name}/{key}");
    if let Err(error) = std::fs::write(&path, value) {
        tracing::debug!("{path}: {error}");
    }
}

pub(super) fn set_carrier(device: &SyncDevice, carrier: bool) -> io::Result<()> {
    carrier::set(device.if_index()?, carrier)
}

pub(super) fn add_address(device: &SyncDevice, address: IpNet) -> io::Result<()> {
    match address {
        IpNet::V4(net) => device.add_address_v4(net.addr(), net.prefix_len()),
        IpNet::V6(net) => device.add_address_v6(net.addr(), net.prefix_len()),
    }
}

pub(super) fn remove_address(device: &SyncDevice, address: IpNet) -> io::Result<()> {
    match address {
        IpNet::V4(net) => device.remove_address(net.addr().into()),
        IpNet::V6(net) => device.remove_address_v6(net.addr(), net.prefix_len()),
    }
}

pub(super) fn error(name: &str, what: &str, source: io::Error) -> HostError {
    let cure = match source.raw_os_error().map(io::Error::from_raw_os_error).map(|e| e.kind()) {
        Some(ErrorKind::NotFound) => {
            "; load the module (`modprobe tun`) or pass /dev/net/tun into the container"
        }
        Some(ErrorKind::PermissionDenied) => "; it needs CAP_NET_ADMIN and access to /dev/net/tun",
        Some(ErrorKind::ResourceBusy | ErrorKind::InvalidInput) => {
            "; the name is probably taken (`ip link`): remove that interface or choose another host_interface"
        }
        _ => "",
    };
    HostError { name: name.to_owned(), what: what.to_owned(), source, cure }
}
