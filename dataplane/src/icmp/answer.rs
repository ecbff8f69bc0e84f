//! Writing an answer into the frame that it answers: nothing is allocated, and every byte of it is
//! written here.

use std::ops::Range;

use arrayvec::ArrayVec;
use tables::Port;

use crate::encap::checksum::{self, Change};
use crate::io::Frame;
use crate::parse::Parsed;

const ICMP: u8 = 1;
const ICMPV6: u8 = 58;
const TTL: u8 = 64;

/// Type, code, checksum, and four bytes more.
const MESSAGE: usize = 8;

/// As much as an error may be long, IP header included (RFC 1812 4.3.2.3, RFC 4443 2.4).
const LONGEST_V4: usize = 576;
const LONGEST_V6: usize = 1280;

/// Ethernet with a tag.
const LONGEST_LINK: usize = 18;

/// Source and destination of the answer.
enum Ends {
    V4([u8; 4], [u8; 4]),
    V6([u8; 16], [u8; 16]),
}

/// What an answer's IP header says beside them.
struct Ip {
    tos: u8,
    /// IPv4 only: identification and fragment field.
    identity: [u8; 4],
    payload: usize,
}

impl Ends {
    /// Those of an answer to `packet`.
    fn answering(packet: &[u8]) -> Option<Self> {
        match packet.first()? >> 4 {
            4 => {
                let addresses = packet.get(12..)?.first_chunk::<8>()?;
                let (source, destination) = (addresses.first_chunk()?, addresses.last_chunk()?);
                Some(Self::V4(*destination, *source))
            }
            6 => {
                let addresses = packet.get(8..)?.first_chunk::<32>()?;
                let (source, destination) = (addresses.first_chunk()?, addresses.last_chunk()?);
                Some(Self::V6(*destination, *source))
            }
            _ => None,
        }
    }

    /// The IP header's length.
    fn header(&self) -> usize {
        match self {
            Self::V4(..) => 20,
            Self::V6(..) => 40,
        }
    }

    /// The most of a packet that an error quotes.
    fn quoted(&self) -> usize {
        match self {
            Self::V4(..) => LONGEST_V4 - 20 - MESSAGE,
            Self::V6(..) => LONGEST_V6 - 40 - MESSAGE,
        }
    }

    fn ether_type(&self) -> [u8; 2] {
        match self {
            Self::V4(..) => [0x08, 0x00],
            Self::V6(..) => [0x86, 0xDD],
        }
    }

    /// Writes an IP header of exactly this length.
    fn write(&self, header: &mut [u8], ip: &Ip) -> Option<()> {
        match self {
            Self::V4(source, destination) => write_v4(header, source, destination, ip),
            Self::V6(source, destination) => write_v6(header, source, destination, ip),
        }
    }

    /// The pseudo-header's part of an ICMPv6 checksum (RFC 8200, 8.1); ICMP has none.
    fn pseudo_sum(&self, payload: usize) -> u32 {
        match self {
            Self::V4(..) => 0,
            Self::V6(source, destination) => {
                let addresses = checksum::sum(source) + checksum::sum(destination);
                addresses + payload as u32 + u32::from(ICMPV6)
            }
        }
    }
}

fn write_v4(header: &mut [u8], source: &[u8; 4], destination: &[u8; 4], ip: &Ip) -> Option<()> {
    let header: &mut [u8; 20] = header.try_into().ok()?;
    let [n0, n1] = (20 + ip.payload as u16).to_be_bytes();
    let [i0, i1, f0, f1] = ip.identity;
    let ([s0, s1, s2, s3], [d0, d1, d2, d3]) = (*source, *destination);
    *header =
        [0x45, ip.tos, n0, n1, i0, i1, f0, f1, TTL, ICMP, 0, 0, s0, s1, s2, s3, d0, d1, d2, d3];
    let checksum = checksum::of(checksum::sum(header)).to_be_bytes();
    let [_, _, _, _, _, _, _, _, _, _, c0, c1, ..] = header;
    (*c0, *c1) = checksum.into();
    Some(())
}

fn write_v6(header: &mut [u8], source: &[u8; 16], destination: &[u8; 16], ip: &Ip) -> Option<()> {
    let (fixed, addresses) = header.split_first_chunk_mut::<8>()?;
    let [n0, n1] = (ip.payload as u16).to_be_bytes();
    *fixed = [0x60 | ip.tos >> 4, ip.tos << 4, 0, 0, n0, n1, ICMPV6, TTL];
    let (first, second) = addresses.split_first_chunk_mut::<16>()?;
    *first = *source;
    *<&mut [u8; 16]>::try_from(second).ok()? = *destination;
    Some(())
}

