//! The IPv6 header and the walk over its extension headers (RFC 8200).

use tables::{Flow, Outcome, PacketClass};

use super::bytes::{be16, chunk};
use super::transport::{self, Transport};
use super::{Fragment, Icmp, Parsed, address, icmp};

const HEADER: usize = 40;

const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const DESTINATION_OPTIONS: u8 = 60;

/// More extension headers than this are a fault. The standard's own list has six; a bound keeps
/// one packet from costing as much as hundreds.
const MAX_EXTENSIONS: usize = 8;

/// Reads the packet whose header starts at `l3`.
#[inline]
pub(super) fn packet(bytes: &[u8], l3: usize) -> Result<Parsed, Outcome> {
    let header: &[u8; HEADER] = chunk(bytes, l3).ok_or(Outcome::MalformedIp)?;
    let [v0, v1, _, _, n0, n1, next, hop_limit, addresses @ ..] = header;
    let payload_length = usize::from(be16(*n0, *n1));
    // Length 0 is a jumbogram or an empty packet: neither is for a backend.
    if v0 >> 4 != 6 || payload_length == 0 {
        return Err(Outcome::MalformedIp);
    }
    let start = l3 + HEADER;
    let payload = bytes.get(start..start + payload_length).ok_or(Outcome::RxTruncated)?;
    let length = u16::try_from(HEADER + payload_length).map_err(|_| Outcome::MalformedIp)?;

    let chain = walk(payload, *next);
    let Transport { class, sport, dport, syn, fault } = chain.transport(payload);
    let (source, destination) = halves(addresses);
    let mut parsed = Parsed {
        flow: Flow::v6(source, destination, chain.proto, sport, dport),
        class,
        l3: l3 as u16,
        l4: (start + chain.at) as u16,
        length,
        fragment: chain.fragment,
        fragment_id: chain.fragment_id,
        chained: chain.chained,
        syn,
        tos: v0 << 4 | v1 >> 4,
        dont_fragment: true,
        icmp: Icmp::Other,
        fault: address::v6(source, destination, *hop_limit).or(fault),
    };
    if class == PacketClass::Icmp {
        let message = payload.get(chain.at..).unwrap_or_default();
        if icmp::asks_neighbour(&parsed, message, *hop_limit) {
            return Err(Outcome::Host);
        }
        icmp::v6(&mut parsed, message);
    }
    Ok(parsed)
}

#[inline(always)]
pub(super) fn halves(addresses: &[u8; 32]) -> ([u8; 16], [u8; 16]) {
    let mut source = [0; 16];
    let mut destination = [0; 16];
    let (left, right) = addresses.split_at(16);
    source.copy_from_slice(left);
    destination.copy_from_slice(right);
    (source, destination)
}

/// The protocol behind the extension headers of a quoted packet, whether it is a later fragment,
/// and what of it is quoted; `None` where the quote ends before.
pub(super) fn upper_layer(payload: &[u8], next: u8) -> Option<(u8, bool, &[u8])> {
    let chain = walk(payload, next);
    let known = !chain.broken;
    let later = chain.fragment == Fragment::Later;
    payload.get(chain.at..).filter(|_| known).map(|rest| (chain.proto, later, rest))
}

/// Where the walk stands: before the header of protocol `proto`, `at` bytes into the payload.
struct Chain {
    proto: u8,
    at: usize,
    fragment: Fragment,
    fragment_id: u32,
    /// A fragment header was seen, even that of an atomic fragment (RFC 6946).
    fragmented: bool,
    /// What the fragment header names next is another extension header.
    chained: bool,
    broken: bool,
}

impl Chain {
    #[inline]
    fn transport(&self, payload: &[u8]) -> Transport {
        if self.broken {
            return Transport::broken();
        }
        transport::ipv6(self.proto, self.fragment, payload.get(self.at..).unwrap_or_default())
    }

    /// Steps over one extension header; false: it is cut, or a second fragment header.
    fn step(&mut self, payload: &[u8]) -> bool {
        let Some([next, extra]) = chunk::<2>(payload, self.at).copied() else { return false };
        let extra = usize::from(extra);
        let length = match self.proto {
            FRAGMENT => return self.step_fragment(payload),
            AUTHENTICATION => (extra + 2) * 4,
            _ => (extra + 1) * 8,
        };
        self.advance(next, length, payload)
    }

    fn step_fragment(&mut self, payload: &[u8]) -> bool {
        let Some([next, _, o0, o1, id @ ..]) = chunk::<8>(payload, self.at) else { return false };
        let position = be16(*o0, *o1);
        self.fragment = match (position >> 3, position & 1) {
            (0, 0) => Fragment::Whole,
            (0, _) => Fragment::First,
            _ => Fragment::Later,
        };
        self.fragment_id = u32::from_be_bytes(*id);
        self.chained = is_extension(*next);
        !std::mem::replace(&mut self.fragmented, true) && self.advance(*next, 8, payload)
    }

    fn advance(&mut self, next: u8, length: usize, payload: &[u8]) -> bool {
        self.proto = next;
        self.at += length;
        self.at <= payload.len()
    }
}

/// Walks to the upper-layer header, or to where the packet goes dark: ESP, "no next header", and
/// the end of a later fragment's own headers. What a later fragment names next is taken as its
/// protocol, since only the first fragment has the headers behind it.
#[inline]
fn walk(payload: &[u8], proto: u8) -> Chain {
    let mut chain = Chain {
        proto,
        at: 0,
        fragment: Fragment::Whole,
        fragment_id: 0,
        fragmented: false,
        chained: false,
        broken: false,
    };
    if is_extension(proto) {
        walk_extensions(&mut chain, payload);
    }
    chain
}

fn walk_extensions(chain: &mut Chain, payload: &[u8]) {
    for _ in 0..MAX_EXTENSIONS {
        if !chain.step(payload) {
            break;
        }
        if chain.fragment == Fragment::Later || !is_extension(chain.proto) {
            return;
        }
    }
    chain.broken = true;
}

#[inline(always)]
fn is_extension(proto: u8) -> bool {
    matches!(proto, HOP_BY_HOP | ROUTING | FRAGMENT | AUTHENTICATION | DESTINATION_OPTIONS)
}
