//! The carrier of a host interface: it has one as long as its port's link is up.
//!
//! A TAP device has a carrier of its own accord. The kernel, and a routing daemon, would go on
//! sending over a port that is cut.

use std::io;

use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkMessage};

use super::socket::ask;

/// Gives the interface of this number its carrier, or takes it away.
///
/// # Errors
/// The kernel refuses: it is older than Linux 5.0, or we may not.
pub fn set(index: u32, carrier: bool) -> io::Result<()> {
    let mut message = LinkMessage::default();
    message.header.index = index;
    message.attributes.push(LinkAttribute::Carrier(carrier.into()));
    ask(RouteNetlinkMessage::SetLink(message), 0)
}
