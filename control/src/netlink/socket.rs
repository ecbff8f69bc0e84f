//! The socket: bytes in and out, nothing decided.

use std::io;

use netlink_packet_core::{ErrorMessage, NLM_F_ACK, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};

use super::mirror::Message;
use super::request::written;

/// The kernel's answers come in pieces of up to 32 KB.
pub(super) const PIECE: usize = 64 << 10;

/// So much news may wait for us; what is more is an overrun.
const WAITING: u32 = 4 << 20;

/// The multicast groups that we hear: links, neighbours, addresses, routes and rules of both
/// families, and next-hop objects.
const GROUPS: [u32; 9] = [1, 3, 5, 7, 8, 9, 11, 19, 32];

/// Messages about next-hop objects: RTM_NEWNEXTHOP, RTM_DELNEXTHOP.
const NEXT_HOPS: std::ops::RangeInclusive<u16> = 104..=105;

/// A socket that only answers.
pub(super) fn asking() -> io::Result<Socket> {
    let mut socket = Socket::new(NETLINK_ROUTE)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    Ok(socket)
}

/// Sends a request and waits for what the kernel says of it.
pub(super) fn ask(message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
    let socket = asking()?;
    socket.send(&written(message, flags | NLM_F_REQUEST | NLM_F_ACK, 1), 0)?;
    let mut piece = Vec::with_capacity(PIECE);
    socket.recv(&mut piece, 0)?;
    let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&piece);
    match answer.map_err(io::Error::other)?.payload {
        NetlinkPayload::Error(ErrorMessage { code: Some(code), .. }) => {
            Err(io::Error::from_raw_os_error(code.get().abs()))
        }
        _ => Ok(()),
    }
}

/// A socket that hears the news too.
pub(super) fn hear(socket: &mut Socket) -> io::Result<()> {
    socket.bind_auto()?;
    // A smaller one does, only sooner overrun.
    let _ = socket.set_rx_buf_sz(WAITING);
    // Next-hop objects are as new as Linux 5.3.
    let refused = GROUPS.iter().filter_map(|group| socket.add_membership(*group).err());
    refused.filter(|error| error.kind() != io::ErrorKind::InvalidInput).try_for_each(Err)
}

/// What one message is.
pub(super) enum Read {
    Message(Box<Message>),
    /// A next-hop object came, changed or went: routes may have, silently.
    NextHop,
    /// Cut or not understood.
    Unreadable,
}

/// The messages of one piece.
pub(super) fn messages(piece: &[u8]) -> impl Iterator<Item = Read> {
    let mut rest = piece;
    std::iter::from_fn(move || {
        let length = u32::from_ne_bytes(*rest.first_chunk()?) as usize;
        let Some(message) = rest.get(..length).filter(|m| m.len() >= 16) else {
            rest = &[];
            return Some(Read::Unreadable);
        };
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some(read(message))
    })
}

fn read(message: &[u8]) -> Read {
    let kind = u16::from_ne_bytes([message[4], message[5]]);
    if NEXT_HOPS.contains(&kind) {
        return Read::NextHop;
    }
    match NetlinkMessage::deserialize(message) {
        Ok(message) => Read::Message(Box::new(message)),
        Err(error) => {
            tracing::debug!("a netlink message is not understood: {error}");
            Read::Unreadable
        }
    }
}
