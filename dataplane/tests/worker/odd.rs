//! N-7: what only a rule makes a fault; and protocols without ports under a rule for everything.

use tables::{Outcome, counters::Event};

use crate::pieces::whole;
use crate::rig::*;

const FAMILIES: [(&str, &str); 2] =
    [("198.51.100.7", "203.0.113.11"), ("2001:db8:1::7", "2001:db8:2::11")];

/// The outcome of one frame, and the frame as it left for the network or the host.
fn end(frame: &[u8]) -> (Outcome, Option<Vec<u8>>) {
    use dataplane::io::Frame;
    let mut rig = Rig::new(tables(&[1], None));
    rig.send([frame]);
    assert!(rig.balances() && rig.counters.ended() == 1);
    let mut outcomes = Outcome::ALL.iter().filter(|o| rig.counters.outcome(**o) == 1);
    let port = &mut rig.worker.io.ports[0];
    let left = port.sent.pop_back().or(port.to_host.as_mut().and_then(|host| host.pop_back()));
    (*outcomes.next().expect("one"), left.map(|frame| frame.bytes().to_vec()))
}

fn with(mut frame: Vec<u8>, changes: &[(usize, u8)]) -> Vec<u8> {
    changes.iter().for_each(|(at, byte)| frame[*at] = *byte);
    summed_up(frame)
}

#[test]
fn odd_sources_and_hops_are_dropped_by_name_for_a_vip_and_left_to_the_host_otherwise() {
    let v4 = |vip| whole("198.51.100.7", vip, 1, false, 9);
    let v6 = |vip| whole("2001:db8:1::7", vip, 1, false, 9);
    let martian = |frame| with(frame, &[(26, 127)]);
    let group = |frame| with(frame, &[(22, 0xFF)]);
    let spent4 = |frame| with(frame, &[(22, 0)]);
    let spent6 = |frame| with(frame, &[(21, 0)]);
    for (bent, other, outcome) in [
        (martian(v4("203.0.113.11")), martian(v4("203.0.113.99")), Outcome::MartianSource),
        (group(v6("2001:db8:2::11")), group(v6("2001:db8:2::99")), Outcome::MartianSource),
        (spent4(v4("203.0.113.11")), spent4(v4("203.0.113.99")), Outcome::TtlExpired),
        (spent6(v6("2001:db8:2::11")), spent6(v6("2001:db8:2::99")), Outcome::TtlExpired),
    ] {
        assert_eq!(end(&bent), (outcome, None));
        assert_eq!(end(&other), (Outcome::Host, Some(other.clone())));
    }
}

#[test]
fn f1_an_l3_default_rule_takes_every_protocol_and_leaves_it_as_it_is() {
    // ESP, AH, SCTP, UDP-Lite, GRE, mobility, none, and one that nobody uses.
    for (client, vip) in FAMILIES {
        for proto in [50, 132, 136, 47, 135, 59, 253] {
            let at = if vip.contains(':') { 20 } else { 23 };
            let frame = with(whole(client, vip, 1, true, 9), &[(at, proto)]);
            let (outcome, left) = end(&frame);
            assert_eq!(outcome, Outcome::Forwarded, "{vip} {proto}");
            assert_eq!(left.expect("a frame")[34..], frame[14..], "{vip} {proto}");
        }
    }
    let ah = with(whole("198.51.100.7", "203.0.113.11", 1, true, 9), &[(23, 51)]);
    assert_eq!(end(&ah).0, Outcome::Forwarded);
}

#[test]
fn flags_that_no_connection_has_go_to_the_backend_and_only_syn_starts_anew() {
    for (flags, replaced) in [(0x00, 0), (0x29, 0), (0x03, 1), (0x06, 1), (0x3F, 1), (0x04, 0)] {
        let mut rig = Rig::new(tables(&[1, 1], None));
        let frame = whole("198.51.100.7", "203.0.113.10", 1, false, 9);
        rig.send([&*frame]);
        rig.send([&*with(frame, &[(47, flags)])]);
        assert_eq!(rig.counters.outcome(Outcome::Forwarded), 2, "{flags:#x}");
        assert_eq!(rig.counters.event(Event::EntryReplaced), replaced, "{flags:#x}");
    }
}

