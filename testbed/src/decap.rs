//! Takes the outer header off: IPIP (protocols 4 and 41) and GRE (RFC 2784, RFC 2890).
//!
//! The kernel's raw sockets already give what is behind an outer IPv6 header, and with the header
//! behind an outer IPv4 one ([`behind_ipv4`]).

/// The IP protocols that the helper listens to.
pub const PROTOCOLS: [u8; 3] = [IPV4, IPV6, GRE];

const IPV4: u8 = 4;
const IPV6: u8 = 41;
const GRE: u8 = 47;

const GRE_CHECKSUM: u16 = 0x8000;
const GRE_KEY: u16 = 0x2000;
const GRE_SEQUENCE: u16 = 0x1000;

/// Why a packet is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// It ends before its headers do.
    #[error("cut")]
    Cut,
    /// GRE with routing, another version, or another payload than IP.
    #[error("a GRE header that is not IP over GRE")]
    ForeignGre,
    /// The inner packet's version is not what the outer header says.
    #[error("an inner version that contradicts the outer header")]
    WrongVersion,
}

/// What is behind an IPv4 header, options included.
pub fn behind_ipv4(packet: &[u8]) -> Result<&[u8], Fault> {
    let words = packet.first().ok_or(Fault::Cut)? & 0x0f;
    packet.get(usize::from(words) * 4..).ok_or(Fault::Cut)
}

/// The inner packet of an outer packet's payload.
pub fn inner(protocol: u8, payload: &[u8]) -> Result<&[u8], Fault> {
    let (protocol, packet) = match protocol {
        GRE => behind_gre(payload)?,
        _ => (protocol, payload),
    };
    let version = packet.first().ok_or(Fault::Cut)? >> 4;
    match (protocol, version) {
        (IPV4, 4) | (IPV6, 6) => Ok(packet),
        _ => Err(Fault::WrongVersion),
    }
}

fn behind_gre(payload: &[u8]) -> Result<(u8, &[u8]), Fault> {
    let [f0, f1, p0, p1, ..] = *payload else { return Err(Fault::Cut) };
    let flags = u16::from_be_bytes([f0, f1]);
    let optional = [GRE_CHECKSUM, GRE_KEY, GRE_SEQUENCE];
    if flags & !(GRE_CHECKSUM | GRE_KEY | GRE_SEQUENCE) != 0 {
        return Err(Fault::ForeignGre);
    }
    let protocol = match u16::from_be_bytes([p0, p1]) {
        0x0800 => IPV4,
        0x86dd => IPV6,
        _ => return Err(Fault::ForeignGre),
    };
    let length = 4 + 4 * optional.iter().filter(|&&bit| flags & bit != 0).count();
    Ok((protocol, payload.get(length..).ok_or(Fault::Cut)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const V4: [u8; 2] = [0x45, 0xaa];
    const V6: [u8; 2] = [0x60, 0xbb];

    #[test]
    fn the_outer_header_comes_off_and_nothing_else() {
        let with = |header: &[u8], packet: [u8; 2]| [header, &packet].concat();
        let key = [0x20, 0, 0x86, 0xdd, 0, 0, 0, 7];
        let all = [0xb0, 0, 0x08, 0, 1, 1, 0, 0, 0, 0, 0, 7, 0, 0, 0, 9];
        let cases = [
            ("4 in IP", 4, V4.to_vec(), V4),
            ("6 in IP", 41, V6.to_vec(), V6),
            ("4 in GRE", 47, with(&[0, 0, 0x08, 0], V4), V4),
            ("6 in GRE with a key", 47, with(&key, V6), V6),
            ("4 in GRE with checksum, key and sequence", 47, with(&all, V4), V4),
        ];
        for (name, protocol, payload, expected) in cases {
            assert_eq!(inner(protocol, &payload), Ok(expected.as_slice()), "{name}");
        }
    }

    #[test]
    fn what_is_not_ip_in_ip_or_gre_is_refused_by_name() {
        let cases: [(&str, u8, &[u8], Fault); 7] = [
            ("empty", 4, &[], Fault::Cut),
            ("6 where 4 is said", 4, &V6, Fault::WrongVersion),
            ("4 where 6 is said", 41, &V4, Fault::WrongVersion),
            ("GRE, cut", 47, &[0, 0, 8], Fault::Cut),
            ("GRE, cut in its key", 47, &[0x20, 0, 8, 0, 0, 0], Fault::Cut),
            ("GRE version 1", 47, &[0, 1, 8, 0, 0x45], Fault::ForeignGre),
            ("Ethernet over GRE", 47, &[0, 0, 0x65, 0x58, 0x45], Fault::ForeignGre),
        ];
        for (name, protocol, payload, fault) in cases {
            assert_eq!(inner(protocol, payload), Err(fault), "{name}");
        }
    }

    #[test]
    fn options_of_an_outer_ipv4_header_are_skipped() {
        let packet: Vec<u8> = std::iter::once(0x46).chain(1..=24).collect();
        assert_eq!(behind_ipv4(&packet), Ok(&packet[24..]));
        assert_eq!(behind_ipv4(&packet[..20]), Err(Fault::Cut));
    }
}
