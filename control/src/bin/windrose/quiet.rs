//! The kernel under a port that drives one of its interfaces: it sees every frame too, and answers
//! for the addresses of the host interface a second time. While we run it is told not to.

use std::path::PathBuf;

use control::model::{Config, DeviceUse};
use dpdk::device::{self, Device};

/// What is set, and why: ARP for no address; nothing of a packet whose answer would go out of
/// another interface; no IPv6.
const SETTINGS: [(&str, &str, &str); 3] =
    [("ipv4", "arp_ignore", "8"), ("ipv4", "rp_filter", "1"), ("ipv6", "disable_ipv6", "1")];

/// What was set. Dropping it sets it back.
#[derive(Debug, Default)]
pub(crate) struct Quiet(Vec<(PathBuf, String)>);

impl Quiet {
    /// Quietens the kernel on every interface that a port with a host interface is driven over.
    /// One with addresses of its own is somebody's way to this machine: it is left alone.
    pub(crate) fn under(config: &Config) -> Self {
        let mut quiet = Self::default();
        for used in config.devices() {
            if used.ports.iter().any(|port| !config.ports[*port].host_interface.is_empty()) {
                interfaces(&used).iter().for_each(|interface| quiet.interface(interface));
            }
        }
        quiet
    }

    fn interface(&mut self, interface: &str) {
        if device::has_address(interface) {
            return tracing::warn!(
                "{interface} has addresses of its own, so the kernel answers there beside the host interface; take them away, or leave out host_interface"
            );
        }
        for (family, key, value) in SETTINGS {
            self.set(
                PathBuf::from(format!("/proc/sys/net/{family}/conf/{interface}/{key}")),
                value,
            );
        }
    }

    /// Without IPv6 there is nothing to set.
    fn set(&mut self, path: PathBuf, value: &str) {
        let Ok(before) = std::fs::read_to_string(&path) else { return };
        if before.trim() == value {
            return;
        }
        match std::fs::write(&path, value) {
            Ok(()) => self.0.push((path, before)),
            Err(error) => tracing::warn!(
                "the kernel answers beside the host interface: cannot write {value} to {}: {error}",
                path.display()
            ),
        }
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        for (path, before) in self.0.drain(..).rev() {
            if let Err(error) = std::fs::write(&path, before) {
                tracing::warn!("{}: {error}", path.display());
            }
        }
    }
}

fn interfaces(used: &DeviceUse<'_>) -> Vec<String> {
    let devices = used.driven().into_iter().filter_map(|device| Device::parse(device).ok());
    devices.filter_map(|device| device.interface().map(str::to_owned)).collect()
}
