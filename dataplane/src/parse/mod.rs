//! Frame → what the stages need to know of it. Never reads past the frame.
//!
//! Nearly all packets are read by `common`, in one straight line; the others by the general walk. In
//! the order of the bytes: `ethernet` (addresses, VLAN tag), `ipv4` or `ipv6` (lengths,
//! fragments, extension headers), `address` (sources and hops), `transport` (ports, class), `icmp`
//! (errors about a connection). How strict each is, is the table in `docs/strictness.md` (N-7).
//!
//! An `Err` ends the packet's way. What is wrong *behind* the IP header is no error but a
//! [`Parsed::fault`], since it is not ours to judge unless a rule claims the address.

mod address;
mod bytes;
mod common;
mod ethernet;
mod icmp;
mod ipv4;
mod ipv6;
mod loop_guard;
mod transport;

use tables::{Family, Flow, Outcome, PacketClass, Port, Tables};

use crate::batch::Batch;
use crate::io::Frame;

pub use ethernet::vlan;
pub use icmp::Icmp;
pub(crate) use icmp::quoted;
pub use loop_guard::is_loop;
pub(crate) use loop_guard::is_tunnel;

/// Where a packet stands in its datagram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fragment {
    /// It is whole.
    #[default]
    Whole,
    /// The first fragment: it has the transport header.
    First,
    /// A later one: it has none.
    Later,
    /// A later one of TCP whose first one is known (S-6): its ports are that one's.
    Follows,
}

/// What the parser read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parsed {
    /// The five-tuple, that of the connection where [`Parsed::quotes`]; ports
    /// are zero where the packet has none in this frame (ports of a first
    /// UDP fragment are there: classify matches listed ports by them, F-2; the plan for
    /// `UdpFragment` masks them away).
    pub flow: Flow,
    /// The class (never depends on rules), that of the connection where [`Parsed::quotes`].
    pub class: PacketClass,
    /// Where the IP header starts in the frame, bytes: 14, or 18 behind a VLAN tag.
    pub l3: u16,
    /// Where the transport header starts in the frame, bytes.
    pub l4: u16,
    /// The IP packet's length, header included, bytes; the frame may be longer (padding).
    pub length: u16,
    /// Whole, first or later fragment.
    pub fragment: Fragment,
    /// IPv4 identification, or the fragment header's; 0 where there is none.
    pub fragment_id: u32,
    /// A fragment with an extension header behind its fragment header: only the datagram's first
    /// one has the protocol (IPv6).
    pub chained: bool,
    /// TCP with SYN set.
    pub syn: bool,
    /// DSCP and ECN: IPv4 TOS or IPv6 traffic class.
    pub tos: u8,
    /// IPv4 "don't fragment"; true for IPv6.
    pub dont_fragment: bool,
    /// What kind of ICMP or ICMPv6 message it is, if it is one.
    pub icmp: Icmp,
    /// What is wrong behind the IP header, if anything. It only counts when a rule claims the
    /// address: what is for the host is the host's to judge.
    pub fault: Option<Outcome>,
}

/// Reads one frame that arrived at `port`. `Err` ends its way: [`Outcome::Host`] where it is for
/// the host whatever the rules say (not IP, or to a group's Ethernet address), else a drop.
#[inline]
pub fn frame(bytes: &[u8], port: &Port) -> Result<Parsed, Outcome> {
    common::read(bytes, port).map_or_else(|| walk(bytes, port), Ok)
}

/// Reads a frame of the host's own, whose Ethernet header is not ours to judge; on a port with a
/// VLAN it has that tag already (N-4). `Err`: no IP, or no sound IP.
pub fn from_host(bytes: &[u8]) -> Result<Parsed, Outcome> {
    ip(bytes, ethernet::payload_from_host(bytes)?)
}

/// Reads any frame, header by header.
#[inline(never)]
fn walk(bytes: &[u8], port: &Port) -> Result<Parsed, Outcome> {
    ip(bytes, ethernet::payload(bytes, port)?)
}

#[inline]
fn ip(bytes: &[u8], (family, l3): (Family, usize)) -> Result<Parsed, Outcome> {
    match family {
        Family::V4 => ipv4::packet(bytes, l3),
        Family::V6 => ipv6::packet(bytes, l3),
    }
}

/// Parses every packet, or ends its way. Only live packets are [`Parsed`] behind it.
#[inline(never)]
pub fn stage<F: Frame>(batch: &mut Batch<F>, tables: &Tables) {
    for packet in batch.live() {
        let Some(port) = tables.ports.get(usize::from(packet.port.0)) else {
            // A port that these Tables do not know takes no address as its own.
            packet.end(Outcome::NotOurMac);
            continue;
        };
        let bytes = packet.frame.bytes();
        if let Some(parsed) = common::read(bytes, port) {
            packet.parsed = parsed;
        } else {
            match walk(bytes, port) {
                Ok(parsed) => packet.parsed = parsed,
                Err(outcome) => packet.end(outcome),
            }
        }
    }
}

#[cfg(test)]
mod tests;
