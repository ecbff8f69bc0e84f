//! Two frames written out to the last byte, so that the expectations have something to stand on.

use tables::Family;
use tables::template::Tunnel;

use super::outer::{sent, spec};
use crate::frames::{L4, packet};

#[test]
fn a_small_datagram_in_ipip() {
    let frame = packet(Family::V4, L4::Udp, 0, b"hi");
    let out = sent(&frame, 0, &spec(Family::V4, Family::V4, Tunnel::Ipip));
    #[rustfmt::skip]
    let header = [
        0x02, 0, 0, 0, 0, 0x0C, 0x02, 0, 0, 0, 0, 0x0A, 0x08, 0x00,
        0x45, 0x00, 0x00, 0x32, 0xBE, 0xEF, 0x40, 0x00, 64, 4, 0x67, 0xCB, 10, 0, 0, 2, 10, 1, 0, 11,
    ];
    assert_eq!(out[..34], header);
    assert_eq!(out[34..], frame[14..]);
}

#[test]
fn a_small_datagram_in_gre_with_a_key_over_ipv6() {
    let frame = packet(Family::V4, L4::Udp, 0, b"hi");
    let out = sent(&frame, 0, &spec(Family::V4, Family::V6, Tunnel::Gre { key: Some(0xC0FFEE) }));
    #[rustfmt::skip]
    let header = [
        0x02, 0, 0, 0, 0, 0x0C, 0x02, 0, 0, 0, 0, 0x0A, 0x86, 0xDD,
        0x60, 0x01, 0x23, 0x45, 0x00, 0x26, 47, 64,
        0x20, 0x01, 0x0D, 0xB8, 0, 0x0A, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2,
        0x20, 0x01, 0x0D, 0xB8, 0, 0x0B, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x11,
        0x20, 0x00, 0x08, 0x00, 0x00, 0xC0, 0xFF, 0xEE,
    ];
    assert_eq!(out[..62], header);
    assert_eq!(out[62..], frame[14..]);
}
