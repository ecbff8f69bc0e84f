//! Frames in, frames out.

use std::net::Ipv6Addr;

use etherparse::icmpv6::NeighborAdvertisementHeader;
use etherparse::{ArpEthIpv4Packet, ArpOperation, Icmpv6Type, PacketBuilder, SlicedPacket};

use super::*;

const OURS: [u8; 6] = [2, 0, 0, 0, 0, 1];
const THEIRS: [u8; 6] = [2, 0, 0, 0, 0, 2];
const EVERYONE: [u8; 6] = [0xFF; 6];

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn six(text: &str) -> Ipv6Addr {
    text.parse().unwrap()
}

fn announcer() -> Announcer {
    let mut announcer = Announcer::new(OURS, vec![ip("10.0.0.2"), ip("2001:db8::2")]);
    announcer.set_vips([ip("10.0.0.9"), ip("2001:db8::9")].into());
    announcer
}

fn arp(operation: ArpOperation, sender: &str, target: &str) -> ArpEthIpv4Packet {
    let octets = |text: &str| text.parse::<std::net::Ipv4Addr>().unwrap().octets();
    ArpEthIpv4Packet {
        operation,
        sender_mac: THEIRS,
        sender_ipv4: octets(sender),
        target_mac: [0; 6],
        target_ipv4: octets(target),
    }
}

fn arp_frame(to: [u8; 6], arp: ArpEthIpv4Packet) -> Vec<u8> {
    let mut frame = Vec::new();
    PacketBuilder::ethernet2(arp.sender_mac, to).arp(arp.into()).write(&mut frame).unwrap();
    frame
}

fn request(sender: &str, target: &str) -> Vec<u8> {
    arp_frame(EVERYONE, arp(ArpOperation::REQUEST, sender, target))
}

/// A neighbour solicitation; `link`: the source link-layer option.
fn solicitation(source: &str, target: &str, link: Option<[u8; 6]>, hops: u8) -> Vec<u8> {
    let (target, group) = (six(target), solicited_node(six(target)));
    let option = link.map(|mac| [&[1, 1][..], &mac].concat()).unwrap_or_default();
    let body = [&target.octets()[..], &option].concat();
    let [.., a, b, c, d] = group.octets();
    let mut frame = Vec::new();
    PacketBuilder::ethernet2(THEIRS, [0x33, 0x33, a, b, c, d])
        .ipv6(six(source).octets(), group.octets(), hops)
        .icmpv6(Icmpv6Type::NeighborSolicitation)
        .write(&mut frame, &body)
        .unwrap();
    frame
}

fn judged(frame: &[u8]) -> Verdict {
    announcer().judge(frame, Duration::ZERO)
}

/// The answer's Ethernet destination, IPv6 destination, flags, target and option.
fn advertised(
    answer: &[u8],
) -> ([u8; 6], Ipv6Addr, NeighborAdvertisementHeader, Ipv6Addr, Vec<u8>) {
    let packet = SlicedPacket::from_ethernet(answer).unwrap();
    let Some(etherparse::NetSlice::Ipv6(net)) = packet.net else { panic!("no IPv6") };
    let Some(etherparse::TransportSlice::Icmpv6(icmp)) = packet.transport else {
        panic!("no ICMP")
    };
    let (source, to) = (net.header().source_addr(), net.header().destination_addr());
    assert!(icmp.is_checksum_valid(source.octets(), to.octets()));
    assert_eq!(net.header().hop_limit(), 255);
    let Icmpv6Type::NeighborAdvertisement(flags) = icmp.icmp_type() else { panic!("another type") };
    let (target, option) = icmp.payload().split_first_chunk::<16>().unwrap();
    (answer[..6].try_into().unwrap(), to, flags, Ipv6Addr::from(*target), option.to_vec())
}

#[test]
fn who_asks_for_a_vip_is_answered_and_who_asks_for_another_is_left_to_the_kernel() {
    let mut reply = arp(ArpOperation::REPLY, "10.0.0.9", "10.0.0.1");
    (reply.sender_mac, reply.target_mac) = (OURS, THEIRS);
    assert_eq!(judged(&request("10.0.0.1", "10.0.0.9")), Verdict::Answer(arp_frame(THEIRS, reply)));
    for target in ["10.0.0.2", "10.0.0.10", "10.0.0.1"] {
        assert_eq!(judged(&request("10.0.0.1", target)), Verdict::Host, "{target}");
    }
}

#[test]
fn a_probe_for_a_vip_is_answered_so_that_nobody_takes_it() {
    let Verdict::Answer(answer) = judged(&request("0.0.0.0", "10.0.0.9")) else {
        panic!("no answer");
    };
    assert_eq!((&answer[..6], answer[21]), (&THEIRS[..], 2));
    assert_eq!(answer[28..32], [10, 0, 0, 9]);
}

