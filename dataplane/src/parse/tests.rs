//! The straight line reads what the general walk reads, or leaves the frame to it.

use proptest::collection::vec;
use proptest::prelude::*;
use tables::Mac;

use super::*;
use crate::encap::checksum;

const OURS: [u8; 6] = [2, 0, 0, 0, 0, 10];
const ROUTER: [u8; 6] = [2, 0, 0, 0, 0, 11];

fn port(vlan: u16) -> Port {
    Port {
        name: "uplink".into(),
        mac: Mac(OURS),
        vlan,
        mtu: 1500,
        any_mac: false,
        addresses: [].into(),
        icmp_rate: 0,
        answer_echo: false,
    }
}

/// A sound frame: Ethernet, IP, 20 bytes that are TCP's header or UDP's and more, payload.
fn sound(family: Family, proto: u8, payload: &[u8]) -> Vec<u8> {
    let length = 20 + payload.len() as u16;
    let mut transport = vec![0; 20];
    transport[..4].copy_from_slice(&[0x9C, 0x40, 0, 80]);
    if proto == 6 {
        transport[12..14].copy_from_slice(&[0x50, 0x12]);
    } else {
        transport[4..6].copy_from_slice(&length.to_be_bytes());
    }
    let (kind, mut ip) = match family {
        Family::V4 => ([8, 0], vec![0x45, 0, 0, 0, 1, 2, 0x40, 0, 64, proto, 0, 0]),
        Family::V6 => ([0x86, 0xDD], vec![0x60, 0, 0, 0, 0, 0, proto, 64]),
    };
    match family {
        Family::V4 => {
            ip[2..4].copy_from_slice(&(20 + length).to_be_bytes());
            ip.extend([198, 51, 100, 7, 203, 0, 113, 10]);
            sum_up(&mut ip);
        }
        Family::V6 => {
            ip[4..6].copy_from_slice(&length.to_be_bytes());
            ip.extend((0..32).map(|i| 0x20 + i));
        }
    }
    [&OURS[..], &ROUTER, &kind, &ip, &transport, payload].concat()
}

/// Gives an IPv4 header its checksum.
fn sum_up(header: &mut [u8]) {
    header[10..12].fill(0);
    let sum = checksum::of(checksum::sum(header)).to_be_bytes();
    header[10..12].copy_from_slice(&sum);
}

fn kinds() -> impl Strategy<Value = (Family, u8)> {
    (prop_oneof![Just(Family::V4), Just(Family::V6)], prop_oneof![Just(6_u8), Just(17)])
}

/// Sound frames of which some bytes were changed, and some cut or padded; half of them with the
/// checksum that goes with that.
fn bent() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![any::<u8>(), Just(0), Just(0xFF), Just(0x45), Just(1), Just(40)];
    let changes = (vec((0..76_usize, byte), 0..4), any::<bool>());
    (kinds(), vec(any::<u8>(), 0..40), changes, -30..30_isize).prop_map(
        |((family, proto), payload, (changes, summed), more)| {
            let mut frame = sound(family, proto, &payload);
            for (at, byte) in changes {
                if let Some(old) = frame.get_mut(at) {
                    *old = byte;
                }
            }
            if summed && family == Family::V4 {
                sum_up(&mut frame[14..34]);
            }
            frame.resize(frame.len().saturating_add_signed(more), 0xEE);
            frame
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn the_straight_line_reads_what_the_general_walk_reads(frame in bent(), vlan in 0..2_u16) {
        let port = port(vlan);
        if let Some(parsed) = common::read(&frame, &port) {
            prop_assert_eq!(Ok(parsed), walk(&frame, &port));
            prop_assert_eq!(parsed.fault, None);
        }
    }

    #[test]
    fn no_sound_frame_takes_the_long_way((family, proto) in kinds(), payload in vec(any::<u8>(), 0..40)) {
        prop_assert!(common::read(&sound(family, proto, &payload), &port(0)).is_some());
    }
}
