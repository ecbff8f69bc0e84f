//! IPv6 headers, extension headers and fragments.

use dataplane::parse::Fragment::{First, Later, Whole};
use dataplane::parse::{self, Parsed};
use tables::PacketClass::{Esp, Gre, Icmp, Other, Tcp, Udp, UdpFragment};
use tables::{Flow, Outcome};

use super::Expect::{Ends, Faulty, Odd, Reads};
use super::{check, icmp6, tcp6, udp6};
use crate::frames::*;

/// A UDP header to port 80 with five bytes.
const UDP_BODY: &[u8] = &[0x9C, 0x40, 0, 80, 0, 13, 1, 1, 1, 2, 3, 4, 5];

const HOP: (u8, &[u8]) = (0, &[0, 1, 4, 0, 0, 0, 0]);
const ROUTE: (u8, &[u8]) = (43, &[0, 4, 0, 0, 0, 0, 0]);
const OPTIONS: (u8, &[u8]) = (60, &[1, 1, 4, 0, 0, 0, 0, 1, 6, 0, 0, 0, 0, 0, 0]);
const AUTH: (u8, &[u8]) = (51, &[1, 0, 0, 0, 0, 0, 9, 0, 0, 0, 1]);
const ATOMIC: (u8, &[u8]) = (44, &[0, 0, 0, 1, 2, 3, 4]);
const FIRST: (u8, &[u8]) = (44, &[0, 0, 1, 1, 2, 3, 4]);
const LATER: (u8, &[u8]) = (44, &[0, 0, 9, 1, 2, 3, 4]);

#[test]
fn ipv6_headers() {
    let length = |n: u8| with(tcp6(), &[(19, n)]);
    check(vec![
        ("TCP", tcp6(), Reads(Tcp, Whole)),
        ("UDP", udp6(), Reads(Udp, Whole)),
        ("ICMPv6", icmp6(), Reads(Icmp, Whole)),
        (
            "a neighbour of this link asks",
            with(icmp6(), &[(21, 255), (54, 135)]),
            Ends(Outcome::Host),
        ),
        ("the same from afar", with(icmp6(), &[(21, 254), (54, 135)]), Reads(Icmp, Whole)),
        ("ICMP in IPv6", with(icmp6(), &[(20, 1)]), Reads(Other, Whole)),
        ("version 4 inside", with(tcp6(), &[(14, 0x45)]), Ends(Outcome::MalformedIp)),
        ("header cut", cut(tcp6(), 53), Ends(Outcome::MalformedIp)),
        ("payload length 0", length(0), Ends(Outcome::MalformedIp)),
        ("payload one beyond", length(26), Ends(Outcome::RxTruncated)),
        ("payload 65535", with(tcp6(), &[(18, 255), (19, 255)]), Ends(Outcome::RxTruncated)),
        ("padded", padded(tcp6(), 3), Reads(Tcp, Whole)),
        ("TCP of 19 bytes", length(19), Faulty(Tcp)),
        ("hop limit 1", with(tcp6(), &[(21, 1)]), Reads(Tcp, Whole)),
    ]);
}

#[test]
fn ipv6_addresses_and_hops() {
    let from = |address: &str| {
        let address: std::net::Ipv6Addr = address.parse().expect("an address");
        let mut frame = tcp6();
        frame[22..38].copy_from_slice(&address.octets());
        frame
    };
    check(vec![
        ("hop limit 0", with(tcp6(), &[(21, 0)]), Odd(Outcome::TtlExpired)),
        ("from nobody", from("::"), Odd(Outcome::MartianSource)),
        ("from loopback", from("::1"), Odd(Outcome::MartianSource)),
        ("from a mapped address", from("::ffff:198.51.100.7"), Odd(Outcome::MartianSource)),
        ("from a group", from("ff02::1"), Odd(Outcome::MartianSource)),
        ("from the VIP itself", from("2001:db8:2::10"), Odd(Outcome::MartianSource)),
        ("through NAT64", from("64:ff9b::198.51.100.7"), Reads(Tcp, Whole)),
        ("from a link-local address", from("fe80::1"), Reads(Tcp, Whole)),
        ("from a unique local address", from("fd00::1"), Reads(Tcp, Whole)),
    ]);
}

