//! What a desk has where a machine has cables: Ethernet addresses, next hops, a port at least.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tables::{Mac, PortId};

use crate::model::{AnnounceVips, Config, Port, Service};
use crate::plan::wiring::Wiring;
use crate::state::Clock;

/// A tick of a simulation: idle timeouts are whole milliseconds, so expiry is exact (T-8).
pub const CLOCK: Clock = Clock { tick_length: Duration::from_millis(1) };

/// Stands for every next hop that the file does not give.
const NEIGHBOUR: Mac = Mac([0x02, 0, 0, 0, 0, 0x01]);

/// The Ethernet address of a port in a simulation.
pub fn mac(port: PortId) -> Mac {
    Mac([0x02, 0, 0, 0, 1, port.0])
}

/// The ports' cables: every next hop is known.
pub fn wiring(config: &Config) -> Wiring {
    let macs = (0..config.ports.len()).map(|number| mac(PortId(number as u8))).collect();
    Wiring { macs, assumed_neighbour: Some(NEIGHBOUR), ..Wiring::default() }
}

/// The configuration with what a decision does not depend on, but a packet's way out does: a port,
/// a gateway and a tunnel source for each family. A file that has them keeps its own.
pub fn completed(config: &Config) -> Config {
    let mut config = config.clone();
    if config.ports.is_empty() {
        config.ports.push(port());
    }
    for gateway in DOCUMENTATION {
        let known = |p: &Port| p.gateways.iter().any(|g| g.is_ipv4() == gateway.is_ipv4());
        if !config.ports.iter().any(known) {
            config.ports[0].gateways.push(gateway);
        }
    }
    config.services.iter_mut().for_each(complete_source);
    config
}

/// Addresses that belong to nobody (RFC 5737, RFC 3849).
const DOCUMENTATION: [IpAddr; 2] = [
    IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 254)),
    IpAddr::V6(std::net::Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0xfe)),
];

fn complete_source(service: &mut Service) {
    for address in DOCUMENTATION {
        let source = &mut service.encapsulation.source;
        if !source.iter().any(|s| s.is_ipv4() == address.is_ipv4()) {
            source.push(address);
        }
    }
}

fn port() -> Port {
    Port {
        name: Arc::from("simulated"),
        device: String::new(),
        bond: None,
        addresses: Vec::new(),
        gateways: Vec::new(),
        mtu: 1500,
        icmp_rate: 0,
        answer_echo: false,
        fragment_oversize: false,
        vlan: 0,
        host_interface: String::new(),
        host_rate: 0,
        announce_vips: AnnounceVips::Never,
        neighbours: Vec::new(),
    }
}
