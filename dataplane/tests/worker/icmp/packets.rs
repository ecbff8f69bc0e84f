//! Frames, made by hand: nothing here is the code under test.

use tables::Family;

use crate::rig::{OURS, ROUTER, VIP, summed_up};

pub(crate) const CLIENT: [u8; 4] = [198, 51, 100, 7];
pub(crate) const CLIENT6: [u8; 16] = [0x20, 1, 0xD, 0xB8, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7];
pub(crate) const VIP6: [u8; 16] = [0x20, 1, 0xD, 0xB8, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10];
/// A router on the way, who knows nothing of connections.
pub(crate) const HOP: [u8; 4] = [192, 0, 2, 1];
pub(crate) const HOP6: [u8; 16] = [0x20, 1, 0xD, 0xB8, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];

pub(crate) const TCP: u8 = 6;
pub(crate) const UDP: u8 = 17;

/// The checksum as RFC 1071 words it, over pieces of even length but for the last.
pub(crate) fn checksum(pieces: &[&[u8]]) -> u16 {
    let bytes = pieces.concat();
    let pairs = bytes.chunks(2).map(|p| u64::from(p[0]) * 256 + u64::from(*p.get(1).unwrap_or(&0)));
    let mut sum: u64 = pairs.sum();
    while sum > 0xFFFF {
        sum = sum % 0x1_0000 + sum / 0x1_0000;
    }
    0xFFFF - sum as u16
}

/// In an Ethernet frame from the router to us; where the packet was bent, with the header checksum
/// that goes with it.
pub(crate) fn framed(packet: &[u8], vlan: u16) -> Vec<u8> {
    summed_up(ethernet(OURS.0, ROUTER.0, vlan, packet))
}

/// In the frame that comes back for it.
pub(crate) fn framed_back(packet: &[u8], vlan: u16) -> Vec<u8> {
    ethernet(ROUTER.0, OURS.0, vlan, packet)
}

fn ethernet(to: [u8; 6], from: [u8; 6], vlan: u16, packet: &[u8]) -> Vec<u8> {
    let mut frame = [to, from].concat();
    if vlan != 0 {
        frame.extend([0x81, 0, (vlan >> 8) as u8, vlan as u8]);
    }
    frame.extend(if packet[0] >> 4 == 4 { [0x08, 0x00] } else { [0x86, 0xDD] });
    frame.extend(packet);
    frame
}

/// An IPv4 packet with "don't fragment" and these options.
pub(crate) fn ipv4(
    from: [u8; 4],
    to: [u8; 4],
    proto: u8,
    options: &[u8],
    payload: &[u8],
) -> Vec<u8> {
    let header = 20 + options.len();
    let [n0, n1] = ((header + payload.len()) as u16).to_be_bytes();
    let mut packet =
        vec![0x40 | (header / 4) as u8, 0, n0, n1, 0x12, 0x34, 0x40, 0, 60, proto, 0, 0];
    packet.extend(from.iter().chain(&to).chain(options));
    let sum = checksum(&[&packet]).to_be_bytes();
    packet[10..12].copy_from_slice(&sum);
    packet.extend(payload);
    packet
}

/// An IPv6 packet whose first header, extension headers included, is `next`.
pub(crate) fn ipv6(from: [u8; 16], to: [u8; 16], next: u8, payload: &[u8]) -> Vec<u8> {
    let [n0, n1] = (payload.len() as u16).to_be_bytes();
    let mut packet = vec![0x60, 0, 0, 0, n0, n1, next, 60];
    packet.extend(from.iter().chain(&to).chain(payload));
    packet
}

/// The client's packet to port 80 of the VIP, of exactly this many bytes.
pub(crate) fn request(family: Family, proto: u8, length: usize) -> Vec<u8> {
    let header = if family == Family::V4 { 20 } else { 40 };
    let transport = transport(proto, 40000, 80, length - header);
    match family {
        Family::V4 => ipv4(CLIENT, VIP, proto, &[], &transport),
        Family::V6 => ipv6(CLIENT6, VIP6, proto, &transport),
    }
}

/// A TCP segment without SYN, or a UDP datagram, of this many bytes.
pub(crate) fn transport(proto: u8, sport: u16, dport: u16, length: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> =
        (0..length.max(20) as u32).map(|i| (i.wrapping_mul(0x9E37_79B1) >> 20) as u8).collect();
    bytes[..2].copy_from_slice(&sport.to_be_bytes());
    bytes[2..4].copy_from_slice(&dport.to_be_bytes());
    match proto {
        TCP => (bytes[12], bytes[13]) = (0x50, 0x10),
        _ => bytes[4..6].copy_from_slice(&(length as u16).to_be_bytes()),
    }
    bytes.truncate(length);
    bytes
}

/// An ICMP or ICMPv6 message whose checksum is right; `rest` begins behind the checksum.
pub(crate) fn message(kind: u8, code: u8, rest: &[u8], pseudo: &[u8]) -> Vec<u8> {
    let mut message = [&[kind, code, 0, 0], rest].concat();
    let sum = checksum(&[pseudo, &message]).to_be_bytes();
    message[2..4].copy_from_slice(&sum);
    message
}

/// An ICMP packet.
pub(crate) fn icmp4(from: [u8; 4], to: [u8; 4], kind: u8, code: u8, rest: &[u8]) -> Vec<u8> {
    ipv4(from, to, 1, &[], &message(kind, code, rest, &[]))
}

/// An ICMPv6 packet.
pub(crate) fn icmp6(from: [u8; 16], to: [u8; 16], kind: u8, code: u8, rest: &[u8]) -> Vec<u8> {
    let pseudo = pseudo(from, to, rest.len() + 4);
    ipv6(from, to, 58, &message(kind, code, rest, &pseudo))
}

pub(crate) fn pseudo(from: [u8; 16], to: [u8; 16], length: usize) -> Vec<u8> {
    [&from[..], &to, &(length as u32).to_be_bytes(), &[0, 0, 0, 58]].concat()
}
