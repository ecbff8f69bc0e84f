//! S-7: what is around an error, its own headers and its frame, changes nothing about where it goes;
//! what is no whole error is none.

use std::sync::Arc;

use dataplane::io::Frame;
use tables::counters::Event;
use tables::rules::Protocol;
use tables::*;

use super::packets::*;
use super::world::World;
use crate::rig::{self, OUR_TUNNEL, Rig, VIP};

/// An answer of the backend's, as much of it as every router quotes, behind four bytes.
fn quote(family: Family, sport: u16) -> Vec<u8> {
    let transport = transport(TCP, sport, 40000, 8);
    let quote = match family {
        Family::V4 => ipv4(VIP, CLIENT, TCP, &[], &transport),
        Family::V6 => ipv6(VIP6, CLIENT6, TCP, &transport),
    };
    [&[0; 4], &quote[..]].concat()
}

fn error4() -> Vec<u8> {
    icmp4(HOP, VIP, 11, 0, &quote(Family::V4, 80))
}

/// The error behind an extension header.
fn behind(kind: u8, header: [u8; 8]) -> Vec<u8> {
    let error = icmp6(HOP6, VIP6, 3, 0, &quote(Family::V6, 80));
    ipv6(HOP6, VIP6, kind, &[&header, &error[40..]].concat())
}

/// A worker whose client has a connection that selection would give to another backend by now.
fn moved(world: &World, family: Family) -> (Rig, u8) {
    let mut rig = world.rig();
    rig.send([&*framed(&request(family, TCP, 100), world.vlan)]);
    let backend = left(&mut rig)[0].0;
    let mut weights = [1; 5];
    weights[usize::from(backend)] = 0;
    let others = World { weights, ..world.clone() }.tables();
    rig.publisher.try_publish(Arc::new(others)).expect("published");
    (rig, backend)
}

/// The backends that frames left for, and the packets in their tunnels.
fn left(rig: &mut Rig) -> Vec<(u8, Vec<u8>)> {
    let sent = rig.worker.io.ports[0].sent.drain(..);
    let read = |bytes: &[u8]| {
        let l3 = if bytes[12] == 0x81 { 18 } else { 14 };
        (bytes[l3 + 19], bytes[l3 + 20..].to_vec())
    };
    sent.map(|frame| read(frame.bytes())).collect()
}

fn ends(rig: &mut Rig, frame: &[u8]) -> Outcome {
    let before = Outcome::ALL.iter().map(|o| (*o, rig.counters.outcome(*o))).collect::<Vec<_>>();
    rig.send([frame]);
    let mut more = before.into_iter().filter(|(o, count)| rig.counters.outcome(*o) > *count);
    more.next().expect("it has ended").0
}

#[test]
fn s7_options_extension_headers_tags_and_padding_of_the_error_itself_do_not_matter() {
    let options = ipv4(HOP, VIP, 1, &[1; 40], &error4()[20..]);
    let padded = [framed(&error4(), 0), vec![0xEE; 46]].concat();
    let tagged = framed(&error4(), 7);
    for (name, vlan, family, frame, packet) in [
        ("options", 0, Family::V4, framed(&options, 0), options),
        ("padding", 0, Family::V4, padded, error4()),
        ("a tag", 7, Family::V4, tagged, error4()),
        ("hop-by-hop", 0, Family::V6, vec![], behind(0, [58, 0, 1, 4, 0, 0, 0, 0])),
        ("destination options", 0, Family::V6, vec![], behind(60, [58, 0, 1, 4, 0, 0, 0, 0])),
        ("routing", 0, Family::V6, vec![], behind(43, [58, 0, 4, 0, 0, 0, 0, 0])),
        ("an atomic fragment", 0, Family::V6, vec![], behind(44, [58, 0, 0, 0, 1, 2, 3, 4])),
    ] {
        let (mut rig, backend) = moved(&World { vlan, ..World::default() }, family);
        let frame = if frame.is_empty() { framed(&packet, vlan) } else { frame };
        assert_eq!(ends(&mut rig, &frame), Outcome::Forwarded, "{name}");
        assert_eq!(left(&mut rig), [(backend, packet)], "{name}");
        assert_eq!(rig.counters.event(Event::EntryHit), 1, "{name}");
    }
}

