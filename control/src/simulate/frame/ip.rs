//! The IP header.

use super::super::scenario::Tuple;
use super::checksum::checksum;
use super::octets;

/// Which part of which datagram.
#[derive(Clone, Copy)]
pub(super) struct Position {
    pub(super) id: u32,
    /// In units of 8 bytes.
    pub(super) offset: u16,
    pub(super) more: bool,
}

const TTL: u8 = 64;
const FRAGMENT_HEADER: u8 = 44;

/// The packet: header and payload.
pub(super) fn packet(tuple: &Tuple, payload: &[u8], position: Option<Position>) -> Vec<u8> {
    if tuple.src.is_ipv4() { v4(tuple, payload, position) } else { v6(tuple, payload, position) }
}

fn v4(tuple: &Tuple, payload: &[u8], position: Option<Position>) -> Vec<u8> {
    let (id, flags) = match position {
        None => (0, 0x4000),
        Some(p) => (p.id as u16, u16::from(p.more) << 13 | p.offset),
    };
    let mut packet = vec![0x45, 0];
    packet.extend_from_slice(&((20 + payload.len()) as u16).to_be_bytes());
    packet.extend_from_slice(&id.to_be_bytes());
    packet.extend_from_slice(&flags.to_be_bytes());
    packet.extend_from_slice(&[TTL, tuple.protocol, 0, 0]);
    packet.extend_from_slice(&octets(tuple.src));
    packet.extend_from_slice(&octets(tuple.dst));
    let sum = checksum(&[&packet]);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet.extend_from_slice(payload);
    packet
}

fn v6(tuple: &Tuple, payload: &[u8], position: Option<Position>) -> Vec<u8> {
    let fragment = position.map_or_else(Vec::new, |p| fragment_header(tuple.protocol, p));
    let next = if fragment.is_empty() { tuple.protocol } else { FRAGMENT_HEADER };
    let mut packet = vec![0x60, 0, 0, 0];
    packet.extend_from_slice(&((fragment.len() + payload.len()) as u16).to_be_bytes());
    packet.extend_from_slice(&[next, TTL]);
    packet.extend_from_slice(&octets(tuple.src));
    packet.extend_from_slice(&octets(tuple.dst));
    packet.extend_from_slice(&fragment);
    packet.extend_from_slice(payload);
    packet
}

fn fragment_header(next: u8, position: Position) -> Vec<u8> {
    let mut header = vec![next, 0];
    header.extend_from_slice(&(position.offset << 3 | u16::from(position.more)).to_be_bytes());
    header.extend_from_slice(&position.id.to_be_bytes());
    header
}
