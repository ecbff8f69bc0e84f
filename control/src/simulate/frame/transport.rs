//! What is behind the IP header.

use super::super::scenario::{Flags, Packet, Tuple};
use super::checksum::checksum;
use super::{ip, octets};

const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;
const GRE: u8 = 47;
const ICMPV6: u8 = 58;

/// Payload of a whole datagram, bytes.
const PAYLOAD: usize = 8;

/// Of the quoted packet an error carries its IP header and this much (RFC 792).
const QUOTED: usize = 8;

/// A whole datagram's transport header and payload.
pub(super) fn whole(packet: &Packet) -> Vec<u8> {
    build(packet, PAYLOAD)
}

/// The same, filled up to `length` bytes.
pub(super) fn of_datagram(packet: &Packet, length: usize) -> Vec<u8> {
    let header = build(packet, 0).len();
    build(packet, length.saturating_sub(header))
}

fn build(packet: &Packet, payload: usize) -> Vec<u8> {
    let tuple = &packet.tuple;
    match tuple.protocol {
        TCP => tcp(tuple, packet.flags, payload),
        UDP => udp(tuple, payload),
        ICMP | ICMPV6 => icmp(packet, payload),
        GRE => with_payload(vec![0, 0, 0x08, 0], payload),
        // ESP: security parameters index, sequence number; others: anything.
        _ => with_payload(vec![0, 0, 0, 1, 0, 0, 0, 1], payload),
    }
}

fn tcp(tuple: &Tuple, flags: Flags, payload: usize) -> Vec<u8> {
    let mut segment = ports(tuple);
    segment.extend_from_slice(&[0, 0, 0, 1, 0, 0, 0, 0, 0x50, flags.0, 0xFF, 0xFF, 0, 0, 0, 0]);
    checked(tuple, with_payload(segment, payload), 16)
}

fn udp(tuple: &Tuple, payload: usize) -> Vec<u8> {
    let mut datagram = ports(tuple);
    datagram.extend_from_slice(&((8 + payload) as u16).to_be_bytes());
    datagram.extend_from_slice(&[0, 0]);
    checked(tuple, with_payload(datagram, payload), 6)
}

/// An echo request, or "destination unreachable, no route to the host" about the quoted packet.
fn icmp(packet: &Packet, payload: usize) -> Vec<u8> {
    let tuple = &packet.tuple;
    let v4 = tuple.protocol == ICMP;
    let Some(quote) = &packet.quote else {
        let kind = if v4 { 8 } else { 128 };
        return checked(tuple, with_payload(vec![kind, 0, 0, 0, 0, 1, 0, 1], payload), 2);
    };
    let (kind, code) = if v4 { (3, 1) } else { (1, 0) };
    let mut message = vec![kind, code, 0, 0, 0, 0, 0, 0];
    message.extend_from_slice(&quoted(quote));
    checked(tuple, message, 2)
}

fn quoted(tuple: &Tuple) -> Vec<u8> {
    let packet =
        Packet { tuple: *tuple, flags: Flags::default(), fragment: None, quote: None, port: None };
    let whole = whole(&packet);
    let header = if tuple.src.is_ipv4() { 20 } else { 40 };
    let mut quoted = ip::packet(tuple, &whole, None);
    quoted.truncate(header + QUOTED);
    quoted
}

fn ports(tuple: &Tuple) -> Vec<u8> {
    [tuple.sport.to_be_bytes(), tuple.dport.to_be_bytes()].concat()
}

fn with_payload(mut header: Vec<u8>, payload: usize) -> Vec<u8> {
    header.resize(header.len() + payload, 0);
    header
}

/// Writes the checksum at `at`; only IPv4's ICMP has no pseudo-header.
fn checked(tuple: &Tuple, mut segment: Vec<u8>, at: usize) -> Vec<u8> {
    let pseudo = if tuple.protocol == ICMP { Vec::new() } else { pseudo_header(tuple, &segment) };
    let sum = match checksum(&[&pseudo, &segment]) {
        0 => 0xFFFF,
        sum => sum,
    };
    segment[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    segment
}

fn pseudo_header(tuple: &Tuple, segment: &[u8]) -> Vec<u8> {
    let mut pseudo = [octets(tuple.src), octets(tuple.dst)].concat();
    pseudo.extend_from_slice(&(segment.len() as u32).to_be_bytes());
    pseudo.extend_from_slice(&[0, 0, 0, tuple.protocol]);
    pseudo
}