/// Makes the frame, which came in by `port`, a "fragmentation needed" or a "packet too big" about
/// the packet that is in it at `packet`, from its destination to its source. `None`: the frame has
/// no room.
pub(super) fn too_big<F: Frame>(
    frame: &mut F,
    port: &Port,
    packet: Range<usize>,
    mtu: u16,
) -> Option<()> {
    let ends = Ends::answering(frame.bytes().get(packet.clone())?)?;
    let quoted = packet.len().min(ends.quoted());
    let front = ends.header() + MESSAGE;
    let link = Link::answering(frame.bytes(), port, ends.ether_type())?;
    let bytes = link.move_in_front(frame, packet.start, front, quoted)?;
    let (header, message) = bytes.split_at_mut_checked(ends.header())?;
    let (kind, code, tos) = match ends {
        // Internetwork control (RFC 1812, 4.3.2.5).
        Ends::V4(..) => (3, 4, 0xC0),
        Ends::V6(..) => (2, 0, 0),
    };
    // Not to be fragmented, so that it needs no number (RFC 6864).
    let ip = Ip { tos, identity: [0, 0, 0x40, 0], payload: message.len() };
    ends.write(header, &ip)?;
    let [m0, m1] = mtu.to_be_bytes();
    *message.first_chunk_mut::<MESSAGE>()? = [kind, code, 0, 0, 0, 0, m0, m1];
    let sum = checksum::sum(message) + ends.pseudo_sum(message.len());
    write_checksum(message, checksum::of(sum))
}

/// Makes an echo request that came in by `port` the reply to it. Options and extension headers are
/// left out.
pub(super) fn echo<F: Frame>(frame: &mut F, parsed: &Parsed, port: &Port) -> Option<()> {
    let (l3, l4) = (usize::from(parsed.l3), usize::from(parsed.l4));
    let length = (l3 + usize::from(parsed.length)).checked_sub(l4).filter(|n| *n >= MESSAGE)?;
    let packet = frame.bytes().get(l3..)?;
    let ends = Ends::answering(packet)?;
    let [_, _, _, _, i0, i1, flags, ..] = *packet.first_chunk::<20>()?;
    let identity = [i0, i1, flags & 0x40, 0];
    let link = Link::answering(frame.bytes(), port, ends.ether_type())?;
    let bytes = link.move_in_front(frame, l4, ends.header(), length)?;
    let (header, message) = bytes.split_at_mut_checked(ends.header())?;
    ends.write(header, &Ip { tos: parsed.tos, identity, payload: message.len() })?;
    reply(message, matches!(ends, Ends::V4(..)))
}

/// Turns the type of an echo request; the checksum stays as right or wrong as it was, since a
/// request that was damaged on its way must not become a valid reply.
fn reply(message: &mut [u8], is_v4: bool) -> Option<()> {
    let [kind, code, c0, c1] = message.first_chunk_mut()?;
    let turned = if is_v4 { 0 } else { 129 };
    let change = Change::default()
        .word(u16::from_be_bytes([*kind, *code]), u16::from_be_bytes([turned, *code]));
    let checksum = change.applied_to(u16::from_be_bytes([*c0, *c1]));
    *kind = turned;
    (*c0, *c1) = (0, 0);
    // Both zeros are congruent; the one for nothing but zeros is the negative one (RFC 1624).
    let empty = checksum == 0 && message.iter().all(|byte| *byte == 0);
    write_checksum(message, if empty && is_v4 { 0xFFFF } else { checksum })
}

fn write_checksum(message: &mut [u8], checksum: u16) -> Option<()> {
    let [_, _, c0, c1] = message.first_chunk_mut()?;
    (*c0, *c1) = checksum.to_be_bytes().into();
    Some(())
}

/// The Ethernet header of an answer: back to who sent the frame, in the port's own VLAN, whatever
/// tag the frame had that counted as that (N-4).
struct Link(ArrayVec<u8, LONGEST_LINK>);

impl Link {
    fn answering(frame: &[u8], port: &Port, ether_type: [u8; 2]) -> Option<Self> {
        let sender: &[u8; 6] = frame.get(6..)?.first_chunk()?;
        let mut bytes: ArrayVec<u8, LONGEST_LINK> = ArrayVec::new();
        bytes.extend(sender.iter().chain(&port.mac.0).copied());
        if port.vlan != 0 {
            let [v0, v1] = port.vlan.to_be_bytes();
            bytes.extend([0x81, 0x00, v0, v1]);
        }
        bytes.extend(ether_type);
        Some(Self(bytes))
    }

    /// Lets the frame end `kept` bytes behind `at` and begin, with this header, `front` bytes in
    /// front of it; returns all but this header.
    fn move_in_front<'f, F: Frame>(
        &self,
        frame: &'f mut F,
        at: usize,
        front: usize,
        kept: usize,
    ) -> Option<&'f mut [u8]> {
        let before = self.0.len() + front;
        if !frame.move_start(before as isize - at as isize) {
            return None;
        }
        frame.truncate(before + kept);
        let (link, rest) = frame.bytes_mut().split_at_mut_checked(self.0.len())?;
        link.copy_from_slice(&self.0);
        Some(rest)
    }
}
