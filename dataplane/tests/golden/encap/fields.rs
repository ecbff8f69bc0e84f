//! DSCP, ECN and TTL of the outer header (N-1, RFC 6040).

use tables::Family;
use tables::template::{Dscp, GueVariant, TemplateSpec, Tunnel};

use super::outer::{ID, SPREAD4, SPREAD6, expected, sent, spec};
use crate::frames::{L4, checksum, packet, with};

/// An inner packet of DSCP 46 with one of the four ECN values.
fn marked(family: Family, ecn: u8) -> Vec<u8> {
    let frame = packet(family, L4::Tcp, 0, b"marked");
    let tos = 46 << 2 | ecn;
    match family {
        Family::V4 => with(frame, &[(15, tos)]),
        Family::V6 => with(frame, &[(14, 0x60 | tos >> 4), (15, tos << 4)]),
    }
}

#[test]
fn dscp_follows_the_policy_and_ecn_is_always_copied() {
    for (dscp, value) in [(Dscp::Copy, 46), (Dscp::Zero, 0), (Dscp::Fixed(10), 10)] {
        for (inner, outer) in [
            (Family::V4, Family::V4),
            (Family::V4, Family::V6),
            (Family::V6, Family::V4),
            (Family::V6, Family::V6),
        ] {
            for ecn in 0..4 {
                let spec = TemplateSpec { dscp, ..spec(inner, outer, Tunnel::Ipip) };
                let frame = marked(inner, ecn);
                let tos = value << 2 | ecn;
                assert_eq!(
                    sent(&frame, 0, &spec),
                    expected(&spec, &frame[14..], tos, ID),
                    "{dscp:?} {ecn} {inner:?} in {outer:?}"
                );
            }
        }
    }
}

#[test]
fn ttl_is_the_configured_one_whatever_the_inner_says() {
    for outer in [Family::V4, Family::V6] {
        for (inner_ttl, ttl) in [(0, 64), (1, 255), (255, 1)] {
            let spec = TemplateSpec { ttl, ..spec(Family::V4, outer, Tunnel::Ipip) };
            let frame = with(packet(Family::V4, L4::Tcp, 0, b"x"), &[(22, inner_ttl)]);
            assert_eq!(sent(&frame, 0, &spec), expected(&spec, &frame[14..], 0, ID));
        }
    }
}

/// The frame with "don't fragment" as said, and the header checksum that goes with it.
fn dont_fragment(frame: Vec<u8>, set: bool) -> Vec<u8> {
    let frame = with(frame, &[(20, if set { 0x40 } else { 0 }), (24, 0), (25, 0)]);
    let [high, low] = checksum(&frame[14..34]).to_be_bytes();
    with(frame, &[(24, high), (25, low)])
}

#[test]
fn outer_dont_fragment_is_clear_only_where_the_port_fragments_and_the_inner_may_be() {
    let spread = |outer| if outer == Family::V4 { SPREAD4 } else { SPREAD6 };
    for outer in [Family::V4, Family::V6] {
        for tunnel in [Tunnel::Ipip, Tunnel::Gue { port: 6080, variant: GueVariant::Zero }] {
            for (fragment_oversize, set) in [(true, true), (true, false), (false, false)] {
                for entropy in [None, spread(outer).parse().ok()] {
                    let spec = spec(Family::V4, outer, tunnel);
                    let spec = TemplateSpec { fragment_oversize, entropy, ..spec };
                    let frame = dont_fragment(packet(Family::V4, L4::Udp, 0, b"x"), set);
                    let out = sent(&frame, 0, &spec);
                    assert_eq!(out, expected(&spec, &frame[14..], 0, ID), "{spec:?}");
                    let flagged = outer == Family::V6 || out[20] & 0x40 != 0;
                    assert_eq!(flagged, outer == Family::V6 || set || !fragment_oversize);
                }
            }
        }
    }
}
