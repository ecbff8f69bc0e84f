//! Frames to start from, and small ways to bend them.

use std::sync::Arc;

use etherparse::{PacketBuilder, PacketBuilderStep, VlanId};
use tables::{Family, Mac, Port};

/// The port's own address.
pub(crate) const OURS: Mac = Mac([0x02, 0, 0, 0, 0, 0x0A]);
/// The router that sends us the clients' packets.
pub(crate) const ROUTER: Mac = Mac([0x02, 0, 0, 0, 0, 0x0B]);

pub(crate) const CLIENT4: [u8; 4] = [198, 51, 100, 7];
pub(crate) const VIP4: [u8; 4] = [203, 0, 113, 10];
pub(crate) const CLIENT6: [u8; 16] = [0x20, 1, 0xD, 0xB8, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7];
pub(crate) const VIP6: [u8; 16] = [0x20, 1, 0xD, 0xB8, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10];

pub(crate) fn port(vlan: u16) -> Port {
    Port {
        name: Arc::from("uplink"),
        mac: OURS,
        vlan,
        mtu: 1500,
        any_mac: false,
        addresses: Box::new([]),
        icmp_rate: 1000,
        answer_echo: true,
    }
}

/// A transport protocol that the builders know.
#[derive(Clone, Copy, Debug)]
pub(crate) enum L4 {
    Tcp,
    Udp,
    Icmp,
}

/// From port 40000 to port 80, or an echo request.
pub(crate) fn packet(family: Family, l4: L4, vlan: u16, payload: &[u8]) -> Vec<u8> {
    let link = PacketBuilder::ethernet2(ROUTER.0, OURS.0);
    if vlan == 0 {
        return match family {
            Family::V4 => finish(link.ipv4(CLIENT4, VIP4, 61), family, l4, payload),
            Family::V6 => finish(link.ipv6(CLIENT6, VIP6, 61), family, l4, payload),
        };
    }
    let link = link.single_vlan(VlanId::try_new(vlan).expect("12 bits"));
    match family {
        Family::V4 => finish(link.ipv4(CLIENT4, VIP4, 61), family, l4, payload),
        Family::V6 => finish(link.ipv6(CLIENT6, VIP6, 61), family, l4, payload),
    }
}

pub(crate) fn finish(
    ip: PacketBuilderStep<etherparse::IpHeaders>,
    family: Family,
    l4: L4,
    payload: &[u8],
) -> Vec<u8> {
    let mut bytes = Vec::new();
    match (l4, family) {
        (L4::Tcp, _) => ip.tcp(40000, 80, 7, 1024).ack(9).write(&mut bytes, payload),
        (L4::Udp, _) => ip.udp(40000, 80).write(&mut bytes, payload),
        (L4::Icmp, Family::V4) => ip.icmpv4_echo_request(5, 1).write(&mut bytes, payload),
        (L4::Icmp, Family::V6) => ip.icmpv6_echo_request(5, 1).write(&mut bytes, payload),
    }
    .expect("a vector takes every byte");
    bytes
}

/// An IPv6 frame with these extension headers (number, bytes behind "next header"), then `last`.
pub(crate) fn chain(headers: &[(u8, &[u8])], last: u8, payload: &[u8]) -> Vec<u8> {
    let first = headers.first().map_or(last, |(number, _)| *number);
    let mut body = Vec::new();
    for (i, (_, rest)) in headers.iter().enumerate() {
        body.push(headers.get(i + 1).map_or(last, |(number, _)| *number));
        body.extend_from_slice(rest);
    }
    body.extend_from_slice(payload);
    let mut frame = packet(Family::V6, L4::Udp, 0, &[]);
    frame.truncate(54);
    frame[18..20].copy_from_slice(&(body.len() as u16).to_be_bytes());
    frame[20] = first;
    frame.extend(body);
    frame
}

/// The frame with other bytes at some offsets, and the IPv4 header checksum that goes with them,
/// unless it is one of them.
pub(crate) fn with(mut frame: Vec<u8>, changes: &[(usize, u8)]) -> Vec<u8> {
    for (at, byte) in changes {
        frame[*at] = *byte;
    }
    let l3 = if frame.get(12) == Some(&0x81) { 18 } else { 14 };
    let own = l3 + 10..l3 + 12;
    if !changes.iter().any(|(at, _)| own.contains(at)) {
        sum_up(&mut frame, l3);
    }
    frame
}

/// Gives an IPv4 header that is all there its checksum.
fn sum_up(frame: &mut [u8], l3: usize) {
    let Some(first) = frame.get(l3).filter(|first| **first >> 4 == 4) else { return };
    let Some(header) = frame.get_mut(l3..l3 + usize::from(first & 0x0F) * 4) else { return };
    if let Some(at) = header.get_mut(10..12) {
        at.fill(0);
        let sum = checksum(header).to_be_bytes();
        header[10..12].copy_from_slice(&sum);
    }
}

/// The frame's first `len` bytes.
pub(crate) fn cut(mut frame: Vec<u8>, len: usize) -> Vec<u8> {
    frame.truncate(len);
    frame
}

/// The frame with `len` bytes of padding.
pub(crate) fn padded(mut frame: Vec<u8>, len: usize) -> Vec<u8> {
    frame.extend(std::iter::repeat_n(0xEE, len));
    frame
}

/// The Internet checksum as RFC 1071 words it: add, fold until nothing is left over, complement.
pub(crate) fn checksum(bytes: &[u8]) -> u16 {
    let mut sum: u64 = bytes
        .chunks(2)
        .map(|pair| u64::from(pair[0]) * 256 + u64::from(*pair.get(1).unwrap_or(&0)))
        .sum();
    while sum > 0xFFFF {
        sum = sum % 0x1_0000 + sum / 0x1_0000;
    }
    0xFFFF - sum as u16
}
