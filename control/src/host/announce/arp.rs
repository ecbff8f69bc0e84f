//! ARP (RFC 826, RFC 5227).

use std::net::{IpAddr, Ipv4Addr};

use etherparse::{
    ArpEthIpv4Packet, ArpOperation, EtherType, LinkSlice, NetSlice, PacketBuilder, SlicedPacket,
};

use super::Said;

const BROADCAST: [u8; 6] = [0xFF; 6];

/// What an ARP frame says; `mac` would be in the answer.
pub(super) fn said(frame: &[u8], mac: [u8; 6]) -> Option<Said> {
    const ETHER_TYPE: [u8; 2] = EtherType::ARP.0.to_be_bytes();
    if frame.get(12..14)? != ETHER_TYPE {
        return None;
    }
    let packet = SlicedPacket::from_ethernet(frame).ok()?;
    let (Some(LinkSlice::Ethernet2(_)), Some(NetSlice::Arp(arp))) = (packet.link, packet.net)
    else {
        return None;
    };
    let arp: ArpEthIpv4Packet = arp.to_packet().try_eth_ipv4().ok()?;
    let (sender, target) = (arp.sender_ipv4_addr(), arp.target_ipv4_addr());
    // Who tells of himself asks nothing (RFC 5227, 2.3).
    if arp.operation == ArpOperation::REQUEST && sender != target {
        return Some(Said::Asks(target.into(), reply(&arp, mac)?));
    }
    Some(Said::Has(IpAddr::V4(sender), arp.sender_mac))
}

/// A probe has no sender's address (RFC 5227): the answer to it neither.
fn reply(request: &ArpEthIpv4Packet, mac: [u8; 6]) -> Option<Vec<u8>> {
    let reply = ArpEthIpv4Packet {
        operation: ArpOperation::REPLY,
        sender_mac: mac,
        sender_ipv4: request.target_ipv4,
        target_mac: request.sender_mac,
        target_ipv4: request.sender_ipv4,
    };
    write(mac, request.sender_mac, reply)
}

/// Tells everyone that `address` is at `mac`: an announcement, which is a request that nobody
/// answers (RFC 5227, 3).
pub fn gratuitous(mac: [u8; 6], address: Ipv4Addr) -> Option<Vec<u8>> {
    let announcement = ArpEthIpv4Packet {
        operation: ArpOperation::REQUEST,
        sender_mac: mac,
        sender_ipv4: address.octets(),
        target_mac: [0; 6],
        target_ipv4: address.octets(),
    };
    write(mac, BROADCAST, announcement)
}

fn write(from: [u8; 6], to: [u8; 6], arp: ArpEthIpv4Packet) -> Option<Vec<u8>> {
    let mut frame = Vec::new();
    PacketBuilder::ethernet2(from, to).arp(arp.into()).write(&mut frame).ok()?;
    Some(frame)
}
