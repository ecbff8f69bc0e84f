//! ICMP and ICMPv6 messages that need more than a class: errors, with the packet that they quote
//! (S-7), and echo requests.

use tables::{Flow, PacketClass};

use super::bytes::{be16, chunk};
use super::{Fragment, Parsed, ipv6};

const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;
const GRE: u8 = 47;
const ESP: u8 = 50;
const ICMPV6: u8 = 58;

/// Type, code, checksum and four bytes that depend on the type.
const HEADER: usize = 8;

/// What every error quotes of the transport header at least (RFC 792).
const QUOTED: usize = 8;

/// What kind of ICMP or ICMPv6 message a packet is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Icmp {
    /// None, or one that is a packet like any other.
    #[default]
    Other,
    /// An echo request.
    EchoRequest,
    /// An error or a redirect that is not [`Icmp::Quoting`]: never answered by an error.
    Error,
    /// An error about a connection: destination unreachable, packet too big, time exceeded or
    /// parameter problem, sent to the source of the packet that it quotes (S-7).
    Quoting,
}

/// The packet that an error quotes, turned round: seen from the client's side.
struct Quote {
    flow: Flow,
    class: PacketClass,
}

/// Notes what kind of message `message` is, the ICMP header and what is behind it. An error about
/// a connection takes that connection's flow and class: whatever is decided about the packet is
/// decided by them.
#[inline(never)]
pub(super) fn v4(parsed: &mut Parsed, message: &[u8]) {
    const ECHO: u8 = 8;
    // Source quench and redirect are errors too, but about a route.
    let kind = match first(parsed, message) {
        Some(ECHO) => Icmp::EchoRequest,
        Some(3 | 11 | 12) => Icmp::Quoting,
        Some(4 | 5) => Icmp::Error,
        _ => Icmp::Other,
    };
    note(parsed, kind, message, quoted_v4);
}

/// The same for ICMPv6.
#[inline(never)]
pub(super) fn v6(parsed: &mut Parsed, message: &[u8]) {
    const ECHO: u8 = 128;
    const REDIRECT: u8 = 137;
    let kind = match first(parsed, message) {
        Some(ECHO) => Icmp::EchoRequest,
        Some(1..=4) => Icmp::Quoting,
        // The high bit tells information from errors (RFC 4443, 2.1).
        Some(0..=127 | REDIRECT) => Icmp::Error,
        _ => Icmp::Other,
    };
    note(parsed, kind, message, quoted_v6);
}

/// Whether a host of this link asks whether we are still there: a neighbour solicitation (RFC 4861,
/// 7.1.1). Such a question about a VIP is sent to the VIP itself, and is no packet for a backend.
pub(super) fn asks_neighbour(parsed: &Parsed, message: &[u8], hop_limit: u8) -> bool {
    const SOLICITATION: u8 = 135;
    /// No router has passed it on.
    const FROM_THIS_LINK: u8 = 255;
    hop_limit == FROM_THIS_LINK && first(parsed, message) == Some(SOLICITATION)
}

/// The message's type; later fragments have none.
fn first(parsed: &Parsed, message: &[u8]) -> Option<u8> {
    message.first().copied().filter(|_| parsed.fragment != Fragment::Later)
}

fn note(parsed: &mut Parsed, kind: Icmp, message: &[u8], read: fn(&[u8]) -> Option<Quote>) {
    parsed.icmp = kind;
    if kind != Icmp::Quoting {
        return;
    }
    // Quoted source = the error's destination: else it is about somebody else's packet. An error
    // in fragments is none that a router makes, and no other fragment has the connection's flow.
    let whole = parsed.fragment == Fragment::Whole;
    let quote = message.get(HEADER..).filter(|_| whole).and_then(read);
    match quote.filter(|quote| quote.flow.dst() == parsed.flow.dst()) {
        Some(quote) => (parsed.flow, parsed.class) = (quote.flow, quote.class),
        None => parsed.icmp = Icmp::Error,
    }
}

/// The flow, turned round, and the class of a packet of which only the beginning is there.
pub(crate) fn quoted(packet: &[u8]) -> Option<(Flow, PacketClass)> {
    let quote = match packet.first()? >> 4 {
        4 => quoted_v4(packet),
        _ => quoted_v6(packet),
    };
    quote.map(|quote| (quote.flow, quote.class))
}

/// An IPv4 packet of which only the beginning is there; its checksum and length do not matter.
fn quoted_v4(quoted: &[u8]) -> Option<Quote> {
    let [first, _, _, _, _, _, f0, f1, _, proto, _, _, s0, s1, s2, s3, d0, d1, d2, d3] =
        *chunk::<20>(quoted, 0)?;
    let header_length = usize::from(first & 0x0F) * 4;
    if first >> 4 != 4 || header_length < 20 {
        return None;
    }
    let transport = quoted.get(header_length..)?;
    let later = be16(f0, f1) & 0x1FFF != 0;
    let (class, [sport, dport]) = read_transport(proto, ICMP, later, transport)?;
    let flow = Flow::v4([d0, d1, d2, d3], [s0, s1, s2, s3], proto, dport, sport);
    Some(Quote { flow, class })
}

/// The same for IPv6, extension headers included.
fn quoted_v6(quoted: &[u8]) -> Option<Quote> {
    let [v0, _, _, _, _, _, next, _, addresses @ ..] = chunk::<40>(quoted, 0)?;
    if v0 >> 4 != 6 {
        return None;
    }
    let (proto, later, transport) = ipv6::upper_layer(quoted.get(40..)?, *next)?;
    let (class, [sport, dport]) = read_transport(proto, ICMPV6, later, transport)?;
    let (source, destination) = ipv6::halves(addresses);
    Some(Quote { flow: Flow::v6(destination, source, proto, dport, sport), class })
}

/// Class and ports (source, destination) of a quoted packet. A quoted first fragment has ports:
/// that the answers are fragmented does not mean that the client's packets are.
fn read_transport(
    proto: u8,
    icmp: u8,
    later: bool,
    transport: &[u8],
) -> Option<(PacketClass, [u16; 2])> {
    let class = match proto {
        TCP => PacketClass::Tcp,
        UDP if later => PacketClass::UdpFragment,
        UDP => PacketClass::Udp,
        GRE => PacketClass::Gre,
        ESP => PacketClass::Esp,
        p if p == icmp => PacketClass::Icmp,
        _ => PacketClass::Other,
    };
    if !class.has_ports() || later {
        return Some((class, [0, 0]));
    }
    let [s0, s1, d0, d1, ..] = *chunk::<QUOTED>(transport, 0)?;
    Some((class, [be16(s0, s1), be16(d0, d1)]))
}

impl Parsed {
    /// Whether the packet is an error about a connection, whose flow and class it then has (S-7).
    #[inline]
    pub fn quotes(&self) -> bool {
        self.icmp == Icmp::Quoting
    }
}
