//! Without a tunnel: L2 changes the Ethernet header only, L3DSR also destination, DSCP and the
//! checksums that cover them. What is expected is the packet built anew for the backend.

use etherparse::{IpFragOffset, IpNumber, Ipv4Header, PacketBuilder};
use tables::template::{TemplateSpec, Tunnel};
use tables::{Family, Outcome};

use super::outer::{BACKEND4, BACKEND6, ID, NEXT_HOP, apply, ethernet, sent, spec};
use crate::frames::*;
use dataplane::io::mem::MemFrame;

const DSCP: u8 = 0x2A;
const L3DSR: Tunnel = Tunnel::L3dsr { dscp: DSCP };

#[test]
fn l2_only_changes_the_ethernet_header() {
    for family in [Family::V4, Family::V6] {
        for l4 in [L4::Tcp, L4::Udp, L4::Icmp] {
            for (vlan_in, l3) in [(0, 14), (7, 18)] {
                for vlan in [0, 9] {
                    let spec = TemplateSpec { vlan, ..spec(family, family, Tunnel::L2) };
                    let frame = packet(family, l4, vlan_in, b"the quick brown fox");
                    let expected = [ethernet(&spec), frame[l3..].to_vec()].concat();
                    assert_eq!(sent(&padded(frame, 7), vlan_in, &spec), expected, "{l4:?}");
                }
            }
        }
    }
}

/// The packet as its client would have sent it to the backend, marked with the code.
fn to_backend(family: Family, l4: L4, ecn: u8, payload: &[u8]) -> Vec<u8> {
    let link = PacketBuilder::ethernet2(OURS.0, NEXT_HOP.0);
    let frame = match family {
        Family::V4 => finish(link.ipv4(CLIENT4, BACKEND4, 61), family, l4, payload),
        Family::V6 => finish(link.ipv6(CLIENT6, BACKEND6, 61), family, l4, payload),
    };
    marked(frame, family, DSCP << 2 | ecn)
}

/// With another TOS, and the header checksum that goes with it.
fn marked(frame: Vec<u8>, family: Family, tos: u8) -> Vec<u8> {
    match family {
        Family::V6 => with(frame, &[(14, 0x60 | tos >> 4), (15, tos << 4)]),
        Family::V4 => {
            let frame = with(frame, &[(15, tos), (24, 0), (25, 0)]);
            let [high, low] = checksum(&frame[14..34]).to_be_bytes();
            with(frame, &[(24, high), (25, low)])
        }
    }
}

#[test]
fn l3dsr_sends_the_packet_that_was_never_for_the_vip() {
    for family in [Family::V4, Family::V6] {
        let spec = spec(family, family, L3DSR);
        for l4 in [L4::Tcp, L4::Udp, L4::Icmp] {
            for ecn in 0..4 {
                for payload in [&b""[..], b"x", b"the quick brown fox"] {
                    let frame = marked(packet(family, l4, 0, payload), family, 46 << 2 | ecn);
                    let expected = to_backend(family, l4, ecn, payload);
                    assert_eq!(sent(&frame, 0, &spec), expected, "{family:?} {l4:?} {ecn}");
                }
            }
        }
    }
}

/// Where the checksum of a transport header stands in a frame.
fn checksum_at(family: Family, l4: L4) -> usize {
    let transport = if family == Family::V4 { 34 } else { 54 };
    transport + if matches!(l4, L4::Tcp) { 16 } else { 6 }
}

#[test]
fn l3dsr_keeps_checksums_right_at_the_edges() {
    for family in [Family::V4, Family::V6] {
        for word in 0..=u16::MAX {
            let payload = word.to_be_bytes();
            let spec = spec(family, family, L3DSR);
            let frame = packet(family, L4::Udp, 0, &payload);
            let out = sent(&frame, 0, &spec);
            assert_eq!(out, to_backend(family, L4::Udp, 0, &payload), "{family:?} {word:#06x}");
        }
    }
}

#[test]
fn l3dsr_leaves_a_udp_checksum_of_zero() {
    for family in [Family::V4, Family::V6] {
        let at = checksum_at(family, L4::Udp);
        let none = [(at, 0), (at + 1, 0)];
        let frame = with(packet(family, L4::Udp, 0, b"data"), &none);
        let expected = with(to_backend(family, L4::Udp, 0, b"data"), &none);
        assert_eq!(sent(&frame, 0, &spec(family, family, L3DSR)), expected);
    }
}

#[test]
fn l3dsr_does_not_repair_a_checksum() {
    for family in [Family::V4, Family::V6] {
        let at = checksum_at(family, L4::Tcp);
        let frame = packet(family, L4::Tcp, 0, b"data");
        let high = frame[at] ^ 0x40;
        let out = sent(&with(frame, &[(at, high)]), 0, &spec(family, family, L3DSR));
        let right = to_backend(family, L4::Tcp, 0, b"data");
        assert_eq!(out[..at], right[..at]);
        assert_ne!(out[at..at + 2], right[at..at + 2]);
    }
}

