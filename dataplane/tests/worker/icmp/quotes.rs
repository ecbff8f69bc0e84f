//! S-7: an error follows the connection that it is about.

use std::sync::Arc;

use dataplane::io::Frame;
use tables::counters::Event;
use tables::rules::Protocol;
use tables::*;

use super::packets::*;
use super::world::{World, per_connection, row};
use crate::rig::{Rig, VIP};

/// The answer of the backend that has the connection, with `header` between IP header and transport.
fn answer(family: Family, proto: u8, quoted: usize) -> Vec<u8> {
    let transport = transport(proto, 80, 40000, quoted);
    match family {
        Family::V4 => ipv4(VIP, CLIENT, proto, &[], &transport),
        Family::V6 => ipv6(VIP6, CLIENT6, proto, &transport),
    }
}

/// "Time exceeded" from a router on the way, with four bytes that mean nothing.
fn error(family: Family, quote: &[u8]) -> Vec<u8> {
    let rest = [&[0; 4], quote].concat();
    match family {
        Family::V4 => icmp4(HOP, VIP, 11, 0, &rest),
        Family::V6 => icmp6(HOP6, VIP6, 3, 0, &rest),
    }
}

/// The packets that left, each inside its tunnel, and the backend that it left for.
fn left(rig: &mut Rig) -> Vec<(u8, Vec<u8>)> {
    let sent = rig.worker.io.ports[0].sent.drain(..);
    sent.map(|frame| (frame.bytes()[33], frame.bytes()[34..].to_vec())).collect()
}

fn send(rig: &mut Rig, packet: &[u8]) {
    rig.send([&*framed(packet, 0)]);
}

/// A connection whose backend selection would not choose any more, at one worker, and another
/// worker that has never seen it.
fn moved(world: &World, family: Family, proto: u8) -> (Rig, u8) {
    let mut rigs = Rig::several(world.tables(), 2);
    send(&mut rigs[0], &request(family, proto, 100));
    let backend = left(&mut rigs[0])[0].0;
    let mut weights = [1; 5];
    weights[usize::from(backend)] = 0;
    let others = Arc::new(World { weights, ..world.clone() }.tables());
    rigs.iter().for_each(|rig| rig.publisher.try_publish(Arc::clone(&others)).expect("published"));
    (rigs.remove(1), backend)
}

/// The error went to `backend`, unchanged, and left no trace in the connection table.
fn followed(rig: &mut Rig, error: &[u8], backend: u8, hits: u64, name: &str) {
    send(rig, error);
    assert_eq!(left(rig), [(backend, error.to_vec())], "{name}");
    assert_eq!(rig.counters.outcome(Outcome::Forwarded), 1, "{name}");
    for event in [Event::EntryCreated, Event::EntryReplaced, Event::EntryEvicted] {
        assert_eq!(rig.counters.event(event), 0, "{name}: {}", event.name());
    }
    assert_eq!(rig.counters.event(Event::EntryHit), hits, "{name}");
}

fn extension(kind: u8, next: u8, length: usize) -> Vec<u8> {
    let mut header = vec![0; length];
    header[0] = next;
    header[1] = if kind == 51 { (length / 4 - 2) as u8 } else { (length / 8 - 1) as u8 };
    header
}

