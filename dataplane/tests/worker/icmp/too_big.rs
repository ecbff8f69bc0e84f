//! D-8 and N-3: what its tunnel cannot carry is answered.

use dataplane::io::Frame;
use dataplane::io::mem::MemFrame;
use tables::counters::Event;
use tables::rules::Protocol;
use tables::template::{GueVariant, Tunnel};
use tables::*;

use super::packets::*;
use super::world::World;
use crate::rig::{Rig, VIP};

const TUNNELS: [Tunnel; 5] = [
    Tunnel::Ipip,
    Tunnel::Gre { key: None },
    Tunnel::Gre { key: Some(7) },
    Tunnel::Gue { port: 6080, variant: GueVariant::Zero },
    Tunnel::Gue { port: 6080, variant: GueVariant::One },
];
const FAMILIES: [Family; 2] = [Family::V4, Family::V6];

/// The answer to `packet`, written a second time (RFC 792 and 1191, RFC 4443).
fn expected(packet: &[u8], mtu: usize) -> Vec<u8> {
    let [m0, m1] = (mtu as u16).to_be_bytes();
    if packet[0] >> 4 == 6 {
        let quote = &packet[..packet.len().min(1280 - 48)];
        let rest = [&[0, 0, m0, m1], quote].concat();
        let mut answer = icmp6(VIP6, CLIENT6, 2, 0, &rest);
        answer[7] = 64;
        return answer;
    }
    let quote = &packet[..packet.len().min(576 - 28)];
    let rest = [&[0, 0, m0, m1], quote].concat();
    let mut answer = icmp4(VIP, CLIENT, 3, 4, &rest);
    (answer[1], answer[4], answer[5], answer[8]) = (0xC0, 0, 0, 64);
    (answer[10], answer[11]) = (0, 0);
    let sum = checksum(&[&answer[..20]]).to_be_bytes();
    answer[10..12].copy_from_slice(&sum);
    answer
}

/// How the one frame ended, and what left.
fn outcome_of(rig: &Rig) -> Outcome {
    let mut ended = Outcome::ALL.iter().filter(|outcome| rig.counters.outcome(**outcome) > 0);
    *ended.next().expect("ended")
}

fn sent(rig: &mut Rig) -> Vec<Vec<u8>> {
    rig.worker.io.ports[0].sent.drain(..).map(|frame| frame.bytes().to_vec()).collect()
}

/// The frame ends so, and exactly this comes back.
fn answered(world: &World, packet: &[u8], outcome: Outcome, answer: &[u8], name: &str) {
    let mut rig = world.rig();
    rig.send([&*framed(packet, world.vlan)]);
    assert_eq!(outcome_of(&rig), outcome, "{name}");
    assert_eq!(rig.counters.ended(), 1, "{name}");
    assert_eq!(rig.counters.event(Event::IcmpSent), 1, "{name}");
    assert_eq!(rig.counters.event(Event::Sent), 1, "{name}");
    let sent = sent(&mut rig);
    assert_eq!(sent, [framed_back(answer, world.vlan)], "{name}");
    strict(&sent[0]);
}

