//! For any bytes: one outcome, and what leaves is what etherparse accepts, with right checksums.

use dataplane::io::Frame;
use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use proptest::collection::vec;
use proptest::prelude::*;
use tables::counters::Event;
use tables::rules::Protocol;
use tables::*;

use super::packets::*;
use super::world::World;
use crate::rig::{OUR_TUNNEL, VIP, summed_up};

/// ICMP of any type, often an error that quotes something like an answer of the VIP's, or like one
/// of our tunnels; sometimes cut, bent or padded. And what is too big.
fn frames() -> impl Strategy<Value = Vec<u8>> {
    let kind = prop_oneof![Just(3_u8), Just(11), Just(8), Just(2), Just(1), Just(128), any::<u8>()];
    let inner = prop_oneof![Just(TCP), Just(UDP), Just(4), Just(47), Just(1), any::<u8>()];
    let changes = vec((14..120_usize, any::<u8>()), 0..4);
    let shape = (0..5_u8, kind, 0..6_u8, inner, 8..1500_usize);
    (shape, changes, 20..1600_usize, any::<u16>()).prop_map(
        |((shape, kind, code, inner, length), changes, cut, mtu)| {
            let [m0, m1] = mtu.to_be_bytes();
            let body = transport(inner, 80, 40000, length);
            let quote4 =
                |from, to| [&[0, 0, m0, m1], &ipv4(from, to, inner, &[], &body)[..]].concat();
            let packet = match shape {
                0 => icmp4(HOP, VIP, kind, code, &quote4(VIP, CLIENT)),
                1 => icmp4(HOP, OUR_TUNNEL, kind, code, &quote4(OUR_TUNNEL, [10, 1, 0, 0])),
                2 => {
                    let quote = ipv6(VIP6, CLIENT6, inner, &body);
                    icmp6(HOP6, VIP6, kind, code, &[&[0, 0, m0, m1], &quote[..]].concat())
                }
                3 => request(Family::V4, inner, length.max(40)),
                _ => request(Family::V6, inner, length.max(60)),
            };
            let mut frame = framed(&packet, 0);
            for (at, byte) in changes {
                if let Some(old) = frame.get_mut(at) {
                    *old = byte;
                }
            }
            frame.truncate(cut.max(length / 2));
            if cut % 4 == 0 { frame } else { summed_up(frame) }
        },
    )
}

fn check(frame: &[u8], damaged_echo: bool) -> Result<(), TestCaseError> {
    let sliced = SlicedPacket::from_ethernet(frame);
    let sliced = sliced.map_err(|error| TestCaseError::fail(format!("{error}: {frame:02x?}")))?;
    match (sliced.net, sliced.transport) {
        (Some(NetSlice::Ipv4(ip)), transport) => {
            let header = ip.header().to_header();
            prop_assert_eq!(header.header_checksum, header.calc_header_checksum());
            if let (Some(TransportSlice::Icmpv4(icmp)), false) = (transport, damaged_echo) {
                let sum = icmp.header().icmp_type.calc_checksum(icmp.payload());
                prop_assert_eq!(icmp.header().checksum, sum);
            }
        }
        (Some(NetSlice::Ipv6(ip)), Some(TransportSlice::Icmpv6(icmp))) if !damaged_echo => {
            let (from, to) = (ip.header().source(), ip.header().destination());
            prop_assert!(icmp.is_checksum_valid(from, to));
        }
        (net, _) => prop_assert!(net.is_some()),
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        cases: 1500,
        ..ProptestConfig::default()
    })]

    #[test]
    fn d7_any_icmp_ends_once_and_what_leaves_is_right(
        frames in vec(frames(), 1..6),
        tunnel_mtu in prop_oneof![Just(1500_u16), Just(100), Just(600), Just(0)],
        takes_all in any::<bool>(),
    ) {
        let rules = vec![(Protocol::Tcp, Some(80)), (Protocol::Udp, None)];
        let rules = if takes_all { vec![(Protocol::L3Default, None)] } else { rules };
        let mut rig = World { tunnel_mtu, rules, ..World::default() }.rig();
        rig.send(frames.iter().map(|frame| &**frame));
        prop_assert_eq!(rig.counters.ended() + rig.counters.held(), frames.len() as u64);
        let sent = &rig.worker.io.ports[0].sent;
        let expected = rig.counters.outcome(Outcome::Forwarded) + rig.counters.event(Event::IcmpSent);
        prop_assert_eq!(sent.len() as u64, expected);
        // A damaged request stays damaged.
        let echo = rig.counters.outcome(Outcome::EchoAnswered) > 0;
        for frame in sent {
            check(frame.bytes(), echo)?;
        }
    }
}