/// Quotes of one connection's packets, as standards and routers make them.
fn quotes(family: Family, proto: u8) -> Vec<(&'static str, Vec<u8>)> {
    let whole = answer(family, proto, 200);
    let header = if family == Family::V4 { 20 } else { 40 };
    let with = |changes: &[(usize, u8)]| {
        let mut quote = whole[..header + 8].to_vec();
        changes.iter().for_each(|(at, byte)| quote[*at] = *byte);
        quote
    };
    let mut quotes = vec![
        ("8 bytes behind the header", whole[..header + 8].to_vec()),
        ("12 bytes", whole[..header + 12].to_vec()),
        ("an odd number of bytes", whole[..header + 33].to_vec()),
        ("all of it", whole.clone()),
        ("with the length that it had", with(&[(2, 0x05), (4, 0x05)])),
    ];
    match family {
        Family::V4 => {
            quotes.push(("without a checksum", with(&[(10, 0), (11, 0)])));
            quotes.push(("with another checksum", with(&[(10, 0xAB), (11, 0xCD)])));
            quotes.push(("with a TTL counted down", with(&[(8, 0)])));
            quotes.push(("of a first fragment", with(&[(6, 0x20)])));
            for words in 1..=10 {
                let transport = &whole[20..28];
                quotes.push((
                    "with options",
                    ipv4(VIP, CLIENT, proto, &vec![1; words * 4], transport),
                ));
            }
        }
        Family::V6 => {
            for (kind, length) in [(0, 8), (43, 24), (60, 16), (51, 24), (44, 8)] {
                let rest = [extension(kind, proto, length), whole[40..48].to_vec()].concat();
                quotes.push(("with an extension header", ipv6(VIP6, CLIENT6, kind, &rest)));
            }
            let chain =
                [extension(0, 60, 8), extension(60, 43, 8), extension(43, proto, 8)].concat();
            let rest = [chain, whole[40..48].to_vec()].concat();
            quotes.push(("with three", ipv6(VIP6, CLIENT6, 0, &rest)));
            let first = [proto, 0, 0, 1, 0, 0, 0, 9];
            let rest = [&first[..], &whole[40..48]].concat();
            quotes.push(("of a first fragment", ipv6(VIP6, CLIENT6, 44, &rest)));
        }
    }
    quotes
}

#[test]
fn s7_an_error_reaches_the_connections_backend_at_any_worker_whatever_is_quoted() {
    for family in [Family::V4, Family::V6] {
        for proto in [TCP, UDP] {
            for (name, quote) in quotes(family, proto) {
                let (mut rig, backend) = moved(&World::default(), family, proto);
                let name = format!("{family:?} {proto} {name}");
                followed(&mut rig, &error(family, &quote), backend, 1, &name);
            }
        }
    }
}

/// Type and code of every error that is about a connection.
const ERRORS4: [(u8, u8); 6] = [(3, 0), (3, 1), (3, 4), (3, 13), (11, 1), (12, 0)];
const ERRORS6: [(u8, u8); 5] = [(1, 0), (1, 6), (2, 0), (3, 1), (4, 2)];

#[test]
fn s7_every_kind_of_error_does() {
    let rest = |family| [&[0, 0, 5, 0xDC], &answer(family, TCP, 8)[..]].concat();
    let v4 = ERRORS4.map(|(kind, code)| icmp4(HOP, VIP, kind, code, &rest(Family::V4)));
    let v6 = ERRORS6.map(|(kind, code)| icmp6(HOP6, VIP6, kind, code, &rest(Family::V6)));
    for (error, family) in
        v4.iter().map(|e| (e, Family::V4)).chain(v6.iter().map(|e| (e, Family::V6)))
    {
        let (mut rig, backend) = moved(&World::default(), family, TCP);
        followed(&mut rig, error, backend, 1, &format!("{:?}", &error[..44]));
    }
}

#[test]
fn s7_without_an_entry_any_appliance_of_a_fleet_sends_it_where_the_connection_was() {
    for family in [Family::V4, Family::V6] {
        for proto in [TCP, UDP] {
            let mut one = World::default().rig();
            send(&mut one, &request(family, proto, 100));
            let backend = left(&mut one)[0].0;
            let mut other = World::default().rig();
            let error = error(family, &answer(family, proto, 8));
            followed(&mut other, &error, backend, 0, "without an entry");
        }
    }
}

#[test]
fn s7_the_three_tuple_entry_is_looked_at_after_the_five_tuple_one() {
    // The client's datagrams came in fragments: a first one of them made the entry.
    let mut first = request(Family::V4, UDP, 100);
    first[6] = 0x20;
    let mut rigs = Rig::several(World::default().tables(), 2);
    send(&mut rigs[0], &first);
    let backend = left(&mut rigs[0])[0].0;
    let mut weights = [1; 5];
    weights[usize::from(backend)] = 0;
    let others = Arc::new(World { weights, ..World::default() }.tables());
    rigs[1].publisher.try_publish(others).expect("published");
    let whole = error(Family::V4, &answer(Family::V4, UDP, 8));
    followed(&mut rigs[1], &whole, backend, 1, "a whole packet quoted");
}