/// A second opinion on every checksum.
fn strict(frame: &[u8]) {
    use etherparse::{NetSlice, SlicedPacket, TransportSlice};
    let sliced = SlicedPacket::from_ethernet(frame).expect("a valid frame");
    match (sliced.net.expect("IP"), sliced.transport.expect("ICMP")) {
        (NetSlice::Ipv4(ip), TransportSlice::Icmpv4(icmp)) => {
            let header = ip.header().to_header();
            assert_eq!(header.header_checksum, header.calc_header_checksum());
            let sum = icmp.header().icmp_type.calc_checksum(icmp.payload());
            assert_eq!(icmp.header().checksum, sum);
        }
        (NetSlice::Ipv6(ip), TransportSlice::Icmpv6(icmp)) => {
            let (from, to) = (ip.header().source(), ip.header().destination());
            assert!(icmp.is_checksum_valid(from, to));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn d8_the_exact_fit_goes_and_one_byte_more_is_answered_with_what_fits() {
    for tunnel in TUNNELS {
        for (outer, inner) in FAMILIES.iter().flat_map(|o| FAMILIES.map(|i| (*o, i))) {
            for (vlan, mtu) in [(0, 1500), (7, 1500), (0, 9000), (7, 9000)] {
                let world = World { outer, tunnel, vlan, mtu, tunnel_mtu: mtu, ..World::default() };
                let name = format!("{inner:?} in {outer:?}, {tunnel:?}, VLAN {vlan}, MTU {mtu}");
                let fit = usize::from(mtu) - world.overhead();

                let mut rig = world.rig();
                rig.send([&*framed(&request(inner, TCP, fit), vlan)]);
                assert_eq!(outcome_of(&rig), Outcome::Forwarded, "{name}");
                assert_eq!(rig.counters.event(Event::IcmpSent), 0, "{name}");
                let tag = if vlan == 0 { 0 } else { 4 };
                assert_eq!(sent(&mut rig)[0].len(), 14 + tag + usize::from(mtu), "{name}");

                let packet = request(inner, TCP, fit + 1);
                answered(&world, &packet, Outcome::TooBig, &expected(&packet, fit), &name);
            }
        }
    }
}

#[test]
fn n3_frames_above_the_ports_own_mtu_have_a_name_of_their_own_and_the_same_answer() {
    for (family, length) in [
        (Family::V4, 1501),
        (Family::V4, 60_000),
        (Family::V4, 65_515),
        (Family::V6, 9000),
        (Family::V6, 65_515),
    ] {
        let packet = request(family, TCP, length);
        let answer = expected(&packet, 1480);
        answered(&World::default(), &packet, Outcome::OversizeFrame, &answer, "segments in one");
        let large = World { tunnel_mtu: u16::MAX, ..World::default() };
        let mut rig = large.rig();
        rig.send([&*framed(&packet, 0)]);
        assert_eq!(outcome_of(&rig), Outcome::Forwarded, "it fits the next hop");
    }
}

#[test]
fn n3_the_largest_packets_that_there_are_fit_no_tunnel() {
    let large = World { tunnel_mtu: u16::MAX, ..World::default() };
    for (family, length) in [(Family::V4, 65_516), (Family::V4, 65_535), (Family::V6, 65_535)] {
        let packet = request(family, TCP, length);
        let answer = expected(&packet, 65_515);
        answered(&large, &packet, Outcome::OversizeFrame, &answer, "beyond 65,535 with its tunnel");
    }
}

#[test]
fn d8_the_checksum_is_right_for_every_length() {
    let small = World { tunnel_mtu: 100, ..World::default() };
    for length in 81..700 {
        let packet = request(Family::V4, TCP, length);
        answered(&small, &packet, Outcome::TooBig, &expected(&packet, 80), "IPv4");
    }
    for length in 81..700 {
        let packet = request(Family::V6, UDP, length);
        answered(&small, &packet, Outcome::TooBig, &expected(&packet, 1280), "IPv6, its least MTU");
    }
}

#[test]
fn d8_an_answer_quotes_as_much_as_it_may() {
    let small = World { tunnel_mtu: 100, ..World::default() };
    for (family, lengths, most) in
        [(Family::V4, [547, 548, 549], 576), (Family::V6, [1231, 1232, 1233], 1280)]
    {
        for length in lengths {
            let mut rig = small.rig();
            rig.send([&*framed(&request(family, TCP, length), 0)]);
            let header = if family == Family::V4 { 28 } else { 48 };
            let answer = sent(&mut rig)[0].len() - 14;
            assert_eq!(answer, most.min(header + length), "{family:?} {length}");
        }
    }
}

#[test]
fn d8_options_and_extension_headers_are_quoted_as_they_came() {
    let transport = transport(TCP, 40000, 80, 1450);
    let packet = ipv4(CLIENT, VIP, TCP, &[1; 40], &transport);
    answered(&World::default(), &packet, Outcome::OversizeFrame, &expected(&packet, 1480), "IPv4");
    let chain = [&[TCP, 0, 1, 4, 0, 0, 0, 0], &transport[..]].concat();
    let packet = ipv6(CLIENT6, VIP6, 60, &chain);
    answered(&World::default(), &packet, Outcome::TooBig, &expected(&packet, 1480), "IPv6");
}

#[test]
fn d8_an_answer_about_a_first_fragment_is_no_fragment_itself() {
    let mut packet = request(Family::V4, TCP, 1481);
    // More fragments, and none of them to be fragmented.
    (packet[6], packet[10], packet[11]) = (0x60, 0, 0);
    let sum = checksum(&[&packet[..20]]).to_be_bytes();
    packet[10..12].copy_from_slice(&sum);
    let answer = expected(&packet, 1480);
    assert_eq!(answer[6..8], [0x40, 0]);
    answered(&World::default(), &packet, Outcome::TooBig, &answer, "IPv4");

    let transport = transport(TCP, 40000, 80, 1433);
    let first = [&[TCP, 0, 0, 1, 1, 2, 3, 4], &transport[..]].concat();
    let packet = ipv6(CLIENT6, VIP6, 44, &first);
    answered(&World::default(), &packet, Outcome::TooBig, &expected(&packet, 1480), "IPv6");
}

/// A packet that is dropped without a word.
fn unanswered(frame: &[u8], outcome: Outcome, name: &str) {
    unanswered_in(&World::default(), frame, outcome, name);
}

fn unanswered_in(world: &World, frame: &[u8], outcome: Outcome, name: &str) {
    let mut rig = world.rig();
    rig.send([frame]);
    assert_eq!(outcome_of(&rig), outcome, "{name}");
    assert!(sent(&mut rig).is_empty(), "{name}");
    for event in [Event::IcmpSent, Event::IcmpSuppressed, Event::IcmpUnsent] {
        assert_eq!(rig.counters.event(event), 0, "{name}: {}", event.name());
    }
}

#[test]
fn d8_what_must_not_be_answered_is_not() {
    let with = |mut packet: Vec<u8>, changes: &[(usize, u8)]| {
        changes.iter().for_each(|(at, byte)| packet[*at] = *byte);
        packet
    };
    let large = || request(Family::V4, UDP, 1500);
    let quote = |family, length| match family {
        Family::V4 => ipv4(VIP, CLIENT, TCP, &[], &transport(TCP, 80, 40000, length)),
        Family::V6 => ipv6(VIP6, CLIENT6, TCP, &transport(TCP, 80, 40000, length)),
    };
    let error4 = icmp4(HOP, VIP, 3, 1, &[&[0; 4], &quote(Family::V4, 1452)[..]].concat());
    let error6 = icmp6(HOP6, VIP6, 1, 0, &[&[0; 4], &quote(Family::V6, 1412)[..]].concat());
    for (name, packet) in [
        ("without \"don't fragment\"", with(large(), &[(6, 0)])),
        ("an ICMP error about a connection", error4),
        ("an ICMPv6 error about a connection", error6),
    ] {
        unanswered(&framed(&packet, 0), Outcome::TooBig, name);
    }
    let from_group = with(framed(&large(), 0), &[(6, 0xFF)]);
    unanswered(&from_group, Outcome::TooBig, "from an Ethernet group");
    let segments = with(request(Family::V4, TCP, 9000), &[(6, 0)]);
    unanswered(&framed(&segments, 0), Outcome::OversizeFrame, "segments that may be fragmented");
}

#[test]
fn d8_under_a_rule_for_everything_later_fragments_and_redirects_are_not_answered_either() {
    let world = World { rules: vec![(Protocol::L3Default, None)], ..World::default() };
    let mut later = request(Family::V4, UDP, 1500);
    (later[6], later[7]) = (0x60, 9);
    let later6 = [&[UDP, 0, 0, 9, 1, 2, 3, 4][..], &[7; 1440]].concat();
    for (name, packet) in [
        ("a later fragment", later),
        ("a later fragment over IPv6", ipv6(CLIENT6, VIP6, 44, &later6)),
        ("a redirect", icmp4(HOP, VIP, 5, 1, &[7; 1460])),
        ("an error about somebody else's packet", icmp4(HOP, VIP, 3, 1, &[7; 1460])),
        ("an ICMPv6 redirect", icmp6(HOP6, VIP6, 137, 0, &[7; 1440])),
    ] {
        unanswered_in(&world, &framed(&packet, 0), Outcome::TooBig, name);
    }
    let echo = icmp4(CLIENT, VIP, 8, 0, &[7; 1460]);
    answered(&world, &echo, Outcome::TooBig, &expected(&echo, 1480), "an echo request");
}

#[test]
fn n3_beyond_icmp_rate_a_second_they_are_only_counted() {
    let world = World { rate: 3, ..World::default() };
    let mut rig = world.rig();
    let frame = framed(&request(Family::V4, TCP, 1500), 0);
    let mut at = |tick: u32, frames: usize| {
        (0..frames).for_each(|_| rig.worker.io.arrive(PortId(0), &frame));
        rig.worker.step(Tick(tick));
        let sent = rig.worker.io.ports[0].sent.len();
        rig.worker.io.ports[0].sent.clear();
        (sent, rig.counters.event(Event::IcmpSuppressed))
    };
    assert_eq!(at(100, 5), (3, 2));
    assert_eq!(at(107, 1), (0, 3), "within a second");
    assert_eq!(at(108, 5), (3, 5), "a second later");
    assert_eq!(rig.counters.outcome(Outcome::TooBig), 11, "whether answered or not");
    assert_eq!(rig.counters.event(Event::IcmpSent), 6);
}

#[test]
fn n3_a_rate_of_zero_sends_none() {
    let mut rig = World { rate: 0, ..World::default() }.rig();
    rig.send([&*framed(&request(Family::V6, TCP, 1500), 0)]);
    assert!(sent(&mut rig).is_empty());
    assert_eq!(rig.counters.event(Event::IcmpSuppressed), 1);
}

#[test]
fn an_answer_that_has_no_room_is_counted() {
    let frame = framed(&request(Family::V4, TCP, 1500), 0);
    let mut rig = World::default().rig();
    rig.worker.io.ports[0].arriving.push_back(MemFrame::with_headroom(&frame, 27));
    rig.send([]);
    assert_eq!(rig.counters.event(Event::IcmpUnsent), 1, "in its buffer");
    assert_eq!(outcome_of(&rig), Outcome::TooBig);

    let mut rig = World::default().rig();
    rig.worker.io.ports[0].room = Some(0);
    rig.send([&*frame]);
    assert_eq!(rig.counters.event(Event::IcmpUnsent), 1, "in the queue");
    assert_eq!((rig.counters.ended(), rig.counters.event(Event::IcmpSent)), (1, 0));
}
