//! The way of probes to VIPs: past the host's own routes into a port's host interface (W-8).
//!
//! For each port a routing table of its own, which only marked packets see, with one route: to
//! everybody by [`GATEWAY`], whose Ethernet address the kernel is told, so that it never asks for
//! it. Nothing of this is in the main table, and nothing else uses it. The table and the neighbour
//! go with the interface; the rule is taken back by [`ProbeWay`]'s drop, and one that a killed
//! process left is the same rule again.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::neighbour::{NeighbourAttribute, NeighbourMessage, NeighbourState};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteFlags, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::rule::{RuleAction, RuleAttribute, RuleMessage};
use tables::probes::GATEWAY;

use super::request::family;
use super::socket::ask;

/// Table and mark of the first port; the others' follow. "WR".
const FIRST: u32 = 0x5752_0000;

/// Before the main table's rule.
const PRIORITY: u32 = 5752;

/// Link-local addresses that no host has: they stand for [`GATEWAY`] and are never on a wire.
const NEXT_HOPS: [IpAddr; 2] = [
    IpAddr::V4(Ipv4Addr::new(169, 254, 87, 82)),
    IpAddr::V6(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0x5752, 1)),
];

/// What a socket is marked with to take the way of port `number`.
pub fn mark(number: u8) -> u32 {
    FIRST + u32::from(number)
}

/// A way that is there until it is dropped.
#[derive(Debug)]
pub struct ProbeWay {
    interface: String,
    mark: u32,
    hops: Vec<IpAddr>,
}

impl ProbeWay {
    /// Of port `number`, whose host interface has this name: for no family yet.
    pub fn new(number: u8, interface: &str) -> Self {
        Self { interface: interface.into(), mark: mark(number), hops: Vec::new() }
    }

    /// Makes it for the families that `v4` and `v6` ask for, and for no others. What is there is made
    /// again: the kernel forgets it with the interface's last address, or when it is set down.
    ///
    /// # Errors
    /// The kernel refuses: it has no policy routing, or we may not.
    pub fn make(&mut self, [v4, v6]: [bool; 2]) -> io::Result<()> {
        let index = index(&self.interface)?;
        let asked = NEXT_HOPS.into_iter().zip([v4, v6]).filter(|(_, asked)| *asked);
        let hops: Vec<_> = asked.map(|(hop, _)| hop).collect();
        self.hops.iter().filter(|hop| !hops.contains(hop)).for_each(|hop| self.take_back(*hop));
        self.hops = hops;
        if v4 {
            loosen(&self.interface)?;
        }
        self.hops.iter().try_for_each(|hop| put(index, *hop, self.mark, NLM_F_REPLACE))
    }

    /// Puts back what of it somebody has taken away: networkd, for one, removes all rules that it
    /// does not know when it is restarted. Where all is there nobody hears of it.
    ///
    /// # Errors
    /// The interface is down or gone: it can be put back when that is over.
    pub fn keep(&self) -> io::Result<()> {
        let index = index(&self.interface)?;
        self.hops.iter().try_for_each(|hop| put(index, *hop, self.mark, NLM_F_EXCL))
    }

    fn take_back(&self, hop: IpAddr) {
        if let Err(error) = ask(rule(hop, self.mark, true), 0) {
            tracing::debug!("the routing rule of probes stays: {error}");
        }
    }
}

impl Drop for ProbeWay {
    fn drop(&mut self) {
        self.hops.iter().for_each(|hop| self.take_back(*hop));
    }
}

/// What is there is replaced or stays, as the flag says.
fn put(interface: u32, hop: IpAddr, mark: u32, flag: u16) -> io::Result<()> {
    add(neighbour(interface, hop), flag)?;
    add(route(interface, hop, mark), flag)?;
    add(rule(hop, mark, false), NLM_F_EXCL)
}

fn add(message: RouteNetlinkMessage, flag: u16) -> io::Result<()> {
    match ask(message, NLM_F_CREATE | flag) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        done => done,
    }
}

/// Answers come from VIPs, to which the host has another route or none.
fn loosen(interface: &str) -> io::Result<()> {
    let of = |name: &str| format!("/proc/sys/net/ipv4/conf/{name}/rp_filter");
    // The stricter of the two counts, and 2 is the looser of those that look at all.
    let all = std::fs::read_to_string(of("all"))?;
    std::fs::write(of(interface), if all.trim() == "0" { "0" } else { "2" })
}

fn index(interface: &str) -> io::Result<u32> {
    let text = std::fs::read_to_string(format!("/sys/class/net/{interface}/ifindex"))?;
    text.trim().parse().map_err(io::Error::other)
}

fn neighbour(interface: u32, hop: IpAddr) -> RouteNetlinkMessage {
    let mut message = NeighbourMessage::default();
    message.header.family = family(hop);
    message.header.ifindex = interface;
    message.header.state = NeighbourState::Permanent;
    message.attributes.push(NeighbourAttribute::Destination(hop.into()));
    message.attributes.push(NeighbourAttribute::LinkLayerAddress(GATEWAY.0.to_vec()));
    RouteNetlinkMessage::NewNeighbour(message)
}

fn route(interface: u32, hop: IpAddr, table: u32) -> RouteNetlinkMessage {
    let mut message = RouteMessage::default();
    message.header.address_family = family(hop);
    message.header.protocol = RouteProtocol::Static;
    message.header.scope = RouteScope::Universe;
    message.header.kind = RouteType::Unicast;
    message.header.flags = RouteFlags::Onlink;
    let gateway = match hop {
        IpAddr::V4(hop) => RouteAddress::Inet(hop),
        IpAddr::V6(hop) => RouteAddress::Inet6(hop),
    };
    message.attributes.push(RouteAttribute::Gateway(gateway));
    message.attributes.push(RouteAttribute::Oif(interface));
    message.attributes.push(RouteAttribute::Table(table));
    RouteNetlinkMessage::NewRoute(message)
}

fn rule(hop: IpAddr, mark: u32, remove: bool) -> RouteNetlinkMessage {
    let mut message = RuleMessage::default();
    message.header.family = family(hop);
    message.header.action = RuleAction::ToTable;
    message.attributes.push(RuleAttribute::FwMark(mark));
    message.attributes.push(RuleAttribute::FwMask(u32::MAX));
    message.attributes.push(RuleAttribute::Table(mark));
    message.attributes.push(RuleAttribute::Priority(PRIORITY));
    if remove {
        RouteNetlinkMessage::DelRule(message)
    } else {
        RouteNetlinkMessage::NewRule(message)
    }
}
