//! Neighbour discovery (RFC 4861).

use std::net::{IpAddr, Ipv6Addr};

use etherparse::icmpv6::{
    Icmpv6PayloadSlice, NdpOptionSlice, NeighborAdvertisementHeader,
    NeighborSolicitationPayloadSlice,
};
use etherparse::{
    EtherType, Icmpv6Slice, Icmpv6Type, LinkSlice, NetSlice, PacketBuilder, SlicedPacket,
    TransportSlice,
};

use super::Said;

const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 1);

/// Proof that a message comes from this link (RFC 4861, 7.1).
const HOP_LIMIT: u8 = 255;

/// Target link-layer address: the option's type and its length in eights of bytes.
const TARGET_LINK: [u8; 2] = [2, 1];

/// What a neighbour discovery message says; `mac` would be in the answer.
pub(super) fn said(frame: &[u8], mac: [u8; 6]) -> Option<Said> {
    const ETHER_TYPE: [u8; 2] = EtherType::IPV6.0.to_be_bytes();
    if frame.get(12..14)? != ETHER_TYPE {
        return None;
    }
    let packet = SlicedPacket::from_ethernet(frame).ok()?;
    let (Some(LinkSlice::Ethernet2(link)), Some(NetSlice::Ipv6(ip))) = (packet.link, packet.net)
    else {
        return None;
    };
    let Some(TransportSlice::Icmpv6(icmp)) = packet.transport else { return None };
    let header = ip.header();
    let (source, destination) = (header.source_addr(), header.destination_addr());
    let sound = header.hop_limit() == HOP_LIMIT
        && icmp.code_u8() == 0
        && icmp.is_checksum_valid(source.octets(), destination.octets());
    if !sound {
        return None;
    }
    message(&icmp, source, link.source(), mac)
}

fn message(icmp: &Icmpv6Slice<'_>, source: Ipv6Addr, from: [u8; 6], mac: [u8; 6]) -> Option<Said> {
    match icmp.payload_slice().ok()? {
        Icmpv6PayloadSlice::NeighborSolicitation(asked) => {
            let answer = answer(&asked, source, from, mac)?;
            Some(Said::Asks(IpAddr::V6(asked.target_address()), answer))
        }
        Icmpv6PayloadSlice::NeighborAdvertisement(told) => {
            Some(Said::Has(IpAddr::V6(told.target_address()), from))
        }
        _ => None,
    }
}

/// To who asks; or, where he asks because he would like to have the address, to everyone
/// (RFC 4861, 7.2.4).
fn answer(
    asked: &NeighborSolicitationPayloadSlice<'_>,
    source: Ipv6Addr,
    from: [u8; 6],
    mac: [u8; 6],
) -> Option<Vec<u8>> {
    let vip = asked.target_address();
    if source.is_unspecified() {
        return advertisement(mac, vip, group_mac(ALL_NODES), ALL_NODES, false);
    }
    let link = asked.options_iterator().flatten().find_map(|option| match option {
        NdpOptionSlice::SourceLinkLayerAddress(link) => link.link_layer_address().try_into().ok(),
        _ => None,
    });
    advertisement(mac, vip, link.unwrap_or(from), source, true)
}

/// Tells everyone that `vip` is at `mac` (RFC 4861, 7.2.6).
pub fn unsolicited(mac: [u8; 6], vip: Ipv6Addr) -> Option<Vec<u8>> {
    advertisement(mac, vip, group_mac(ALL_NODES), ALL_NODES, false)
}

fn advertisement(
    mac: [u8; 6],
    vip: Ipv6Addr,
    link: [u8; 6],
    to: Ipv6Addr,
    solicited: bool,
) -> Option<Vec<u8>> {
    let flags = NeighborAdvertisementHeader { router: false, solicited, r#override: true };
    let target = vip.octets();
    let body = [&target[..], &TARGET_LINK, &mac].concat();
    let mut frame = Vec::new();
    PacketBuilder::ethernet2(mac, link)
        .ipv6(target, to.octets(), HOP_LIMIT)
        .icmpv6(Icmpv6Type::NeighborAdvertisement(flags))
        .write(&mut frame, &body)
        .ok()?;
    Some(frame)
}

/// The group that questions for an address are sent to (RFC 4291, 2.7.1).
pub fn solicited_node(address: Ipv6Addr) -> Ipv6Addr {
    let [.., high, low] = address.segments();
    Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 1, 0xFF00 | high & 0xFF, low)
}

/// The Ethernet address of a group (RFC 2464, section 7).
fn group_mac(group: Ipv6Addr) -> [u8; 6] {
    let [.., a, b, c, d] = group.octets();
    [0x33, 0x33, a, b, c, d]
}
