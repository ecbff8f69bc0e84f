//! Routers on the backends' segment, and the backends behind them.

use std::net::IpAddr;

use crate::address::{self, Family};
use crate::error::{Error, Result};
use crate::netns::Namespace;
use crate::topology::{Topology, host_settings};

/// A router with one or more interfaces on the backends' segment, each with an address of its own.
#[derive(Debug)]
pub struct Router {
    /// Where it is.
    pub namespace: Namespace,
    /// The last digits of its addresses, by interface: `eth0`, `eth1`...
    hosts: Vec<u8>,
}

impl Router {
    /// A router whose interfaces have these last digits. It leads to the backends' far addresses.
    pub fn new(topology: &Topology, name: &str, hosts: &[u8]) -> Result<Self> {
        let namespace = Namespace::new(name)?;
        host_settings(&namespace)?;
        namespace.set("ipv4/ip_forward", 1)?;
        namespace.set("ipv6/conf/all/forwarding", 1)?;
        for scope in ["all", "default"] {
            // It sends out where it received: nobody is to be told a better way.
            namespace.set(&format!("ipv4/conf/{scope}/send_redirects"), 0)?;
            // Who has its address moves, and says so.
            namespace.set(&format!("ipv4/conf/{scope}/arp_notify"), 1)?;
            namespace.set(&format!("ipv6/conf/{scope}/ndisc_notify"), 1)?;
            // An interface that was down has its addresses of both families again.
            namespace.set(&format!("ipv6/conf/{scope}/keep_addr_on_down"), 1)?;
        }
        for (number, host) in hosts.iter().enumerate() {
            let interface = format!("eth{number}");
            topology.attach(&namespace, &interface, &format!("{name}-{number}"))?;
            for family in Family::BOTH {
                let (own, prefix) = (at(family, *host), family.prefix());
                namespace.ip(&format!("address add {own}/{prefix} dev {interface}"))?;
            }
        }
        let router = Self { namespace, hosts: hosts.to_vec() };
        router.lead()?;
        Ok(router)
    }

    /// Its routes to the backends' far addresses, which the kernel forgets with `eth0`.
    pub fn lead(&self) -> Result<()> {
        for index in 0..address::BACKENDS {
            for family in Family::BOTH {
                let (far, via) = (address::far(family, index), address::backend(2, family, index));
                self.namespace.ip(&format!("route replace {far} via {via} dev eth0"))?;
            }
        }
        Ok(())
    }

    /// Its address at `eth0`.
    pub fn address(&self, family: Family) -> IpAddr {
        at(family, self.hosts.first().copied().unwrap_or_default())
    }

    /// Its link-local address there: gateways of IPv6 are often told of by theirs.
    pub fn link_local(&self) -> Result<String> {
        let shown = self.namespace.ip("-o -6 address show dev eth0 scope link")?;
        let address = shown.split_whitespace().nth(3).and_then(|a| a.split('/').next());
        address.map(str::to_owned).ok_or_else(|| Error::Unexpected(format!("`{shown}`")))
    }

    /// How many packets each of its interfaces has received.
    pub fn received(&self) -> Result<Vec<u64>> {
        let one = |number: usize| {
            let path = format!("cat /sys/class/net/eth{number}/statistics/rx_packets");
            let count = self.namespace.run(&path)?;
            count.trim().parse().map_err(|_| Error::Unexpected(format!("{path}: {count}")))
        };
        (0..self.hosts.len()).map(one).collect()
    }
}

/// An address on the backends' segment.
pub fn at(family: Family, host: u8) -> IpAddr {
    match family {
        Family::V4 => IpAddr::from([10, 0, 2, host]),
        // The same digits, which are hexadecimal here.
        Family::V6 => format!("2001:db8:2::{host}").parse().expect("an address"),
    }
}

/// Gives the backends the addresses that only a router leads to.
pub fn go_far(topology: &Topology) -> Result<()> {
    for (index, backend) in topology.backends.iter().enumerate() {
        for family in Family::BOTH {
            let (far, whole) = (address::far(family, index), family.whole());
            backend.namespace.ip(&format!("address add {far}/{whole} dev lo"))?;
        }
    }
    Ok(())
}