#[test]
fn s7_a_quoted_later_fragment_of_udp_goes_as_the_clients_fragments_do() {
    let later = |mut packet: Vec<u8>| {
        packet[7] = 9;
        packet
    };
    // Only a rule for all ports takes a packet without one (F-2).
    let world = World { rules: vec![(Protocol::Udp, None)], ..World::default() };
    let mut rig = world.rig();
    send(&mut rig, &later(request(Family::V4, UDP, 100)));
    let backend = left(&mut rig)[0].0;
    let error = error(Family::V4, &later(answer(Family::V4, UDP, 8)));
    let mut other = world.rig();
    followed(&mut other, &error, backend, 0, "a later fragment quoted");

    let mut listed = World::default().rig();
    send(&mut listed, &error);
    assert_eq!(listed.counters.outcome(Outcome::VipNoRule), 1, "listed ports");
}

#[test]
fn s7_packets_of_an_untracked_protocol_are_followed_by_their_hash() {
    // UDP under NONE in gcp-external (T-4).
    let mut plan = per_connection();
    plan.0[PacketClass::Udp as usize] = row(FieldSet::FIVE_TUPLE, None);
    let world = World { plan, ..World::default() };
    let mut rig = world.rig();
    send(&mut rig, &request(Family::V4, UDP, 100));
    let backend = left(&mut rig)[0].0;
    send(&mut rig, &error(Family::V4, &answer(Family::V4, UDP, 8)));
    assert_eq!(left(&mut rig)[0].0, backend);
    assert_eq!(rig.counters.event(Event::EntryHit), 0);
}

#[test]
fn s7_under_per_session_the_sessions_entry_decides() {
    for fields in [FieldSet::ONE_TUPLE, FieldSet::TWO_TUPLE, FieldSet::THREE_TUPLE] {
        let plan = Plan([row(fields, Some(fields)); 7]);
        let world = World { plan, ..World::default() };
        let (mut rig, backend) = moved(&world, Family::V4, TCP);
        let error = error(Family::V4, &answer(Family::V4, TCP, 8));
        followed(&mut rig, &error, backend, 1, &format!("{fields:?}"));
    }
}

#[test]
fn s7_after_a_change_of_the_tracking_key_the_old_one_counts_for_a_while() {
    let before = World::default();
    let mut rig = before.rig();
    send(&mut rig, &request(Family::V4, TCP, 100));
    let backend = left(&mut rig)[0].0;
    let fields = FieldSet::TWO_TUPLE;
    let mut row = row(fields, Some(fields));
    row.track_before = EarlierKeys::NONE.with(FieldSet::FIVE_TUPLE, Tick(80));
    let mut weights = [1; 5];
    weights[usize::from(backend)] = 0;
    let after = World { plan: Plan([row; 7]), weights, ..before };
    rig.publisher.try_publish(Arc::new(after.tables())).expect("published");
    send(&mut rig, &error(Family::V4, &answer(Family::V4, TCP, 8)));
    assert_eq!(left(&mut rig)[0].0, backend);
    assert_eq!(rig.counters.event(Event::EntryCreated), 1, "the connection's own");
}

#[test]
fn s7_an_error_is_no_activity() {
    let mut rig = World::default().rig();
    let arrive = |rig: &mut Rig, packet: &[u8], now| {
        rig.worker.io.arrive(PortId(0), &framed(packet, 0));
        rig.worker.step(Tick(now));
    };
    arrive(&mut rig, &request(Family::V4, TCP, 100), 1);
    arrive(&mut rig, &error(Family::V4, &answer(Family::V4, TCP, 8)), 80);
    assert_eq!(rig.counters.event(Event::EntryHit), 1, "still live");
    arrive(&mut rig, &request(Family::V4, TCP, 100), 81);
    assert_eq!(rig.counters.event(Event::EntryCreated), 2, "idle for its 80 ticks");
}

