//! DSCP, ECN and TTL of the outer header (N-1, RFC 6040).

use tables::Family;
use tables::template::{Dscp, TemplateSpec, Tunnel};

use super::outer::{ID, expected, sent, spec};
use crate::frames::{L4, packet, with};

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
