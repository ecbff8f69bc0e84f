//! Which way packets leave: a backend's address → ports, next hops.
//!
//! In this order, the longest prefix first:
//!
//! 1. the kernel's routes over host interfaces ([`crate::netlink`]), which know the on-link
//!    prefixes of their ports too;
//! 2. the on-link prefixes of ports that have none;
//! 3. the first gateway of the file whose port is not known to be down.
//!
//! Ethernet addresses: the file's `neighbours`, else what the kernel has found out.

use std::net::IpAddr;
use std::sync::Arc;

use tables::{Mac, PortId};

use crate::model::{Config, Port};
use crate::netlink::{Kernel, Neighbour, Network, Step, Verdict, Way};

/// What is known of the machine beyond the file.
#[derive(Clone, Debug, Default)]
pub struct Wiring {
    /// Each port's own Ethernet address, in the order of the file.
    pub macs: Vec<Mac>,
    /// Whether frames to any destination address are taken (captures).
    pub any_mac: bool,
    /// Taken for a next hop that the file does not give (captures, simulations).
    pub assumed_neighbour: Option<Mac>,
    /// Workers that count what they give to each backend; 0: nobody does.
    pub workers: usize,
    /// What the kernel knows, where there are host interfaces.
    pub kernel: Option<Arc<Kernel>>,
}

/// Where packets to one backend go: nowhere, if there is no next hop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ways {
    /// Each gets its share of the flows.
    pub hops: Vec<NextHop>,
    /// The largest IP packet that the way takes, if it is smaller than its ports'.
    pub mtu: Option<u16>,
}

/// One next hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextHop {
    /// The port that packets leave by.
    pub port: PortId,
    /// The address of whom they are sent to.
    pub neighbour: IpAddr,
    /// The Ethernet address that they are sent to, if it is known.
    pub mac: Option<Mac>,
    /// Its share, at least 1.
    pub weight: u16,
    /// Whether the kernel is to find that address out, so that packets may wait for it.
    pub asked: bool,
}

impl Wiring {
    /// A port's own Ethernet address.
    pub fn mac(&self, port: PortId) -> Mac {
        self.macs.get(usize::from(port.0)).copied().unwrap_or_default()
    }

    /// Where packets to an address go now.
    pub fn ways(&self, config: &Config, address: IpAddr) -> Ways {
        let mut ways = match &self.kernel {
            Some(kernel) => kernel.ways(config, address),
            None => ways(config, None, address),
        };
        for hop in &mut ways.hops {
            hop.mac = hop.mac.or(self.assumed_neighbour);
        }
        ways
    }
}

/// Where packets to an address go, as far as the file and the kernel say; `network` is `None` as
/// long as nothing is known of the kernel.
pub fn ways(config: &Config, network: Option<&Network>, address: IpAddr) -> Ways {
    let verdict = network.map_or(Verdict::NoRoute, |network| network.route(address));
    let by_file = on_link(config, network, address);
    let beaten = |length| by_file.is_some_and(|(_, by_file)| by_file > length);
    match verdict {
        Verdict::Through(way) if !beaten(way.length) => by_kernel(config, &way),
        Verdict::Nowhere(length) if !beaten(length) => Ways::default(),
        _ => match by_file {
            Some((port, _)) => one(config, network, port, address),
            None => through_gateway(config, network, address),
        },
    }
}

/// The port that packets to an address leave by and the neighbour that they are sent to, as far as
/// the file alone says.
pub(crate) fn via(config: &Config, address: IpAddr) -> Option<(usize, IpAddr)> {
    let ways = ways(config, None, address);
    ways.hops.first().map(|hop| (usize::from(hop.port.0), hop.neighbour))
}

/// The Ethernet address of a port's neighbour, if the file gives it.
pub(crate) fn neighbour(port: &Port, address: IpAddr) -> Option<Mac> {
    port.neighbours.iter().find(|(a, _)| *a == address).map(|(_, mac)| *mac)
}

fn by_kernel(config: &Config, way: &Way) -> Ways {
    let hop = |step: &Step| {
        let port = config.ports.get(step.interface)?;
        Some(next_hop(port, step.interface, step.neighbour, step.weight, step.known))
    };
    let mut hops: Vec<_> = way.steps.iter().filter_map(hop).collect();
    // The kernel's order says nothing; the same hops are to be the same spread.
    hops.sort_by_key(|hop| (hop.port, hop.neighbour));
    let mtu = way.mtu.map(|mtu| u16::try_from(mtu).unwrap_or(u16::MAX));
    Ways { hops, mtu }
}

fn next_hop(
    port: &Port,
    number: usize,
    neighbour: IpAddr,
    weight: u16,
    known: Option<Neighbour>,
) -> NextHop {
    let fixed = self::neighbour(port, neighbour);
    NextHop {
        port: PortId(number as u8),
        neighbour,
        mac: fixed.or(known.and_then(Neighbour::mac)),
        weight,
        asked: fixed.is_none() && !port.host_interface.is_empty(),
    }
}

fn one(config: &Config, network: Option<&Network>, port: usize, neighbour: IpAddr) -> Ways {
    let known = network.and_then(|network| network.neighbour(port, neighbour));
    let hop = config.ports.get(port).map(|p| next_hop(p, port, neighbour, 1, known));
    Ways { hops: hop.into_iter().collect(), mtu: None }
}

/// The port whose prefix holds the address, and the prefix's length: the longest, then the first.
/// Where the kernel has a port's addresses, its routes say what is on link.
fn on_link(config: &Config, network: Option<&Network>, address: IpAddr) -> Option<(usize, u8)> {
    let holding = |port: &Port| {
        let prefixes = port.addresses.iter().filter(|prefix| prefix.contains(&address));
        prefixes.map(ipnet::IpNet::prefix_len).max()
    };
    let asked = |port: &Port| network.is_some() && !port.host_interface.is_empty();
    let ports = config.ports.iter().enumerate().filter(|(_, port)| !asked(port));
    ports
        .filter_map(|(i, port)| Some((i, holding(port)?)))
        .max_by_key(|(i, length)| (*length, usize::MAX - i))
}

fn through_gateway(config: &Config, network: Option<&Network>, address: IpAddr) -> Ways {
    let is_down = |number: usize, port: &Port| {
        !port.host_interface.is_empty() && network.is_some_and(|network| !network.is_up(number))
    };
    let ports = config.ports.iter().enumerate().filter(|(i, port)| !is_down(*i, port));
    let mut gateways = ports.filter_map(|(i, port)| {
        let of_family = |gateway: &&IpAddr| gateway.is_ipv4() == address.is_ipv4();
        Some((i, *port.gateways.iter().find(of_family)?))
    });
    match gateways.next() {
        Some((port, gateway)) => one(config, network, port, gateway),
        None => Ways::default(),
    }
}