#[test]
fn s7_what_does_not_quote_a_packet_of_the_vip_is_icmp_like_any_other() {
    let quote = answer(Family::V4, TCP, 8);
    let of = |from, proto| ipv4(from, CLIENT, proto, &[], &quote[20..]);
    let plain = |kind, rest: &[u8]| icmp4(HOP, VIP, kind, 0, &[&[0; 4], rest].concat());
    let cases = [
        ("another's packet", error(Family::V4, &of([203, 0, 113, 11], TCP))),
        ("7 bytes behind the header", error(Family::V4, &quote[..27])),
        ("half a header", error(Family::V4, &quote[..19])),
        ("nothing", error(Family::V4, &[])),
        ("options beyond the quote", error(Family::V4, &[&[0x4F], &quote[1..]].concat())),
        ("a header of 16 bytes", error(Family::V4, &[&[0x44], &quote[1..]].concat())),
        ("IPv6 in IPv4", error(Family::V4, &answer(Family::V6, TCP, 8))),
        ("a redirect", plain(5, &quote)),
        ("source quench", plain(4, &quote)),
        ("an echo reply", plain(0, &quote)),
        ("another's, over IPv6", error(Family::V6, &ipv6(HOP6, CLIENT6, TCP, &[0; 8]))),
        ("a chain beyond the quote", error(Family::V6, &ipv6(VIP6, CLIENT6, 0, &[TCP, 9, 0, 0]))),
        ("an ICMPv6 redirect", icmp6(HOP6, VIP6, 137, 0, &[0; 36])),
    ];
    for (name, error) in cases {
        let mut rig = World::default().rig();
        send(&mut rig, &error);
        assert_eq!(rig.counters.outcome(Outcome::VipNoRule), 1, "{name}: no rule takes ICMP");
        assert!(left(&mut rig).is_empty(), "{name}");

        let world = World { rules: vec![(Protocol::L3Default, None)], ..World::default() };
        let mut rig = world.rig();
        send(&mut rig, &error);
        assert_eq!(rig.counters.event(Event::EntryCreated), 1, "{name}: tracked as ICMP");
        assert_eq!(left(&mut rig).len(), 1, "{name}");
    }
}

#[test]
fn s7_an_error_about_a_connection_that_no_rule_takes_is_dropped() {
    let mut quote = answer(Family::V4, TCP, 8);
    quote[21] = 81;
    let mut rig = World::default().rig();
    send(&mut rig, &error(Family::V4, &quote));
    assert_eq!(rig.counters.outcome(Outcome::VipNoRule), 1);
}

#[test]
fn s7_errors_about_other_protocols_follow_them() {
    let world = World { rules: vec![(Protocol::L3Default, None)], ..World::default() };
    for proto in [1, 47, 50, 132] {
        let mut rigs = Rig::several(world.tables(), 2);
        let of = |from, to| ipv4(from, to, proto, &[], &[8, 0, 1, 2, 3, 4, 5, 6]);
        send(&mut rigs[0], &of(CLIENT, VIP));
        let backend = left(&mut rigs[0])[0].0;
        let mut weights = [1; 5];
        weights[usize::from(backend)] = 0;
        let others = Arc::new(World { weights, ..world.clone() }.tables());
        rigs[1].publisher.try_publish(others).expect("published");
        followed(&mut rigs[1], &error(Family::V4, &of(VIP, CLIENT)), backend, 1, "no ports");
    }
}

#[test]
fn s7_the_zone_is_the_clients_and_not_the_routers() {
    let mut tables = World::default().tables();
    let zone = |prefix: &str, zone| (prefix.parse().expect("a prefix"), ZoneId(zone));
    tables.client_zones =
        [zone("198.51.100.0/24", 0), zone("192.0.2.0/24", 1)].into_iter().collect();
    let only = |slot| {
        let member = maglev::Member { name: "g/0", weight: 1 };
        let maglev = Maglev::build(&[member], 251, &tables.seed).expect("builds");
        let members = [SlotId::new(slot).expect("in range")].into();
        Arc::new(Pool { maglev: Arc::new(maglev), members })
    };
    let zonal = [only(3), only(4)];
    tables.services[0].as_mut().expect("there").zonal = zonal.into();
    let mut rig = Rig::new(tables);
    send(&mut rig, &error(Family::V4, &answer(Family::V4, TCP, 8)));
    assert_eq!(left(&mut rig)[0].0, 3);
}
