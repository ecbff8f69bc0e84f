//! Errors about our own outer headers: addressed to a tunnel source, quoting what we sent from
//! there to a backend (S-7).

use tables::{Family, Flow, Tables};

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

/// The next smaller size than that of the packet that was too big.
fn plateau(message: &[u8]) -> Option<u16> {
    let [_, _, n0, n1] = *message.get(HEADER..)?.first_chunk()?;
    let length = u16::from_be_bytes([n0, n1]);
    PLATEAUS.into_iter().find(|size| *size < length)
}
