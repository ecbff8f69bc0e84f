//! Frame → what the stages need to know of it. Never reads past the frame.

use tables::{Flow, Outcome, PacketClass};

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
}

/// What the parser read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parsed {
    /// The five-tuple; ports are zero where the packet has none in this frame (ports of a first
    /// UDP fragment are there: classify matches listed ports by them, F-2; the plan for
    /// `UdpFragment` masks them away).
    pub flow: Flow,
    /// The class (never depends on rules).
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
    /// TCP with SYN set.
    pub syn: bool,
    /// DSCP and ECN: IPv4 TOS or IPv6 traffic class.
    pub tos: u8,
    /// IPv4 "don't fragment"; true for IPv6.
    pub dont_fragment: bool,
    /// What is wrong behind the IP header, if anything. It only counts when a rule claims the
    /// address: what is for the host is the host's to judge.
    pub fault: Option<Outcome>,
}
