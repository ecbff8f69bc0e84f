//! Lengths: padding, options, the exact fit and one byte more, buffers without room.

use dataplane::io::mem::MemFrame;
use tables::template::{GueVariant, TemplateSpec, Tunnel};
use tables::{Family, Outcome};

use super::outer::{ID, apply, expected, sent, spec};
use crate::frames::{L4, packet, padded, with};

const TUNNELS: [(Tunnel, usize); 5] = [
    (Tunnel::Ipip, 0),
    (Tunnel::Gre { key: None }, 4),
    (Tunnel::Gre { key: Some(1) }, 8),
    (Tunnel::Gue { port: 6080, variant: GueVariant::Zero }, 12),
    (Tunnel::Gue { port: 6080, variant: GueVariant::One }, 8),
];
const FAMILIES: [(Family, usize); 2] = [(Family::V4, 20), (Family::V6, 40)];

#[test]
fn padding_is_not_carried_into_the_tunnel() {
    let ipip = spec(Family::V4, Family::V4, Tunnel::Ipip);
    for frame in [packet(Family::V4, L4::Udp, 0, b"x"), packet(Family::V4, L4::Tcp, 0, b"")] {
        let to_60 = padded(frame.clone(), 60 - frame.len());
        assert_eq!(sent(&to_60, 0, &ipip), expected(&ipip, &frame[14..], 0, ID));
        let trailer = padded(frame.clone(), 400);
        assert_eq!(sent(&trailer, 0, &ipip), expected(&ipip, &frame[14..], 0, ID));
    }
    let mixed = spec(Family::V6, Family::V4, Tunnel::Ipip);
    let frame = packet(Family::V6, L4::Udp, 7, b"");
    assert_eq!(sent(&padded(frame.clone(), 9), 7, &mixed), expected(&mixed, &frame[18..], 0, ID));
}

#[test]
fn options_stay_in_the_inner_header() {
    for words in 1..=10 {
        let mut frame = packet(Family::V4, L4::Tcp, 0, b"data");
        frame.splice(34..34, vec![1; words * 4]);
        let total = (frame.len() - 14) as u8;
        let frame = with(frame, &[(14, 0x45 + words as u8), (17, total)]);
        let spec = spec(Family::V4, Family::V6, Tunnel::Gre { key: None });
        assert_eq!(sent(&frame, 0, &spec), expected(&spec, &frame[14..], 0, ID), "{words}");
    }
}

/// A frame whose IP packet has exactly this many bytes.
fn sized(family: Family, vlan: u16, ip: usize) -> Vec<u8> {
    let empty = packet(family, L4::Udp, vlan, b"").len() - if vlan == 0 { 14 } else { 18 };
    packet(family, L4::Udp, vlan, &vec![0x5A; ip - empty])
}

#[test]
fn the_exact_fit_goes_and_one_byte_more_is_too_big() {
    for (tunnel, shim) in TUNNELS {
        for ((inner, _), (outer, header)) in FAMILIES.iter().flat_map(|i| FAMILIES.map(|o| (*i, o)))
        {
            for (vlan, mtu) in [(0, 1500), (7, 1500), (0, 9000), (7, 9000)] {
                let spec = TemplateSpec { mtu, vlan, ..spec(inner, outer, tunnel) };
                let fit = usize::from(mtu) - header - shim;
                let frame = sized(inner, vlan, fit);
                let l3 = frame.len() - fit;
                assert_eq!(sent(&frame, vlan, &spec), expected(&spec, &frame[l3..], 0, ID));
                fails(&sized(inner, vlan, fit + 1), 128, vlan, &spec, Outcome::TooBig);
            }
        }
    }
}

/// It ends so, and the frame is as it was.
fn fails(frame: &[u8], headroom: usize, vlan: u16, spec: &TemplateSpec, outcome: Outcome) {
    let mut out = MemFrame::with_headroom(frame, headroom);
    let before = out.clone();
    assert_eq!(apply(&mut out, vlan, spec, ID), Err(outcome));
    assert_eq!(out, before);
}

#[test]
fn an_unresolved_next_hop_or_no_headroom_leaves_the_frame_as_it_was() {
    let frame = padded(packet(Family::V4, L4::Udp, 0, b"x"), 17);
    for (outer, header) in FAMILIES {
        let spec = spec(Family::V4, outer, Tunnel::Ipip);
        let unresolved = TemplateSpec { next_hop: None, ..spec.clone() };
        fails(&frame, 128, 0, &unresolved, Outcome::NextHopUnresolved);
        fails(&frame, header - 1, 0, &spec, Outcome::NoHeadroom);
        let mut out = MemFrame::with_headroom(&frame, header);
        assert_eq!(apply(&mut out, 0, &spec, ID), Ok(()), "just enough headroom");
    }
}

#[test]
fn a_frame_too_big_for_an_unresolved_next_hop_is_too_big() {
    let spec =
        TemplateSpec { next_hop: None, mtu: 60, ..spec(Family::V4, Family::V4, Tunnel::Ipip) };
    fails(&sized(Family::V4, 0, 41), 128, 0, &spec, Outcome::TooBig);
}

#[test]
fn the_smallest_packet_goes_out() {
    let frame = with(packet(Family::V4, L4::Udp, 0, b""), &[(17, 20), (23, 253)]);
    let spec = spec(Family::V4, Family::V4, Tunnel::Ipip);
    assert_eq!(sent(&frame, 0, &spec), expected(&spec, &frame[14..34], 0, ID));
}
