//! Looking at the machine. Nothing is judged here.

use std::io::{self, ErrorKind};
use std::net::IpAddr;
use std::path::Path;

use control::config::Environment;
use control::doctor::facts::{Device, FAR, Facts, Tun};
use control::model::{Config, DeviceUse};
use control::netlink;
use dpdk::device;
use dpdk::hugepages::Free;

use super::interfaces;
use crate::claim::Claim;
use crate::workers;

/// The machine, as far as it concerns a configuration.
pub(super) fn facts(config: &Config) -> io::Result<Facts> {
    let network = netlink::snapshot(config.ports.iter().map(|port| port.host_interface.clone()))?;
    let groups = config.services.iter().flat_map(|service| &service.groups);
    let backends = groups.flat_map(|group| &group.backends).map(|backend| backend.address);
    let routes = backends.clone().chain([FAR]).map(|to| (to, network.route(to)));
    let gateways = config.ports.iter().flat_map(|port| port.gateways.clone());
    let asked: Vec<IpAddr> = backends.chain(gateways).collect();
    let driven: Vec<_> = config.devices().iter().flat_map(DeviceUse::driven).collect();
    let behind = |port| asked.iter().map(move |address| (port, *address));
    let known = |whom: (usize, IpAddr)| Some((whom, network.neighbour(whom.0, whom.1)?));
    Ok(Facts {
        running: driven.iter().any(|device| Claim::of(device).is_err_and(|e| e.is_taken())),
        devices: driven.iter().map(|text| device(text)).collect(),
        interfaces: interfaces::all()?,
        routes: routes.collect(),
        neighbours: (0..config.ports.len()).flat_map(behind).filter_map(known).collect(),
        online_cpus: Environment::detect().online_cpus,
        huge_pages_mb: Free::now().kilobytes / 1024,
        available_mb: available_mb(&std::fs::read_to_string("/proc/meminfo")?),
        connections_mb: (workers::memory(config).bytes() as u64).div_ceil(1 << 20),
        tun: tun(),
    })
}

fn device(text: &str) -> Device {
    match device::Device::parse(text) {
        Err(error) => Device::Unreadable(error.to_string()),
        Ok(device::Device::Pci { address, .. }) => {
            let path = Path::new("/sys/bus/pci/devices").join(&address);
            let driver = path.join("driver").read_link().ok();
            let driver = driver.as_deref().and_then(Path::file_name);
            Device::Pci {
                present: path.exists(),
                driver: driver.map(|name| name.to_string_lossy().into_owned()),
                address,
            }
        }
        Ok(device) => match device.interface() {
            Some(name) => Device::Interface {
                name: name.to_owned(),
                shared: device.name().starts_with("net_af_packet"),
            },
            None => Device::Virtual,
        },
    }
}

fn available_mb(meminfo: &str) -> u64 {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kilobytes = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) / 1024
}

fn tun() -> Tun {
    match std::fs::OpenOptions::new().read(true).write(true).open("/dev/net/tun") {
        Ok(_) => Tun::Ready,
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Tun::Denied,
        Err(_) => Tun::Missing,
    }
}
