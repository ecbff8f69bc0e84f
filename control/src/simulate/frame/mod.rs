//! A packet event → the frame that a worker receives: real bytes, checksums right.

mod checksum;
mod ip;
mod transport;

use std::net::IpAddr;

use tables::Mac;

use super::scenario::{FragmentPart, Packet};

/// Who sends the frames of a simulation.
const SENDER: Mac = Mac([0x02, 0, 0, 0, 0, 0x01]);

/// Bytes of transport header and payload in each fragment but the last: a multiple of 8 that
/// holds any of our headers.
const FRAGMENT_BYTES: usize = 64;

/// The frame of `packet` for a port with this address, tagged unless `vlan` is 0.
pub fn frame(packet: &Packet, to: Mac, vlan: u16) -> Vec<u8> {
    let mut frame = Vec::with_capacity(160);
    frame.extend_from_slice(&to.0);
    frame.extend_from_slice(&SENDER.0);
    if vlan != 0 {
        frame.extend_from_slice(&0x8100u16.to_be_bytes());
        frame.extend_from_slice(&vlan.to_be_bytes());
    }
    let v4 = packet.tuple.src.is_ipv4();
    frame.extend_from_slice(&if v4 { 0x0800u16 } else { 0x86DD }.to_be_bytes());
    frame.extend_from_slice(&ip::packet(&packet.tuple, &payload(packet), position(packet)));
    frame
}

/// The bytes behind the IP header.
fn payload(packet: &Packet) -> Vec<u8> {
    match packet.fragment {
        None => transport::whole(packet),
        Some((FragmentPart::First, _)) => {
            let mut first = transport::of_datagram(packet, 3 * FRAGMENT_BYTES);
            first.truncate(FRAGMENT_BYTES);
            first
        }
        Some((FragmentPart::Middle | FragmentPart::Last, _)) => vec![0; FRAGMENT_BYTES],
    }
}

fn position(packet: &Packet) -> Option<ip::Position> {
    let (part, id) = packet.fragment?;
    let (nth, more) = match part {
        FragmentPart::First => (0, true),
        FragmentPart::Middle => (1, true),
        FragmentPart::Last => (2, false),
    };
    Some(ip::Position { id, offset: (nth * FRAGMENT_BYTES / 8) as u16, more })
}

/// An address' bytes.
fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(a) => a.octets().to_vec(),
        IpAddr::V6(a) => a.octets().to_vec(),
    }
}

#[cfg(test)]
mod tests;