#[test]
fn an_announcement_a_reply_and_what_is_no_arp_are_the_kernels() {
    let reply = arp_frame(OURS, arp(ArpOperation::REPLY, "10.0.0.1", "10.0.0.2"));
    let frames = [request("10.0.0.9", "10.0.0.9"), reply, vec![0; 13], vec![0xFF; 60]];
    for frame in frames {
        assert_eq!(judged(&frame), Verdict::Host, "{frame:?}");
    }
    let whole = request("10.0.0.1", "10.0.0.9");
    for length in 0..whole.len() {
        assert_eq!(judged(&whole[..length]), Verdict::Host, "cut to {length}");
    }
}

#[test]
fn a_solicitation_for_a_vip_gets_an_advertisement_with_the_link_layer_option() {
    let other = [2, 0, 0, 0, 0, 3];
    for (link, to) in [(Some(other), other), (None, THEIRS)] {
        let asked = solicitation("2001:db8::1", "2001:db8::9", link, 255);
        let Verdict::Answer(answer) = judged(&asked) else { panic!("no answer") };
        let flags =
            NeighborAdvertisementHeader { router: false, solicited: true, r#override: true };
        let option = [&[2, 1][..], &OURS].concat();
        let expected = (to, six("2001:db8::1"), flags, six("2001:db8::9"), option);
        assert_eq!(advertised(&answer), expected);
        assert_eq!(answer[6..12], OURS);
    }
}

#[test]
fn who_would_like_to_have_a_vip_is_told_with_everyone_that_it_is_ours() {
    let Verdict::Answer(answer) = judged(&solicitation("::", "2001:db8::9", None, 255)) else {
        panic!("no answer");
    };
    let (to, group, flags, ..) = advertised(&answer);
    assert_eq!((to, group), ([0x33, 0x33, 0, 0, 0, 1], six("ff02::1")));
    assert!(!flags.solicited);
}

#[test]
fn solicitations_from_afar_damaged_or_for_others_are_the_kernels() {
    let good = solicitation("2001:db8::1", "2001:db8::9", Some(THEIRS), 255);
    let mut damaged = good.clone();
    damaged[60] ^= 1;
    let frames = [
        solicitation("2001:db8::1", "2001:db8::9", Some(THEIRS), 254),
        solicitation("2001:db8::1", "2001:db8::2", Some(THEIRS), 255),
        solicitation("2001:db8::1", "2001:db8::8", Some(THEIRS), 255),
        damaged,
    ];
    for frame in frames {
        assert_eq!(judged(&frame), Verdict::Host, "{frame:?}");
    }
    for length in 0..good.len() {
        assert_eq!(judged(&good[..length]), Verdict::Host, "cut to {length}");
    }
}

/// What is due, as the addresses that it is about.
fn due(announcer: &mut Announcer, ms: u64) -> Vec<IpAddr> {
    let frames = announcer.due(Duration::from_millis(ms), 100);
    let about = |frame: &Vec<u8>| match frame[13] {
        0x06 => IpAddr::from(<[u8; 4]>::try_from(&frame[28..32]).unwrap()),
        _ => IpAddr::from(advertised(frame).3),
    };
    let mut about: Vec<_> = frames.iter().map(about).collect();
    about.sort();
    about
}

#[test]
fn at_first_and_when_told_to_everything_is_announced_three_times_a_second_apart() {
    let mut announcer = announcer();
    let all = [ip("10.0.0.2"), ip("10.0.0.9"), ip("2001:db8::9")];
    for (ms, expected) in [(0, &all[..]), (500, &[]), (1000, &all), (2000, &all), (9000, &[])] {
        assert_eq!(due(&mut announcer, ms), expected, "at {ms} ms");
    }
    announcer.again();
    announcer.again();
    assert_eq!(due(&mut announcer, 10_000), all);
    announcer.again();
    for (ms, expected) in [(10_100, &all[..]), (11_000, &[]), (11_100, &all)] {
        assert_eq!(due(&mut announcer, ms), expected, "at {ms} ms");
    }
}

#[test]
fn only_what_is_new_is_announced_and_what_is_gone_no_more() {
    let mut announcer = announcer();
    due(&mut announcer, 0);
    announcer.set_vips([ip("10.0.0.9"), ip("10.0.0.8")].into());
    assert_eq!(due(&mut announcer, 100), [ip("10.0.0.8")]);
    announcer.set_vips(BTreeSet::new());
    assert_eq!(due(&mut announcer, 5000), [ip("10.0.0.2")]);
    assert_eq!(announcer.judge(&request("10.0.0.1", "10.0.0.9"), Duration::ZERO), Verdict::Host);
}

#[test]
fn many_are_announced_a_turn_at_a_time() {
    let mut announcer = Announcer::new(OURS, Vec::new());
    announcer.set_vips((0..=255).map(|n| IpAddr::from([10, 1, 0, n])).collect());
    let turns: Vec<_> =
        (0..6).map(|ms| announcer.due(Duration::from_millis(ms), 64).len()).collect();
    assert_eq!(turns, [64, 64, 64, 64, 0, 0]);
}
