//! Each port's host interface, and the queues between it and the workers.

use std::collections::BTreeSet;

use control::host::announce::who;
use control::host::{Frames, HostConfig, HostError, HostInterface};
use control::model::{Config, Port};
use control::state::State;
use dataplane::io::host::{HostSide, WorkerSide, queues};
use tables::Mac;

use crate::watch::Seen;

/// Frames that may wait in each direction; what is more is dropped and counted (D-11).
const FRAMES: usize = 512;

/// An Ethernet header and a VLAN tag.
const LINK_HEADER: usize = 18;

/// The host interfaces, by port.
#[derive(Debug)]
pub(crate) struct Hosts {
    interfaces: Vec<Option<HostInterface>>,
    /// The Tables that what they announce is of, and whether the workers could take what comes.
    announced: Option<(u64, bool)>,
}

impl Hosts {
    /// Starts every port's host interface, if it has one, and gives each port's way to it. Ports
    /// have these Ethernet addresses, and their links are up or not.
    pub(crate) fn start(
        config: &Config,
        macs: &[Mac],
        links: &[bool],
    ) -> Result<(Self, Vec<Option<WorkerSide>>), HostError> {
        let mut interfaces = Vec::new();
        let mut ways = Vec::new();
        for ((port, mac), link) in config.ports.iter().zip(macs).zip(links) {
            let started = start(port, *mac, *link)?;
            ways.push(started.as_ref().map(|(way, _)| way.clone()));
            interfaces.push(started.map(|(_, interface)| interface));
        }
        Ok((Self { interfaces, announced: None }, ways))
    }

    /// Gives each the addresses that its port now has.
    pub(crate) fn set_addresses(&mut self, config: &Config) {
        for (interface, port) in self.interfaces.iter_mut().zip(&config.ports) {
            let Some(interface) = interface else { continue };
            if let Err(error) = interface.set_addresses(&port.addresses) {
                tracing::error!("{error}; the next reload tries again");
            }
        }
    }

    /// Answers for the VIPs that the ports have on link, if the workers can take what comes. Cheap
    /// where nothing has changed: no new generation of Tables, no other worker.
    pub(crate) fn announce(&mut self, state: &State, generation: u64, able: bool) {
        if self.announced.replace((generation, able)) == Some((generation, able)) {
            return;
        }
        let config = state.config();
        for (interface, port) in self.interfaces.iter().zip(&config.ports) {
            let Some(interface) = interface else { continue };
            let vips = if able { who::vips(config, state, port) } else { BTreeSet::default() };
            interface.announce(vips);
        }
    }

    /// The kernel sees the links that were seen, and segments are told of all addresses again where
    /// that is due.
    pub(crate) fn follow(&mut self, links: &[Seen]) {
        for link in links {
            let Some(Some(interface)) = self.interfaces.get_mut(link.port) else { continue };
            if let Err(error) = interface.set_link(link.up) {
                tracing::warn!("{error}");
            }
            if link.again {
                interface.announce_again();
            }
        }
    }
}

/// Starts the host interface of a port, if it has one.
fn start(
    port: &Port,
    mac: Mac,
    link: bool,
) -> Result<Option<(WorkerSide, HostInterface)>, HostError> {
    if port.host_interface.is_empty() {
        return Ok(None);
    }
    let (workers, host) = queues(FRAMES, usize::from(port.mtu) + LINK_HEADER);
    let config = HostConfig {
        name: port.host_interface.clone(),
        mac: mac.0,
        mtu: port.mtu,
        vlan: port.vlan,
        addresses: port.addresses.clone(),
        rate: port.host_rate,
        link,
    };
    Ok(Some((workers, HostInterface::start(&config, Queues(host))?)))
}

struct Queues(HostSide);

impl Frames for Queues {
    fn next(&mut self, deliver: &mut dyn FnMut(&[u8])) -> bool {
        self.0.next(deliver).is_some()
    }

    fn send(&mut self, fill: &mut dyn FnMut(&mut [u8]) -> Option<usize>) -> bool {
        self.0.send(fill)
    }
}
