//! IP fragments, made by hand out of whole packets.

use std::net::IpAddr;

use etherparse::PacketBuilder;

use crate::rig::{OURS, ROUTER, summed_up};

/// Behind the Ethernet header.
const L3: usize = 14;

/// A TCP segment between these addresses from `sport` to port 80, or a UDP datagram.
pub(crate) fn whole(client: &str, vip: &str, sport: u16, udp: bool, payload: usize) -> Vec<u8> {
    let link = PacketBuilder::ethernet2(ROUTER.0, OURS.0);
    let ip = match (client.parse().expect("an address"), vip.parse().expect("an address")) {
        (IpAddr::V4(client), IpAddr::V4(vip)) => link.ipv4(client.octets(), vip.octets(), 60),
        (IpAddr::V6(client), IpAddr::V6(vip)) => link.ipv6(client.octets(), vip.octets(), 60),
        _ => panic!("two families"),
    };
    let payload: Vec<u8> = (0..payload).map(|i| i as u8).collect();
    let mut frame = Vec::new();
    if udp {
        ip.udp(sport, 80).write(&mut frame, &payload)
    } else {
        ip.tcp(sport, 80, 1, 1024).write(&mut frame, &payload)
    }
    .expect("a vector takes every byte");
    frame
}

/// The fragments of a frame's packet, in order, each with up to `size` bytes behind its headers
/// (a multiple of 8).
pub(crate) fn fragments(frame: &[u8], id: u32, size: usize) -> Vec<Vec<u8>> {
    let v6 = frame[L3] >> 4 == 6;
    let header = L3 + if v6 { 40 } else { 20 };
    let chunks: Vec<_> = frame[header..].chunks(size).collect();
    let piece = |(i, chunk): (usize, &&[u8])| {
        let more = i + 1 < chunks.len();
        if v6 {
            fragment6(&frame[..header], id, i * size, more, frame[20], chunk)
        } else {
            fragment4(&frame[..header], id as u16, i * size, more, chunk)
        }
    };
    chunks.iter().enumerate().map(piece).collect()
}

/// One IPv4 fragment behind these headers.
fn fragment4(headers: &[u8], id: u16, offset: usize, more: bool, data: &[u8]) -> Vec<u8> {
    let mut frame = [headers, data].concat();
    let flags = (offset / 8) as u16 | if more { 0x2000 } else { 0 };
    frame[16..18].copy_from_slice(&((20 + data.len()) as u16).to_be_bytes());
    frame[18..20].copy_from_slice(&id.to_be_bytes());
    frame[20..22].copy_from_slice(&flags.to_be_bytes());
    summed_up(frame)
}

/// One IPv6 fragment behind these headers, whose fragment header names `next`.
pub(crate) fn fragment6(
    headers: &[u8],
    id: u32,
    offset: usize,
    more: bool,
    next: u8,
    data: &[u8],
) -> Vec<u8> {
    let position = offset as u16 | u16::from(more);
    let fragment = [&[next, 0][..], &position.to_be_bytes(), &id.to_be_bytes()].concat();
    let mut frame = [headers, &fragment, data].concat();
    frame[18..20].copy_from_slice(&((8 + data.len()) as u16).to_be_bytes());
    frame[20] = 44;
    frame
}
