//! A netlink message → what it says, in our words. What concerns nobody here is `None`.

use std::net::IpAddr;

use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourFlags, NeighbourMessage, NeighbourState,
};
use netlink_packet_route::rule::{RuleAction, RuleAttribute, RuleFlags, RuleMessage};
use tables::Mac;

use super::route::{self, Place, Route};

/// One thing that the kernel says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// An interface as it is now.
    Link {
        /// Its number.
        index: u32,
        /// Its name.
        name: String,
        /// Whether it is up and has a carrier.
        up: bool,
    },
    /// An interface is gone.
    LinkGone(u32),
    /// Every packet of a family is looked up in this table.
    Rule(Rule),
    /// The same, not any more.
    RuleGone(Rule),
    /// A route as it is now.
    Route(Place, Route),
    /// A route is gone.
    RouteGone(Place, Route),
    /// A neighbour as it is now.
    Neighbour(Whom, Neighbour),
    /// A neighbour is gone.
    NeighbourGone(Whom),
    /// An address came or went: the kernel takes routes along without a word.
    Address(u32),
}

/// A routing rule without conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rule {
    /// Whether it is for IPv4.
    pub v4: bool,
    /// The smallest is asked first.
    pub priority: u32,
    /// The table that it leads to.
    pub table: u32,
}

/// A neighbour's address, and the number of the interface that it is behind.
pub type Whom = (u32, IpAddr);

/// What the kernel knows of a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Neighbour {
    /// Its Ethernet address, for good: the operator's, or one that needs no resolution.
    Fixed(Mac),
    /// Its Ethernet address, confirmed lately or being confirmed.
    Known(Mac),
    /// Its Ethernet address, not confirmed for a while.
    Stale(Mac),
    /// Nobody has answered yet, or any more.
    Unresolved,
}

impl Neighbour {
    /// Where frames for it go.
    pub fn mac(self) -> Option<Mac> {
        match self {
            Self::Fixed(mac) | Self::Known(mac) | Self::Stale(mac) => Some(mac),
            Self::Unresolved => None,
        }
    }
}

/// What a message says.
pub fn of(message: &RouteNetlinkMessage) -> Option<Fact> {
    use RouteNetlinkMessage as M;
    match message {
        M::NewLink(link) => self::link(link),
        M::DelLink(link) => Some(Fact::LinkGone(link.header.index)),
        M::NewAddress(address) | M::DelAddress(address) => {
            Some(Fact::Address(address.header.index))
        }
        M::NewRule(rule) => self::rule(rule).map(Fact::Rule),
        M::DelRule(rule) => self::rule(rule).map(Fact::RuleGone),
        M::NewRoute(message) => route::read(message).map(|(at, route)| Fact::Route(at, route)),
        M::DelRoute(message) => route::read(message).map(|(at, route)| Fact::RouteGone(at, route)),
        M::NewNeighbour(message) => {
            neighbour(message).map(|(whom, known)| Fact::Neighbour(whom, known))
        }
        M::DelNeighbour(message) => neighbour(message).map(|(whom, _)| Fact::NeighbourGone(whom)),
        _ => None,
    }
}

fn link(message: &LinkMessage) -> Option<Fact> {
    let name = message.attributes.iter().find_map(|attribute| match attribute {
        LinkAttribute::IfName(name) => Some(name.clone()),
        _ => None,
    })?;
    let up = message.header.flags.contains(LinkFlags::Up | LinkFlags::LowerUp);
    Some(Fact::Link { index: message.header.index, name, up })
}

/// Rules with conditions (a source, a mark, an interface) are not for what workers send, whose
/// outer source differs from service to service.
fn rule(message: &RuleMessage) -> Option<Rule> {
    let header = &message.header;
    let selects = header.dst_len != 0 || header.src_len != 0 || header.tos != 0;
    let plain = header.action == RuleAction::ToTable
        && !header.flags.contains(RuleFlags::Invert)
        && !selects
        && !message.attributes.iter().any(is_condition);
    let mut rule =
        Rule { v4: route::is_v4(header.family)?, priority: 0, table: header.table.into() };
    for attribute in &message.attributes {
        match attribute {
            RuleAttribute::Priority(priority) => rule.priority = *priority,
            RuleAttribute::Table(table) => rule.table = *table,
            _ => {}
        }
    }
    plain.then_some(rule)
}

fn is_condition(attribute: &RuleAttribute) -> bool {
    use RuleAttribute as A;
    match attribute {
        A::Priority(_) | A::Table(_) | A::Protocol(_) => false,
        // All bits: none.
        A::SuppressPrefixLen(length) => *length != u32::MAX,
        A::L3MDev(is) => *is,
        _ => true,
    }
}

fn neighbour(message: &NeighbourMessage) -> Option<(Whom, Neighbour)> {
    if message.header.flags.contains(NeighbourFlags::Proxy) {
        return None;
    }
    let mut address = None;
    let mut mac = None;
    for attribute in &message.attributes {
        match attribute {
            NeighbourAttribute::Destination(NeighbourAddress::Inet(v4)) => {
                address = Some(IpAddr::from(*v4));
            }
            NeighbourAttribute::Destination(NeighbourAddress::Inet6(v6)) => {
                address = Some(IpAddr::from(*v6));
            }
            NeighbourAttribute::LinkLayerAddress(bytes) => {
                mac = <[u8; 6]>::try_from(bytes.as_slice()).ok().map(Mac);
            }
            _ => {}
        }
    }
    Some(((message.header.ifindex, address?), standing(message.header.state, mac)))
}

fn standing(state: NeighbourState, mac: Option<Mac>) -> Neighbour {
    use NeighbourState as S;
    match (state, mac) {
        (S::Permanent | S::Noarp, Some(mac)) => Neighbour::Fixed(mac),
        (S::Reachable | S::Delay | S::Probe, Some(mac)) => Neighbour::Known(mac),
        (S::Stale, Some(mac)) => Neighbour::Stale(mac),
        _ => Neighbour::Unresolved,
    }
}
