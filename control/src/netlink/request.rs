//! Requests, written.

use std::net::IpAddr;

use netlink_packet_core::{
    NLM_F_CREATE, NLM_F_DUMP, NLM_F_REPLACE, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage,
    NetlinkPayload,
};
use netlink_packet_route::link::LinkMessage;
use netlink_packet_route::neighbour::{
    NeighbourAttribute, NeighbourExtFlags, NeighbourFlags, NeighbourMessage,
};
use netlink_packet_route::route::RouteMessage;
use netlink_packet_route::rule::RuleMessage;
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

use super::mirror::{Dump, Request};

/// The sequence number of a request for a neighbour. No dump has it.
pub(super) const RESOLVE: u32 = 0;

/// Asks for all of something.
pub(super) fn dump((what, sequence): Request) -> Vec<u8> {
    let message = match what {
        Dump::Links => RouteNetlinkMessage::GetLink(LinkMessage::default()),
        Dump::Rules => RouteNetlinkMessage::GetRule(RuleMessage::default()),
        Dump::RoutesV4 => routes(AddressFamily::Inet),
        Dump::RoutesV6 => routes(AddressFamily::Inet6),
        Dump::Neighbours => RouteNetlinkMessage::GetNeighbour(NeighbourMessage::default()),
    };
    written(message, NLM_F_REQUEST | NLM_F_DUMP, sequence)
}

fn routes(family: AddressFamily) -> RouteNetlinkMessage {
    let mut message = RouteMessage::default();
    message.header.address_family = family;
    RouteNetlinkMessage::GetRoute(message)
}

/// Asks the kernel to find out a neighbour's Ethernet address now, and if `keep`, to go on finding
/// it out by itself (`NTF_EXT_MANAGED`, Linux 5.16; older ones pass over it).
pub(super) fn resolve(interface: u32, address: IpAddr, keep: bool) -> Vec<u8> {
    let mut message = NeighbourMessage::default();
    message.header.family = family(address);
    message.header.ifindex = interface;
    message.header.flags = NeighbourFlags::Use;
    message.attributes.push(NeighbourAttribute::Destination(address.into()));
    if keep {
        message.attributes.push(NeighbourAttribute::ExtFlags(NeighbourExtFlags::Managed));
    }
    let flags = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_REPLACE;
    written(RouteNetlinkMessage::NewNeighbour(message), flags, RESOLVE)
}

pub(super) fn family(address: IpAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
}

pub(super) fn written(message: RouteNetlinkMessage, flags: u16, sequence: u32) -> Vec<u8> {
    let mut header = NetlinkHeader::default();
    header.flags = flags;
    header.sequence_number = sequence;
    let mut message = NetlinkMessage::new(header, NetlinkPayload::InnerMessage(message));
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    bytes
}
