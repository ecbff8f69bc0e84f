//! IPv4 headers, protocols and fragments.

use dataplane::parse::Fragment::{First, Later, Whole};
use dataplane::parse::{self, Parsed};
use tables::PacketClass::{Esp, Gre, Icmp, Other, Tcp, Udp, UdpFragment};
use tables::{Family, Flow, Outcome};

use super::Expect::{Ends, Faulty, Odd, Reads};
use super::{check, icmp4, tcp4, udp4};
use crate::frames::*;

#[test]
fn ipv4_headers() {
    let length = |n: u8| with(tcp4(), &[(17, n)]);
    let options = |words: u8| {
        let mut frame = tcp4();
        frame.splice(34..34, vec![1; usize::from(words) * 4]);
        let total = (frame.len() - 14) as u8;
        with(frame, &[(14, 0x45 + words), (17, total)])
    };
    check(vec![
        ("whole", tcp4(), Reads(Tcp, Whole)),
        ("version 6 inside", with(tcp4(), &[(14, 0x65)]), Ends(Outcome::MalformedIp)),
        ("version 0", with(tcp4(), &[(14, 0x05)]), Ends(Outcome::MalformedIp)),
        ("IHL 4", with(tcp4(), &[(14, 0x44)]), Ends(Outcome::MalformedIp)),
        ("IHL 0", with(tcp4(), &[(14, 0x40)]), Ends(Outcome::MalformedIp)),
        ("IHL 15 with its options", options(10), Reads(Tcp, Whole)),
        ("IHL 15 in a packet of 45", with(tcp4(), &[(14, 0x4F)]), Ends(Outcome::MalformedIp)),
        ("header cut", cut(tcp4(), 33), Ends(Outcome::MalformedIp)),
        ("total length 0", length(0), Ends(Outcome::MalformedIp)),
        ("total length 19", length(19), Ends(Outcome::MalformedIp)),
        ("total length one beyond", length(46), Ends(Outcome::RxTruncated)),
        ("frame cut", cut(tcp4(), 58), Ends(Outcome::RxTruncated)),
        ("padded", padded(tcp4(), 5), Reads(Tcp, Whole)),
        ("TTL 1", with(tcp4(), &[(22, 1)]), Reads(Tcp, Whole)),
        ("wrong header checksum", with(tcp4(), &[(24, 0x55)]), Ends(Outcome::WrongChecksum)),
        ("checksum 0: left to a NIC", with(tcp4(), &[(24, 0), (25, 0)]), Reads(Tcp, Whole)),
        (
            "wrong, and to another VIP than it was",
            damaged(tcp4(), 33),
            Ends(Outcome::WrongChecksum),
        ),
        ("an option damaged", damaged(options(10), 50), Ends(Outcome::WrongChecksum)),
        ("the first bit damaged", damaged(tcp4(), 15), Ends(Outcome::WrongChecksum)),
        ("wrong, and cut", cut(damaged(tcp4(), 33), 58), Ends(Outcome::RxTruncated)),
        ("wrong, and for the host", damaged(damaged(tcp4(), 30), 33), Ends(Outcome::WrongChecksum)),
    ]);
}

/// One bit of a byte turned, nothing put right.
fn damaged(mut frame: Vec<u8>, at: usize) -> Vec<u8> {
    frame[at] ^= 1;
    frame
}

#[test]
fn every_single_bit_of_a_header_that_turns_is_noticed() {
    for options in [0, 3, 10] {
        let mut frame = tcp4();
        frame.splice(34..34, vec![1; options * 4]);
        let total = (frame.len() - 14) as u8;
        let frame = with(frame, &[(14, 0x45 + options as u8), (17, total)]);
        assert!(parse::frame(&frame, &port(0)).is_ok());
        for bit in 0..(20 + options * 4) * 8 {
            let mut bent = frame.clone();
            bent[14 + bit / 8] ^= 0x80 >> (bit % 8);
            assert!(parse::frame(&bent, &port(0)).is_err(), "bit {bit}");
        }
    }
}