/// Bytes of an address in a frame: `(where, octets)` of an IPv4 or IPv6 one.
fn address(at4: usize, at6: usize, address: &str) -> Vec<(usize, u8)> {
    match address.parse().expect("an address") {
        std::net::IpAddr::V4(a) => (at4..).zip(a.octets()).collect(),
        std::net::IpAddr::V6(a) => (at6..).zip(a.octets()).collect(),
    }
}

fn from(source: &str) -> Vec<(usize, u8)> {
    address(26, 22, source)
}

fn to(destination: &str) -> Vec<(usize, u8)> {
    address(30, 38, destination)
}

#[test]
fn n7_each_odd_source_and_destination_ends_as_the_table_says() {
    use Outcome::{Forwarded, Host, MartianSource, VipNoRule};
    let [v4, v6] = FAMILIES.map(|(client, vip)| whole(client, vip, 1, false, 9));
    for (name, frame, changes, outcome) in [
        ("from a backend", &v4, from("10.1.0.0"), Forwarded),
        ("from the port's own address", &v4, from("10.0.0.2"), Forwarded),
        ("from another VIP", &v4, from("203.0.113.10"), Forwarded),
        ("from the VIP itself", &v4, from("203.0.113.11"), MartianSource),
        ("from 0.0.0.0", &v4, from("0.0.0.0"), MartianSource),
        ("from everyone", &v4, from("255.255.255.255"), MartianSource),
        ("from a group", &v4, from("239.1.2.3"), MartianSource),
        ("from loopback", &v4, from("127.1.2.3"), MartianSource),
        ("from a reserved address", &v4, from("240.0.0.1"), MartianSource),
        ("from carrier-grade NAT", &v4, from("100.64.0.1"), Forwarded),
        ("from a documentation prefix", &v4, from("192.0.2.1"), Forwarded),
        ("from what a LAN takes for its broadcast", &v4, from("198.51.100.255"), Forwarded),
        ("to everyone, in a frame to us", &v4, to("255.255.255.255"), Host),
        ("to a group, in a frame to us", &v4, to("224.0.0.1"), Host),
        ("to 0.0.0.0", &v4, to("0.0.0.0"), Host),
        ("to loopback", &v4, to("127.0.0.1"), Host),
        ("to a backend", &v4, to("10.1.0.0"), Host),
        ("to the port's own address", &v4, to("10.0.0.2"), Host),
        (
            "to a closed port of another VIP",
            &v4,
            [to("203.0.113.10"), vec![(37, 99)]].concat(),
            VipNoRule,
        ),
        ("from nobody", &v6, from("::"), MartianSource),
        ("from loopback over IPv6", &v6, from("::1"), MartianSource),
        ("from a mapped address", &v6, from("::ffff:198.51.100.7"), MartianSource),
        ("from a group over IPv6", &v6, from("ff02::1"), MartianSource),
        ("from the VIP itself over IPv6", &v6, from("2001:db8:2::11"), MartianSource),
        ("from a link-local address", &v6, from("fe80::1"), Forwarded),
        ("from another VIP over IPv6", &v6, from("2001:db8:2::10"), Forwarded),
        ("to all nodes, in a frame to us", &v6, to("ff02::1"), Host),
        ("to nobody", &v6, to("::"), Host),
        ("to loopback over IPv6", &v6, to("::1"), Host),
    ] {
        assert_eq!(end(&with(frame.clone(), &changes)).0, outcome, "{name}");
    }
}

