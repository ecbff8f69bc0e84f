//! Which way packets leave: a backend's address → port, next hop.

use std::net::IpAddr;

use tables::{Mac, PortId};

use crate::model::{Config, Port};

/// What is known of the ports beyond the file.
#[derive(Clone, Debug, Default)]
pub struct Wiring {
    /// Each port's own Ethernet address, in the order of the file.
    pub macs: Vec<Mac>,
    /// Whether frames to any destination address are taken (captures).
    pub any_mac: bool,
    /// Taken for a next hop that the file does not give (captures, simulations).
    pub assumed_neighbour: Option<Mac>,
}

/// Where packets to one backend go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextHop {
    /// The port that they leave by.
    pub port: PortId,
    /// The Ethernet address that they are sent to, if it is known.
    pub mac: Option<Mac>,
}

impl Wiring {
    /// A port's own Ethernet address.
    pub fn mac(&self, port: PortId) -> Mac {
        self.macs.get(usize::from(port.0)).copied().unwrap_or_default()
    }

    /// On link where a port's prefix holds the address (the longest, if several do), else through
    /// the first gateway of its family; without either there is no way there.
    pub fn next_hop(&self, config: &Config, address: IpAddr) -> Option<NextHop> {
        let (port, via) = via(config, address)?;
        let mac = neighbour(&config.ports[port], via).or(self.assumed_neighbour);
        Some(NextHop { port: PortId(port as u8), mac })
    }
}

/// The port that packets to a backend leave by, and the neighbour that they are sent to.
pub(crate) fn via(config: &Config, address: IpAddr) -> Option<(usize, IpAddr)> {
    on_link(config, address).or_else(|| through_gateway(config, address))
}

/// The Ethernet address of a port's neighbour, if the file gives it.
pub(crate) fn neighbour(port: &Port, address: IpAddr) -> Option<Mac> {
    port.neighbours.iter().find(|(a, _)| *a == address).map(|(_, mac)| *mac)
}

fn on_link(config: &Config, address: IpAddr) -> Option<(usize, IpAddr)> {
    let holding = |port: &Port| {
        let prefixes = port.addresses.iter().filter(|prefix| prefix.contains(&address));
        prefixes.map(ipnet::IpNet::prefix_len).max()
    };
    let ports = config.ports.iter().enumerate();
    let (port, _) = ports
        .filter_map(|(i, p)| Some((i, holding(p)?)))
        .max_by_key(|(i, len)| (*len, usize::MAX - i))?;
    Some((port, address))
}

fn through_gateway(config: &Config, address: IpAddr) -> Option<(usize, IpAddr)> {
    config.ports.iter().enumerate().find_map(|(i, port)| {
        let gateway = port.gateways.iter().find(|g| g.is_ipv4() == address.is_ipv4())?;
        Some((i, *gateway))
    })
}