#[test]
fn ipv4_addresses_and_hops() {
    let from = |a, b, c, d| with(tcp4(), &[(26, a), (27, b), (28, c), (29, d)]);
    let [a, b, c, d] = VIP4;
    check(vec![
        ("TTL 0", with(tcp4(), &[(22, 0)]), Odd(Outcome::TtlExpired)),
        ("TTL 0 and a short header", with(tcp4(), &[(22, 0), (46, 0)]), Odd(Outcome::TtlExpired)),
        ("from 0.0.0.0", from(0, 0, 0, 0), Odd(Outcome::MartianSource)),
        ("from this network", from(0, 1, 2, 3), Odd(Outcome::MartianSource)),
        ("from 127.0.0.1", from(127, 0, 0, 1), Odd(Outcome::MartianSource)),
        ("from a group", from(224, 0, 0, 1), Odd(Outcome::MartianSource)),
        ("from a reserved address", from(240, 0, 0, 1), Odd(Outcome::MartianSource)),
        ("from everyone", from(255, 255, 255, 255), Odd(Outcome::MartianSource)),
        ("from the VIP itself", from(a, b, c, d), Odd(Outcome::MartianSource)),
        ("from another VIP, perhaps", from(a, b, c, d + 1), Reads(Tcp, Whole)),
        ("from a private address", from(10, 1, 0, 11), Reads(Tcp, Whole)),
        ("from a link-local address", from(169, 254, 0, 1), Reads(Tcp, Whole)),
        ("from 223.255.255.255", from(223, 255, 255, 255), Reads(Tcp, Whole)),
        ("from 1.0.0.0", from(1, 0, 0, 0), Reads(Tcp, Whole)),
    ]);
}

#[test]
fn ipv4_protocols() {
    let proto = |number| with(udp4(), &[(23, number)]);
    check(vec![
        ("UDP", udp4(), Reads(Udp, Whole)),
        ("ICMP", icmp4(), Reads(Icmp, Whole)),
        ("ESP", proto(50), Reads(Esp, Whole)),
        ("GRE", proto(47), Reads(Gre, Whole)),
        ("AH", proto(51), Reads(Other, Whole)),
        ("SCTP", proto(132), Reads(Other, Whole)),
        ("UDP-Lite", proto(136), Reads(Other, Whole)),
        ("ICMPv6 in IPv4", proto(58), Reads(Other, Whole)),
        ("unknown", proto(253), Reads(Other, Whole)),
        ("unknown, without a byte", with(cut(proto(253), 34), &[(17, 20)]), Reads(Other, Whole)),
    ]);
}

#[test]
fn ipv4_fragments() {
    let first = |frame| with(frame, &[(20, 0x20)]);
    let later = |frame| with(frame, &[(20, 0x20), (21, 0xB9)]);
    let last = |frame| with(frame, &[(20, 0x00), (21, 0xB9)]);
    let cut_tcp = with(cut(tcp4(), 50), &[(17, 36)]);
    check(vec![
        ("DF", with(tcp4(), &[(20, 0x40)]), Reads(Tcp, Whole)),
        ("the reserved bit", with(tcp4(), &[(20, 0x80)]), Reads(Tcp, Whole)),
        ("first of TCP", first(tcp4()), Reads(Tcp, First)),
        ("later of TCP", later(tcp4()), Reads(Tcp, Later)),
        ("last of TCP", last(tcp4()), Reads(Tcp, Later)),
        ("later of TCP, tiny", with(last(cut(tcp4(), 35)), &[(17, 21)]), Reads(Tcp, Later)),
        ("first of TCP, tiny", first(cut_tcp), Faulty(Tcp)),
        ("first of UDP", first(udp4()), Reads(UdpFragment, First)),
        ("first of a long UDP", first(with(udp4(), &[(38, 9)])), Reads(UdpFragment, First)),
        ("first of UDP, length 7", first(with(udp4(), &[(39, 7)])), Faulty(UdpFragment)),
        ("later of UDP", later(udp4()), Reads(UdpFragment, Later)),
        ("later of ICMP", last(icmp4()), Reads(Icmp, Later)),
    ]);
    let parsed = |frame: Vec<u8>| parse::frame(&frame, &port(0)).expect("reads");
    assert_eq!(parsed(first(udp4())).flow, Flow::v4(CLIENT4, VIP4, 17, 40000, 80));
    assert_eq!(parsed(last(udp4())).flow, Flow::v4(CLIENT4, VIP4, 17, 0, 0));
    assert_eq!(parsed(last(tcp4())).flow, Flow::v4(CLIENT4, VIP4, 6, 0, 0));
    assert_eq!(parsed(with(first(tcp4()), &[(18, 0xAB), (19, 0xCD)])).fragment_id, 0xABCD);
}

#[test]
fn every_field_of_an_ipv4_packet() {
    let frame = with(
        padded(packet(Family::V4, L4::Tcp, 7, b"hello"), 9),
        &[(19, 0xB9), (22, 0x12), (23, 0x34), (24, 0x40), (51, 0x12)],
    );
    let expected = Parsed {
        flow: Flow::v4(CLIENT4, VIP4, 6, 40000, 80),
        class: Tcp,
        l3: 18,
        l4: 38,
        length: 45,
        fragment: Whole,
        fragment_id: 0x1234,
        syn: true,
        tos: 0xB9,
        dont_fragment: true,
        icmp: parse::Icmp::Other,
        fault: None,
        ..Parsed::default()
    };
    assert_eq!(parse::frame(&frame, &port(7)), Ok(expected));
}
