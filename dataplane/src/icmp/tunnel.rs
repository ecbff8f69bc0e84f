//! Errors about our own outer headers: addressed to a tunnel source, quoting what we sent from
//! there to a backend (S-7).

use tables::{Family, Flow, PacketClass, Tables};

use crate::parse::quoted;

const IPV4: u8 = 4;
const IPV6: u8 = 41;
const GRE: u8 = 47;
const UDP: u8 = 17;

/// Bytes of the ICMP header.
const HEADER: usize = 8;

/// The sizes that networks have (RFC 1191, section 7.1), for routers that report none.
const PLATEAUS: [u16; 8] = [32_000, 17_914, 8_166, 4_352, 2_002, 1_492, 1_006, 576];

/// Whether an error that quotes a packet of this flow, turned round, is about one of our tunnels.
pub fn is_about_tunnel(flow: &Flow, tables: &Tables) -> bool {
    let tunnel = match flow.proto() {
        IPV4 | IPV6 | GRE => true,
        UDP => tables.gue_ports.contains(&flow.sport()),
        _ => false,
    };
    tunnel && tables.is_tunnel_source(flow.dst()) && !tables.backends.slots(flow.src()).is_empty()
}

/// The MTU that a "fragmentation needed" or a "packet too big" reports; `None` for other errors.
pub(super) fn reported_mtu(message: &[u8], family: Family) -> Option<u16> {
    let [kind, code, _, _, mtu @ ..] = message.first_chunk::<HEADER>()?;
    let mtu = u32::from_be_bytes(*mtu);
    match (family, kind, code) {
        (Family::V4, 3, 4) => match mtu as u16 {
            0 => plateau(message),
            mtu => Some(mtu),
        },
        (Family::V6, 2, _) => Some(u16::try_from(mtu).unwrap_or(u16::MAX)),
        _ => None,
    }
}

/// Where in an error the packet begins that was inside the tunnel, and whose it is, turned round:
/// from the VIP to the client. `None` where the quote does not tell, and where nobody must be told:
/// it may be fragmented, or is ICMP itself.
pub(super) fn inner(message: &[u8]) -> Option<(usize, Flow)> {
    let at = HEADER + tunnel_length(message.get(HEADER..)?)?;
    let packet = message.get(at..)?;
    let (flow, class) = quoted(packet)?;
    let may_be_told = match packet.first_chunk::<8>()? {
        // "Don't fragment", and no later fragment.
        [first, _, _, _, _, _, f0, f1] if first >> 4 == 4 => {
            f0 & 0x40 != 0 && u16::from_be_bytes([f0 & 0x1F, *f1]) == 0
        }
        _ => true,
    };
    (may_be_told && class != PacketClass::Icmp).then_some((at, flow))
}

/// Bytes of one of our outer headers, up to the inner packet.
fn tunnel_length(outer: &[u8]) -> Option<usize> {
    let (header, proto) = match *outer.first_chunk::<20>()? {
        [first, _, _, _, _, _, _, _, _, proto, ..] if first >> 4 == 4 => {
            (usize::from(first & 0x0F) * 4, proto)
        }
        [_, _, _, _, _, _, next, ..] => (40, next),
    };
    let shim = match (proto, outer.get(header..)?) {
        (IPV4 | IPV6, _) => 0,
        // A key is all that we put into a GRE header beyond its least.
        (GRE, [flags, ..]) => {
            if flags & 0x20 == 0 {
                4
            } else {
                8
            }
        }
        // Behind UDP: variant 1 is the packet itself, variant 0 a header before it.
        (UDP, [_, _, _, _, _, _, _, _, gue, ..]) if gue >> 6 == 0 => {
            12 + usize::from(gue & 0x1F) * 4
        }
        (UDP, _) => 8,
        _ => return None,
    };
    Some(header + shim)
}

/// The next smaller size than that of the packet that was too big.
fn plateau(message: &[u8]) -> Option<u16> {
    let [_, _, n0, n1] = *message.get(HEADER..)?.first_chunk()?;
    let length = u16::from_be_bytes([n0, n1]);
    PLATEAUS.into_iter().find(|size| *size < length)
}