#[test]
fn ipv6_extension_headers() {
    let udp = |headers: &[_]| chain(headers, 17, UDP_BODY);
    let all = [HOP, OPTIONS, ROUTE, ATOMIC, AUTH, OPTIONS];
    let mut longest = [0; 2047];
    longest[0] = 255;
    check(vec![
        ("hop-by-hop", udp(&[HOP]), Reads(Udp, Whole)),
        ("routing", udp(&[ROUTE]), Reads(Udp, Whole)),
        ("destination options", udp(&[OPTIONS]), Reads(Udp, Whole)),
        ("AH", udp(&[AUTH]), Reads(Udp, Whole)),
        ("an atomic fragment", udp(&[ATOMIC]), Reads(Udp, Whole)),
        ("all of them", udp(&all), Reads(Udp, Whole)),
        (
            "all of them backwards",
            udp(&all.map(|h| h).into_iter().rev().collect::<Vec<_>>()),
            Reads(Udp, Whole),
        ),
        ("eight", udp(&[OPTIONS; 8]), Reads(Udp, Whole)),
        ("nine", udp(&[OPTIONS; 9]), Faulty(Other)),
        ("ESP behind options", chain(&[OPTIONS], 50, &[0; 12]), Reads(Esp, Whole)),
        ("GRE behind options", chain(&[OPTIONS], 47, &[0; 12]), Reads(Gre, Whole)),
        ("no next header", chain(&[], 59, &[0; 4]), Reads(Other, Whole)),
        ("no next header behind options", chain(&[HOP], 59, &[]), Reads(Other, Whole)),
        ("mobility", chain(&[], 135, &[59, 0, 0, 0, 0, 0, 0, 0]), Reads(Other, Whole)),
        ("options of 16 bytes in 15", chain(&[(60, &OPTIONS.1[..14])], 17, &[]), Faulty(Other)),
        ("options of one byte", chain(&[(60, &[])], 17, &[]), Faulty(Other)),
        ("AH of 12 bytes in 11", chain(&[(51, &AUTH.1[..10])], 17, &[]), Faulty(Other)),
        ("half a fragment header", chain(&[(44, &[0, 0, 0])], 17, &[]), Faulty(Other)),
        ("the longest options", chain(&[(60, &longest)], 17, UDP_BODY), Reads(Udp, Whole)),
        ("eight of the longest", chain(&[(60, &longest[..]); 8], 17, UDP_BODY), Reads(Udp, Whole)),
        ("the longest AH", chain(&[(51, &longest[..1027])], 17, UDP_BODY), Reads(Udp, Whole)),
        ("the longest, cut", chain(&[(60, &longest[..2046])], 17, &[]), Faulty(Other)),
        ("no next header, yet more", chain(&[HOP], 59, UDP_BODY), Reads(Other, Whole)),
        ("mobility behind options", chain(&[OPTIONS], 135, UDP_BODY), Reads(Other, Whole)),
        ("options, then nothing", chain(&[OPTIONS], 17, &[]), Faulty(Udp)),
    ]);
}

#[test]
fn ipv6_fragments() {
    let udp = |headers: &[_]| chain(headers, 17, UDP_BODY);
    check(vec![
        ("first of UDP", udp(&[FIRST]), Reads(UdpFragment, First)),
        ("later of UDP", udp(&[LATER]), Reads(UdpFragment, Later)),
        ("first behind routing", udp(&[HOP, ROUTE, FIRST, OPTIONS]), Reads(UdpFragment, First)),
        ("later behind routing", udp(&[HOP, ROUTE, LATER]), Reads(UdpFragment, Later)),
        ("later whose next is options", chain(&[LATER], 60, &[7; 9]), Reads(Other, Later)),
        ("later of TCP", chain(&[LATER], 6, &[1]), Reads(Tcp, Later)),
        ("first of TCP, tiny", chain(&[FIRST], 6, &[0; 19]), Faulty(Tcp)),
        ("first whose options are cut", chain(&[FIRST, (60, &[9])], 6, &[0; 20]), Faulty(Other)),
        ("two fragment headers", udp(&[FIRST, FIRST]), Faulty(Other)),
        ("two atomic ones", udp(&[ATOMIC, ATOMIC]), Faulty(Other)),
    ]);
    let parsed = |frame: Vec<u8>| parse::frame(&frame, &port(0)).expect("reads");
    assert_eq!(parsed(udp(&[LATER])).fragment_id, 0x0102_0304);
    assert_eq!(parsed(udp(&[LATER])).flow, Flow::v6(CLIENT6, VIP6, 17, 0, 0));
    assert_eq!(parsed(udp(&[FIRST])).flow, Flow::v6(CLIENT6, VIP6, 17, 40000, 80));
    assert_eq!(parsed(udp(&[OPTIONS, ROUTE])).l4, 14 + 40 + 16 + 8);
}

#[test]
fn every_field_of_an_ipv6_packet() {
    let frame = with(padded(udp6(), 9), &[(14, 0x6B), (15, 0x9A)]);
    let expected = Parsed {
        flow: Flow::v6(CLIENT6, VIP6, 17, 40000, 80),
        class: Udp,
        l3: 14,
        l4: 54,
        length: 53,
        fragment: Whole,
        fragment_id: 0,
        syn: false,
        tos: 0xB9,
        dont_fragment: true,
        icmp: parse::Icmp::Other,
        fault: None,
        ..Parsed::default()
    };
    assert_eq!(parse::frame(&frame, &port(0)), Ok(expected));
}