#[test]
fn s7_padding_is_no_quote_and_a_fragment_no_error() {
    let cut = icmp4(HOP, VIP, 11, 0, &quote(Family::V4, 80)[..4 + 27]);
    let padding = [framed(&cut, 0), vec![0x50; 19]].concat();
    let fragment = |place: u8, more: u8| {
        let mut packet = error4();
        (packet[6], packet[7]) = (more, place);
        framed(&packet, 0)
    };
    for (name, frame) in [
        ("the quote's last byte in the padding", padding),
        ("a first fragment", fragment(0, 0x20)),
        ("a later fragment", fragment(9, 0)),
        ("a first fragment over IPv6", framed(&behind(44, [58, 0, 0, 1, 1, 2, 3, 4]), 0)),
        ("a later fragment over IPv6", framed(&behind(44, [58, 0, 0, 9, 1, 2, 3, 4]), 0)),
    ] {
        let mut rig = World::default().rig();
        assert_eq!(ends(&mut rig, &frame), Outcome::VipNoRule, "{name}: no rule takes ICMP");
        let world = World { rules: vec![(Protocol::L3Default, None)], ..World::default() };
        let mut rig = world.rig();
        assert_eq!(ends(&mut rig, &frame), Outcome::Forwarded, "{name}: ICMP like any other");
        assert_eq!(rig.counters.event(Event::EntryCreated), 1, "{name}");
    }
}

#[test]
fn n7_an_error_or_an_echo_request_from_nowhere_is_dropped_by_name() {
    let echo = |from| icmp4(from, VIP, 8, 0, &[1; 12]);
    let error = |from| icmp4(from, VIP, 11, 0, &quote(Family::V4, 80));
    let spent = |mut packet: Vec<u8>| {
        packet[8] = 0;
        packet
    };
    for (name, packet, outcome) in [
        ("echo from everyone", echo([255; 4]), Outcome::MartianSource),
        ("echo from loopback", echo([127, 0, 0, 1]), Outcome::MartianSource),
        ("echo from the VIP itself", echo(VIP), Outcome::MartianSource),
        ("echo without a hop left", spent(echo(CLIENT)), Outcome::TtlExpired),
        ("an error from a group", error([224, 0, 0, 1]), Outcome::MartianSource),
        ("an error from the VIP itself", error(VIP), Outcome::MartianSource),
        ("an error without a hop left", spent(error4()), Outcome::TtlExpired),
    ] {
        let mut rig = World::default().rig();
        assert_eq!(ends(&mut rig, &framed(&packet, 0)), outcome, "{name}");
        assert!(rig.worker.io.ports[0].sent.is_empty(), "{name}");
    }
}

#[test]
fn s7_the_rule_of_the_connection_decides_whose_errors_are_taken() {
    // The rule of port 82 takes clients of 192.0.2.0/24, as the router is, and not the quoted one.
    let mut rig = Rig::new(rig::tables(&[1], None));
    let error = icmp4(HOP, VIP, 11, 0, &quote(Family::V4, 82));
    assert_eq!(ends(&mut rig, &framed(&error, 0)), Outcome::ClientDenied);

    // A connection to an address within a next-hop rule's prefix (F-1).
    let world = World { prefixes: vec!["192.0.2.0/24"], ..World::default() };
    let inside = [192, 0, 2, 9];
    let request = ipv4(CLIENT, inside, TCP, &[], &transport(TCP, 40000, 443, 40));
    let quote = ipv4(inside, CLIENT, TCP, &[], &transport(TCP, 443, 40000, 8));
    let error = icmp4(HOP, inside, 3, 1, &[&[0; 4], &quote[..]].concat());
    let mut rig = world.rig();
    rig.send([&*framed(&request, 0), &*framed(&error, 0)]);
    let sent = left(&mut rig);
    assert_eq!((sent.len(), sent[0].0), (2, sent[1].0));
    assert_eq!(rig.counters.event(Event::EntryCreated), 1, "the connection's own");
}

#[test]
fn s7_an_error_about_a_tunnel_whose_source_is_spread_counts_too() {
    let report = |from: [u8; 4]| {
        let quote = ipv4(from, [10, 1, 0, 0], 4, &[], &[0x45; 8]);
        framed(&icmp4(HOP, from, 3, 4, &[&[0, 0, 5, 0x78], &quote[..]].concat()), 0)
    };
    let tables = || {
        let prefixes = ["172.16.0.0/16".parse().expect("a prefix")].into();
        Tables { tunnel_prefixes: prefixes, ..World::default().tables() }
    };
    for (from, outcome, lowered) in [
        ([172, 16, 9, 9], Outcome::TunnelError, 1),
        (OUR_TUNNEL, Outcome::TunnelError, 1),
        ([172, 17, 9, 9], Outcome::Host, 0),
    ] {
        let mut rig = Rig::new(tables());
        assert_eq!(ends(&mut rig, &report(from)), outcome, "{from:?}");
        assert_eq!(rig.counters.event(Event::PathMtuLowered), lowered, "{from:?}");
    }
}