#[test]
fn n7_each_odd_header_ends_as_the_table_says() {
    use Outcome::{Forwarded, MalformedIp, MalformedL4, RxTruncated, TtlExpired};
    let [tcp4, tcp6] = FAMILIES.map(|(client, vip)| whole(client, vip, 1, false, 9));
    let [udp4, udp6] = FAMILIES.map(|(client, vip)| whole(client, vip, 1, true, 9));
    let options = |words: u8| {
        let mut frame = tcp4.clone();
        frame.splice(34..34, vec![1; usize::from(words) * 4]);
        let total = (frame.len() - 14) as u8;
        with(frame, &[(14, 0x45 + words), (17, total)])
    };
    let cut = |frame: &[u8], len: usize| frame[..len].to_vec();
    let padded = |frame: &[u8], len: usize| [frame, &vec![0xEE; len - frame.len()]].concat();
    for (name, frame, outcome) in [
        ("a runt without an Ethernet header", cut(&tcp4, 13), MalformedIp),
        ("a runt that ends in its IP header", cut(&tcp4, 33), MalformedIp),
        ("a frame cut behind its IP header", cut(&tcp4, 34), RxTruncated),
        ("padded to 64 bytes", padded(&udp4, 64), Forwarded),
        ("with a trailer of a kilobyte", padded(&tcp6, 1100), Forwarded),
        ("total length above the frame", with(tcp4.clone(), &[(17, 50)]), RxTruncated),
        ("total length below the frame", with(tcp4.clone(), &[(17, 40)]), Forwarded),
        ("total length below its header", with(tcp4.clone(), &[(17, 19)]), MalformedIp),
        ("IHL 4", with(tcp4.clone(), &[(14, 0x44)]), MalformedIp),
        ("IHL 15", options(10), Forwarded),
        ("TTL 0", with(tcp4.clone(), &[(22, 0)]), TtlExpired),
        ("TTL 1", with(tcp4.clone(), &[(22, 1)]), Forwarded),
        ("hop limit 0", with(tcp6.clone(), &[(21, 0)]), TtlExpired),
        ("hop limit 1", with(tcp6.clone(), &[(21, 1)]), Forwarded),
        ("TCP ports 0", with(tcp4.clone(), &[(34, 0), (35, 0), (36, 0), (37, 0)]), Forwarded),
        ("UDP ports 0", with(udp6.clone(), &[(54, 0), (55, 0), (56, 0), (57, 0)]), Forwarded),
        (
            "a fragment that ends beyond 65,535",
            with(udp4.clone(), &[(20, 0x1F), (21, 0xFF)]),
            Forwarded,
        ),
        ("a fragment of no whole units", with(udp4.clone(), &[(20, 0x20), (21, 1)]), Forwarded),
        ("\"don't fragment\" on a fragment", with(udp4.clone(), &[(20, 0x60)]), Forwarded),
        ("UDP length 0", with(udp4.clone(), &[(39, 0)]), MalformedL4),
        ("UDP length 0 over IPv6", with(udp6.clone(), &[(59, 0)]), MalformedL4),
        ("UDP length one beyond", with(udp4.clone(), &[(39, 18)]), MalformedL4),
        ("UDP length short", with(udp4.clone(), &[(39, 9)]), Forwarded),
        ("UDP checksum 0", with(udp4, &[(40, 0), (41, 0)]), Forwarded),
        ("UDP checksum 0 over IPv6", with(udp6, &[(60, 0), (61, 0)]), Forwarded),
        ("a TCP checksum that is wrong", with(tcp4.clone(), &[(50, 1), (51, 2)]), Forwarded),
        ("the reserved flag", with(tcp4, &[(20, 0x80)]), Forwarded),
    ] {
        let (ended, left) = end(&frame);
        assert_eq!(ended, outcome, "{name}");
        if outcome == Forwarded {
            let left = left.expect("a frame");
            let inner = &left[34..];
            assert_eq!(*inner, frame[14..14 + inner.len()], "{name}: unchanged (N-1)");
        }
    }
}
