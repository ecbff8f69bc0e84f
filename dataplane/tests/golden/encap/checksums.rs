//! Checksums at the edges of the arithmetic (N-1, N-2).

use std::collections::BTreeSet;

use dataplane::io::Frame;
use dataplane::io::mem::MemFrame;
use tables::Family;
use tables::template::{GueVariant, TemplateSpec, Tunnel};

use super::outer::{ID, apply, expected, sent, spec};
use crate::frames::{L4, checksum, packet, with};

/// A backend whose header adds up to little, so that the sum carries late, and one where it
/// carries from the start, so that the carry itself carries.
const BACKENDS: [[u8; 4]; 2] = [[10, 1, 0, 11], [172, 31, 255, 254]];

#[test]
fn the_outer_checksum_is_right_for_every_identification() {
    let frame = packet(Family::V4, L4::Udp, 0, b"");
    for backend in BACKENDS {
        let spec = TemplateSpec {
            destination: backend.into(),
            ..spec(Family::V4, Family::V4, Tunnel::Ipip)
        };
        let seen: BTreeSet<_> =
            (0..=u16::MAX).map(|id| outer_checksum(&frame, &spec, id)).collect();
        let mut edges = (0xFFF8..=0xFFFE).chain([0]);
        assert!(edges.all(|edge| seen.contains(&edge)));
        assert!(!seen.contains(&0xFFFF), "the sum of a header is never zero");
    }
}

/// The checksum, once it is seen to be right.
fn outer_checksum(frame: &[u8], spec: &TemplateSpec, id: u16) -> u16 {
    let mut out = MemFrame::new(frame);
    apply(&mut out, 0, spec, id).expect("goes out");
    let header = &out.bytes()[14..34];
    assert_eq!(checksum(header), 0, "{id:#06x} to {}", spec.destination);
    u16::from_be_bytes([header[10], header[11]])
}

#[test]
fn the_outer_checksum_is_right_for_every_length() {
    let spec = spec(Family::V4, Family::V4, Tunnel::Gre { key: Some(1) });
    for size in 0..1400 {
        let frame = packet(Family::V4, L4::Udp, 0, &vec![0xA5; size]);
        assert_eq!(sent(&frame, 0, &spec), expected(&spec, &frame[14..], 0, ID), "{size}");
    }
}

#[test]
fn inner_checksums_at_the_edge_stay_as_they_are() {
    let spec = spec(Family::V4, Family::V4, Tunnel::Ipip);
    let frame = packet(Family::V4, L4::Udp, 0, b"x");
    let unchanged = |frame: &[u8]| {
        assert_eq!(sent(frame, 0, &spec), expected(&spec, &frame[14..], 0, ID), "{frame:x?}");
    };
    for edge in 0xFFF8..=0xFFFF_u16 {
        let [high, low] = edge.to_be_bytes();
        unchanged(&with(frame.clone(), &[(40, high), (41, low)]));
    }
    let mut edges = BTreeSet::new();
    for id in 0..=u16::MAX {
        let [high, low] = id.to_be_bytes();
        let frame = with(frame.clone(), &[(18, high), (19, low)]);
        let sum = u16::from_be_bytes([frame[24], frame[25]]);
        if sum == 0 || sum >= 0xFFF8 {
            edges.insert(sum);
            unchanged(&frame);
        }
        if sum == 0 {
            unchanged(&with(frame, &[(24, 0xFF), (25, 0xFF)]));
        }
    }
    assert_eq!(edges.len(), 8, "0 and 0xFFF8 to 0xFFFE");
}

#[test]
fn the_udp_checksum_of_gue_is_right_and_never_zero() {
    for variant in [GueVariant::Zero, GueVariant::One] {
        let spec = spec(Family::V4, Family::V6, Tunnel::Gue { port: 6080, variant });
        let mut edges = BTreeSet::new();
        for word in 0..=u16::MAX {
            let frame = packet(Family::V4, L4::Icmp, 0, &[0, 0, 0, 0]);
            let [high, low] = word.to_be_bytes();
            let frame = with(frame, &[(42, high), (43, low)]);
            let out = sent(&frame, 0, &spec);
            assert_eq!(out, expected(&spec, &frame[14..], 0, ID), "{word:#06x}");
            edges.insert(u16::from_be_bytes([out[60], out[61]]));
        }
        assert!(edges.contains(&0xFFFF) && edges.contains(&1) && !edges.contains(&0));
    }
}

#[test]
fn the_udp_checksum_of_gue_is_right_for_every_length() {
    let gue = Tunnel::Gue { port: 6080, variant: GueVariant::Zero };
    let spec = spec(Family::V6, Family::V6, gue);
    for size in 0..1390 {
        let frame = packet(Family::V6, L4::Udp, 0, &vec![0xFF; size]);
        assert_eq!(sent(&frame, 0, &spec), expected(&spec, &frame[14..], 0, ID), "{size}");
    }
}
