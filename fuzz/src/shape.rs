//! Bytes → frames that get further than noise does.

const OURS: [u8; 6] = crate::appliance::OURS.0;
const ROUTER: [u8; 6] = crate::appliance::ROUTER.0;

/// How many senders [`icmp`] knows.
pub const SOURCES: usize = 4;

/// Bits 0 and 1 say what the bytes are: a frame, an IPv4 packet, an IPv6 packet, or an Ethernet
/// payload of IPv4. Packets are given the version, the length, the checksum and (by bit 2) the VIP
/// that get them past the first checks.
pub fn frame(control: u8, bytes: &[u8]) -> Vec<u8> {
    let last = 10 + (control >> 2 & 1);
    match control & 3 {
        0 => bytes.to_vec(),
        1 => ethernet(false, &summed_up(ipv4(bytes, last))),
        2 => ethernet(true, &ipv6(bytes, last)),
        _ => ethernet(false, bytes),
    }
}

/// An IPv4 packet with the checksum that goes with its header, if that is all there.
pub fn summed_up(mut packet: Vec<u8>) -> Vec<u8> {
    let words = packet.first().filter(|first| **first >> 4 == 4).map_or(0, |first| first & 0x0F);
    let Some(header) = packet.get_mut(..usize::from(words) * 4) else { return packet };
    if header.len() >= 20 {
        header[10..12].fill(0);
        let pairs = header.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]));
        let sum: u32 = pairs.sum();
        let folded = (sum & 0xFFFF) + (sum >> 16);
        let checksum = !((folded & 0xFFFF) + (folded >> 16)) as u16;
        header[10..12].copy_from_slice(&checksum.to_be_bytes());
    }
    packet
}

fn ethernet(v6: bool, packet: &[u8]) -> Vec<u8> {
    let kind: [u8; 2] = if v6 { [0x86, 0xDD] } else { [0x08, 0x00] };
    [&OURS[..], &ROUTER, &kind, packet].concat()
}

fn ipv4(bytes: &[u8], last: u8) -> Vec<u8> {
    let mut packet = bytes.to_vec();
    packet.resize(packet.len().clamp(20, 0xFFFF), 0);
    let length = packet.len() as u16;
    packet[0] = 0x40 | (packet[0] & 0x0F).max(5);
    packet[2..4].copy_from_slice(&length.to_be_bytes());
    packet[16..20].copy_from_slice(&[203, 0, 113, last]);
    packet
}

fn ipv6(bytes: &[u8], last: u8) -> Vec<u8> {
    let mut packet = bytes.to_vec();
    packet.resize(packet.len().clamp(41, 0xFFFF), 0);
    let length = packet.len() as u16 - 40;
    packet[0] = 0x60 | packet[0] & 0x0F;
    packet[4..6].copy_from_slice(&length.to_be_bytes());
    packet[24..40].copy_from_slice(&vip6(last));
    packet
}

fn vip6(last: u8) -> [u8; 16] {
    [0x20, 1, 0x0D, 0xB8, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, last]
}

fn client6(last: u8) -> [u8; 16] {
    [0x20, 1, 0x0D, 0xB8, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, last]
}

/// A packet as an error quotes it: from a VIP or, by `control`, from one of our tunnels; the rest
/// of its header is what the bytes say.
pub fn quoted(v6: bool, control: u8, bytes: &[u8]) -> Vec<u8> {
    let mut packet = bytes.to_vec();
    let ours: &[u8] = if v6 { &[0x20, 1, 0x0D, 0xB8, 0, 0x0A] } else { &[10, 0, 0, 2] };
    let vip: &[u8] = if v6 { &vip6(10) } else { &[203, 0, 113, 10] };
    let from = if control & 1 != 0 { ours } else { vip };
    let at = if v6 { 8 } else { 12 };
    if let Some(place) = packet.get_mut(at..at + from.len()) {
        place.copy_from_slice(from);
        packet[0] = if v6 { 0x60 } else { 0x40 | (packet[0] & 0x0F).max(5) };
    }
    packet
}

/// An ICMP message to a VIP, or to the source of our tunnels.
pub fn icmp(v6: bool, message: &[u8], who: usize) -> Vec<u8> {
    let to_tunnel = who & 1 != 0;
    let mut packet = if v6 {
        ipv6(&[&[0; 40], message].concat(), 10)
    } else {
        ipv4(&[&[0; 20], message].concat(), 10)
    };
    if v6 {
        packet[6..8].copy_from_slice(&[58, 60]);
        packet[8..24].copy_from_slice(&client6(who as u8));
        if to_tunnel {
            packet[24..40].copy_from_slice(&crate::appliance::SOURCE6);
        }
    } else {
        packet[8..10].copy_from_slice(&[60, 1]);
        packet[12..16].copy_from_slice(&[198, 51, 100, who as u8]);
        if to_tunnel {
            packet[16..20].copy_from_slice(&crate::appliance::SOURCE4);
        }
        packet = summed_up(packet);
    }
    ethernet(v6, &packet)
}

/// A fragment: bits of `datagram` say its family, protocol and identification, `place` its offset
/// and whether more follow. An IPv6 one may have options behind its fragment header.
pub fn fragment(datagram: u8, place: u8) -> Vec<u8> {
    let (v6, udp, id) = (datagram & 1 != 0, datagram & 2 != 0, datagram >> 2);
    let (offset, more) = (u16::from(place & 7) * 8, place & 8 != 0);
    let proto = if udp { 17 } else { 6 };
    let mut body = vec![id; 8 * (1 + usize::from(place >> 4))];
    let options = v6 && id & 1 != 0;
    if offset == 0 {
        let start = if options { &[proto, 0, 1, 4, 0, 0, 0, 0][..] } else { &[] };
        let ports = [0x9C, id, 0, 80, 0, 40, 0, 0, 0, 0, 0, 0, 0x50, 0x10];
        body = [start, &ports, &body].concat();
    }
    if v6 {
        let next = if options { 60 } else { proto };
        let [high, low] = (offset | u16::from(more)).to_be_bytes();
        let header = [&[0; 40][..], &[next, 0, high, low, 0, 0, 0, id], &body].concat();
        let mut packet = ipv6(&header, 10 + (id & 1));
        packet[6..8].copy_from_slice(&[44, 60]);
        packet[8..24].copy_from_slice(&client6(7));
        ethernet(true, &packet)
    } else {
        let mut packet = ipv4(&[&[0; 20][..], &body].concat(), 10 + (id & 1));
        let [high, low] = (offset / 8 + if more { 0x2000 } else { 0 }).to_be_bytes();
        packet[4..10].copy_from_slice(&[0, id, high, low, 60, proto]);
        packet[12..16].copy_from_slice(&[198, 51, 100, 7]);
        ethernet(false, &summed_up(packet))
    }
}