/// A fragment of a UDP datagram, to some address.
fn fragment(to: [u8; 4], units: u16, more: bool, payload: &[u8]) -> Vec<u8> {
    let mut ip =
        Ipv4Header::new(payload.len() as u16, 61, IpNumber::UDP, CLIENT4, to).expect("it fits");
    ip.dont_fragment = false;
    ip.identification = 0x1234;
    ip.more_fragments = more;
    ip.fragment_offset = IpFragOffset::try_new(units).expect("13 bits");
    ip.header_checksum = ip.calc_header_checksum();
    let (link, hop) = if to == VIP4 { (OURS, ROUTER) } else { (NEXT_HOP, OURS) };
    let mut frame = [&link.0[..], &hop.0, &[0x08, 0x00]].concat();
    ip.write(&mut frame).expect("written");
    frame.extend(payload);
    frame
}

#[test]
fn l3dsr_looks_for_a_checksum_in_first_fragments_only() {
    let spec = spec(Family::V4, Family::V4, L3DSR);
    // A datagram of 64 bytes whose checksum covers both fragments.
    let whole = packet(Family::V4, L4::Udp, 0, &[0x5A; 56])[34..].to_vec();
    let turned = to_backend(Family::V4, L4::Udp, 0, &[0x5A; 56])[34..].to_vec();
    for (units, more, from, to) in [(0, true, 0, 32), (4, false, 32, 64)] {
        let arrives = fragment(VIP4, units, more, &whole[from..to]);
        let leaves = fragment(BACKEND4, units, more, &turned[from..to]);
        let leaves = marked(leaves, Family::V4, DSCP << 2);
        assert_eq!(sent(&arrives, 0, &spec), leaves, "offset {units}");
    }
}

#[test]
fn other_protocols_only_change_in_their_ip_header() {
    for (number, from) in [(50, 34), (47, 34), (132, 34), (58, 34)] {
        let frame =
            marked(with(packet(Family::V4, L4::Udp, 0, &[7; 40]), &[(23, number)]), Family::V4, 0);
        let out = sent(&frame, 0, &spec(Family::V4, Family::V4, L3DSR));
        assert_eq!(out[from..], frame[from..], "protocol {number}");
        assert_eq!(checksum(&out[14..34]), 0);
    }
}

#[test]
fn without_a_tunnel_the_mtu_is_the_packets() {
    for tunnel in [Tunnel::L2, L3DSR] {
        let spec = TemplateSpec { mtu: 60, ..spec(Family::V4, Family::V4, tunnel) };
        let frame = |len: usize| packet(Family::V4, L4::Udp, 0, &vec![0; len - 28]);
        assert_eq!(sent(&frame(60), 0, &spec).len(), 74);
        assert_eq!(apply(&mut MemFrame::new(&frame(61)), 0, &spec, ID), Err(Outcome::TooBig));
    }
}

/// "Too big" from a router about a segment that the VIP sent, to some address.
fn error(family: Family, to_backend: bool) -> Vec<u8> {
    let mut quote = Vec::new();
    let from = PacketBuilder::ethernet2(OURS.0, ROUTER.0);
    let from = if family == Family::V4 {
        from.ipv4(VIP4, CLIENT4, 9)
    } else {
        from.ipv6(VIP6, CLIENT6, 9)
    };
    from.tcp(80, 40000, 1, 2).write(&mut quote, &[0x5A; 20]).expect("written");
    let (hop, ours) = if to_backend { (OURS, NEXT_HOP) } else { (ROUTER, OURS) };
    let link = PacketBuilder::ethernet2(hop.0, ours.0);
    let mut frame = Vec::new();
    let mtu = [0, 0, 5, 0];
    let quote = &quote[14..];
    match family {
        Family::V4 => {
            let to = if to_backend { BACKEND4 } else { VIP4 };
            let icmp = link.ipv4([192, 0, 2, 1], to, 61).icmpv4_raw(3, 4, mtu);
            icmp.write(&mut frame, quote).expect("written");
        }
        Family::V6 => {
            let to = if to_backend { BACKEND6 } else { VIP6 };
            let icmp = link.ipv6([0x20; 16], to, 61).icmpv6_raw(2, 0, mtu);
            icmp.write(&mut frame, quote).expect("written");
        }
    }
    marked(frame, family, if to_backend { DSCP << 2 } else { 0 })
}

#[test]
fn an_error_about_a_connection_has_its_own_protocols_checksum() {
    for family in [Family::V4, Family::V6] {
        let frame = error(family, false);
        assert!(dataplane::parse::frame(&frame, &port(0)).expect("reads").quotes());
        assert_eq!(sent(&frame, 0, &spec(family, family, L3DSR)), error(family, true));
    }
}
