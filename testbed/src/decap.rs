//! Takes the outer header off: IPIP (protocols 4 and 41), GRE (RFC 2784, RFC 2890) and GUE
//! (draft-ietf-intarea-gue, variants 0 and 1).
//!
//! The kernel's raw sockets already give what is behind an outer IPv6 header, and with the header
//! behind an outer IPv4 one ([`behind_ipv4`]); its UDP sockets give what is behind the UDP header,
//! if the checksum is right.

/// The IP protocols that the helper listens to.
pub const PROTOCOLS: [u8; 4] = [IPV4, IPV6, GRE, UDP];

/// The UDP port of GUE.
pub const GUE_PORT: u16 = 6080;

/// The protocol of GUE, which has a UDP socket and no raw one.
pub const UDP: u8 = 17;

const IPV4: u8 = 4;
const IPV6: u8 = 41;
const GRE: u8 = 47;

/// The two bits of GUE's version, the one of a control message, and the header's length in words.
const GUE_VERSION: u8 = 0xc0;
const GUE_VERSION_1: u8 = 0x40;
const GUE_CONTROL: u8 = 0x20;
const GUE_LENGTH: u8 = 0x1f;

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
    /// GUE of another version, or a control message.
    #[error("a GUE header that is not IP over GUE")]
    ForeignGue,
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
        UDP => behind_gue(payload)?,
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

fn behind_gue(payload: &[u8]) -> Result<(u8, &[u8]), Fault> {
    let first = *payload.first().ok_or(Fault::Cut)?;
    match (first & GUE_VERSION, first >> 4) {
        (GUE_VERSION_1, 4) => return Ok((IPV4, payload)),
        (GUE_VERSION_1, 6) => return Ok((IPV6, payload)),
        (0, _) if first & GUE_CONTROL == 0 => {}
        _ => return Err(Fault::ForeignGue),
    }
    let protocol = *payload.get(1).ok_or(Fault::Cut)?;
    let length = 4 + 4 * usize::from(first & GUE_LENGTH);
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
            ("4 in GUE", 17, with(&[0, 4, 0, 0], V4), V4),
            ("6 in GUE with a field", 17, with(&[1, 41, 0, 0, 9, 9, 9, 9], V6), V6),
            ("4 in GUE variant 1", 17, V4.to_vec(), V4),
            ("6 in GUE variant 1", 17, V6.to_vec(), V6),
        ];
        for (name, protocol, payload, expected) in cases {
            assert_eq!(inner(protocol, &payload), Ok(expected.as_slice()), "{name}");
        }
    }

    #[test]
    fn what_is_not_ip_in_a_tunnel_is_refused_by_name() {
        let cases: [(&str, u8, &[u8], Fault); 12] = [
            ("empty", 4, &[], Fault::Cut),
            ("6 where 4 is said", 4, &V6, Fault::WrongVersion),
            ("4 where 6 is said", 41, &V4, Fault::WrongVersion),
            ("GRE, cut", 47, &[0, 0, 8], Fault::Cut),
            ("GRE, cut in its key", 47, &[0x20, 0, 8, 0, 0, 0], Fault::Cut),
            ("GRE version 1", 47, &[0, 1, 8, 0, 0x45], Fault::ForeignGre),
            ("GUE, empty", 17, &[], Fault::Cut),
            ("GUE, cut in its fields", 17, &[2, 4, 0, 0, 9, 9, 9, 9, 9], Fault::Cut),
            ("GUE, 6 where 4 is said", 17, &[0, 4, 0, 0, 0x60], Fault::WrongVersion),
            ("a control message", 17, &[0x20, 4, 0, 0, 0x45], Fault::ForeignGue),
            ("GUE version 2", 17, &[0x80, 4, 0, 0, 0x45], Fault::ForeignGue),
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
