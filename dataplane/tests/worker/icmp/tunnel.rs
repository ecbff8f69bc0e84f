//! S-7: errors about our own outer headers.

use std::net::IpAddr;

use dataplane::io::Frame;
use tables::counters::Event;
use tables::*;

use super::packets::*;
use super::world::{BACKENDS, OUR_TUNNEL6, World};
use crate::rig::{OUR_TUNNEL, OURS, ROUTER, Rig, VIP};

/// As much of the outer header as every router quotes: the header and 8 bytes.
fn quote(world: &World, backend: u8, proto: u8) -> Vec<u8> {
    let inner = &request(Family::V4, TCP, 100)[..8];
    match world.backend(backend) {
        IpAddr::V4(backend) => ipv4(OUR_TUNNEL, backend.octets(), proto, &[], inner),
        IpAddr::V6(backend) => ipv6(OUR_TUNNEL6, backend.octets(), proto, inner),
    }
}

/// "Too big" from a router between us and a backend.
fn report(world: &World, backend: u8, mtu: u16) -> Vec<u8> {
    let [m0, m1] = mtu.to_be_bytes();
    let rest = [&[0, 0, m0, m1], &quote(world, backend, 4)[..]].concat();
    match world.outer {
        Family::V4 => icmp4(HOP, OUR_TUNNEL, 3, 4, &rest),
        Family::V6 => icmp6(HOP6, OUR_TUNNEL6, 2, 0, &rest),
    }
}

fn arrive(rig: &mut Rig, packet: &[u8], now: u32) {
    rig.worker.io.arrive(PortId(0), &framed(packet, 0));
    rig.worker.step(Tick(now));
}

/// The largest packet that goes through at a moment, found by trying; every client goes to the one
/// backend.
fn largest(rig: &mut Rig, now: u32) -> usize {
    let mut goes = |length: usize| {
        arrive(rig, &request(Family::V4, TCP, length), now);
        let frame = rig.worker.io.ports[0].sent.pop_back().expect("sent on or answered");
        let answered = frame.bytes()[12] == 8 && frame.bytes()[23] == 1;
        !answered
    };
    let (mut fits, mut not) = (100, 1500);
    while not - fits > 1 {
        let middle = (fits + not) / 2;
        if goes(middle) { fits = middle } else { not = middle }
    }
    fits
}

/// Everybody goes to backend 0.
fn one() -> World {
    let mut weights = [0; BACKENDS as usize];
    weights[0] = 1;
    World { weights, rate: 10_000, ..World::default() }
}

#[test]
fn s7_a_report_lowers_the_path_mtu_of_its_backend_for_ten_minutes_at_every_worker() {
    for (world, overhead) in [(one(), 20), (World { outer: Family::V6, ..one() }, 40)] {
        let mut rigs = Rig::several(world.tables(), 2);
        assert_eq!(largest(&mut rigs[0], 1), 1500 - overhead);
        arrive(&mut rigs[0], &report(&world, 0, 1400), 8);
        assert_eq!(rigs[0].counters.outcome(Outcome::TunnelError), 1);
        assert_eq!(rigs[0].counters.event(Event::PathMtuLowered), 1);
        let to_host = rigs[0].worker.io.ports[0].to_host.as_ref().map(|host| host.len());
        assert_eq!(to_host, Some(0), "it is not the host's");
        for (rig, now) in [(0, 8), (1, 8), (0, 8 + 4799)] {
            assert_eq!(largest(&mut rigs[rig], now), 1400 - overhead, "worker {rig} at {now}");
        }
        assert_eq!(largest(&mut rigs[0], 8 + 4800), 1500 - overhead, "ten minutes later");
    }
}

#[test]
fn s7_the_client_is_told_what_fits_now() {
    let world = one();
    let mut rig = world.rig();
    arrive(&mut rig, &report(&world, 0, 1400), 8);
    arrive(&mut rig, &request(Family::V4, TCP, 1381), 8);
    let answer = rig.worker.io.ports[0].sent.pop_back().expect("answered");
    assert_eq!(answer.bytes()[40..42], 1380_u16.to_be_bytes());
}

#[test]
fn s7_other_backends_keep_theirs() {
    let world = one();
    let mut rig = world.rig();
    arrive(&mut rig, &report(&world, 1, 1400), 8);
    assert_eq!(rig.counters.event(Event::PathMtuLowered), 1);
    assert_eq!(largest(&mut rig, 8), 1480);
}

#[test]
fn s7_reports_are_believed_down_to_a_floor() {
    let v6 = World { outer: Family::V6, ..one() };
    for (world, reported, fits) in [
        (one(), 576, 556),
        (one(), 575, 556),
        (one(), 68, 556),
        (one(), 1499, 1479),
        (v6.clone(), 1280, 1240),
        (v6, 1279, 1240),
    ] {
        let mut rig = world.rig();
        arrive(&mut rig, &report(&world, 0, reported), 8);
        assert_eq!(largest(&mut rig, 8), fits, "{reported}");
    }
}

#[test]
fn s7_a_report_only_ever_lowers() {
    let world = one();
    let mut rig = world.rig();
    for (reported, fits, lowered) in
        [(1500, 1480, 0), (9000, 1480, 0), (1400, 1380, 1), (1450, 1380, 1), (1300, 1280, 2)]
    {
        arrive(&mut rig, &report(&world, 0, reported), 8);
        assert_eq!(largest(&mut rig, 8), fits, "{reported}");
        assert_eq!(rig.counters.event(Event::PathMtuLowered), lowered, "{reported}");
    }
}

#[test]
fn s7_a_router_that_reports_no_mtu_means_the_next_usual_one() {
    let world = one();
    let mut report = report(&world, 0, 0);
    // The quoted total length.
    (report[30], report[31]) = (0x05, 0xDC);
    let mut rig = world.rig();
    arrive(&mut rig, &report, 8);
    assert_eq!(largest(&mut rig, 8), 1492 - 20);
}

#[test]
fn s7_only_our_own_tunnels_count() {
    let world = one();
    let quoted = |from, to, proto| {
        let quote = ipv4(from, to, proto, &[], &[0x45; 8]);
        icmp4(HOP, OUR_TUNNEL, 3, 4, &[&[0, 0, 5, 0], &quote[..]].concat())
    };
    for (name, packet) in [
        ("to an address that is no backend's", quoted(OUR_TUNNEL, [10, 9, 9, 9], 4)),
        ("from an address that is not ours", quoted([10, 0, 0, 3], [10, 1, 0, 0], 4)),
        ("of the host's own traffic", quoted(OUR_TUNNEL, [10, 1, 0, 0], TCP)),
        ("to a port that is not GUE's", quoted(OUR_TUNNEL, [10, 1, 0, 0], UDP)),
    ] {
        let mut rig = world.rig();
        arrive(&mut rig, &packet, 8);
        assert_eq!(rig.counters.outcome(Outcome::Host), 1, "{name}");
        assert_eq!(largest(&mut rig, 8), 1480, "{name}");
    }
}

#[test]
fn s7_other_errors_are_counted_and_change_nothing() {
    for world in [one(), World { outer: Family::V6, ..one() }] {
        let rest = [&[0; 4], &quote(&world, 0, 47)[..]].concat();
        let packet = match world.outer {
            Family::V4 => icmp4(HOP, OUR_TUNNEL, 3, 1, &rest),
            Family::V6 => icmp6(HOP6, OUR_TUNNEL6, 1, 0, &rest),
        };
        let mut rig = world.rig();
        arrive(&mut rig, &packet, 8);
        assert_eq!(rig.counters.outcome(Outcome::TunnelError), 1);
        assert_eq!(rig.counters.event(Event::PathMtuLowered), 0);
        assert_eq!(rig.paths.errors(SlotId::new(0).expect("in range")), 1);
        assert_eq!(rig.paths.errors(SlotId::new(1).expect("in range")), 0);
    }
}

#[test]
fn s7_a_slots_next_backend_starts_anew() {
    let world = one();
    let mut rig = world.rig();
    arrive(&mut rig, &report(&world, 0, 1400), 8);
    let mut epochs = SlotEpochs::default();
    epochs.end_all();
    let mut tables = world.tables();
    tables.slots = SlotTable::new([(epochs, Some(world.templates(0)))]);
    rig.publisher.try_publish(tables).expect("published");
    assert_eq!(largest(&mut rig, 8), 1480);
}

/// The client's packet in its tunnel, as a generous router quotes it.
fn quoted_inner(inner: &[u8], tunnel: &[u8], proto: u8) -> Vec<u8> {
    let payload = [tunnel, inner].concat();
    let quote = ipv4(OUR_TUNNEL, [10, 1, 0, 0], proto, &[], &payload);
    icmp4(HOP, OUR_TUNNEL, 3, 4, &[&[0, 0, 0x05, 0x78], &quote[..]].concat())
}

/// UDP to our port, and a header of variant 0 without more.
const GUE: [u8; 12] = [0x90, 1, 0x17, 0xC0, 0, 0, 0, 0, 0, 4, 0, 0];

#[test]
fn s7_where_the_quote_tells_whose_packet_it_was_the_client_is_told_at_once() {
    let v4 = request(Family::V4, TCP, 1400);
    let v6 = request(Family::V6, UDP, 1400);
    let expected4 = |mtu: u16, quoted: usize| {
        let [m0, m1] = mtu.to_be_bytes();
        icmp4(VIP, CLIENT, 3, 4, &[&[0, 0, m0, m1], &v4[..quoted]].concat())
    };
    let [m0, m1] = 1380_u16.to_be_bytes();
    let expected6 = icmp6(VIP6, CLIENT6, 2, 0, &[&[0, 0, m0, m1], &v6[..500]].concat());
    for (name, inner, tunnel, proto, expected) in [
        ("IPIP, 28 bytes", &v4[..28], &[][..], 4, expected4(1380, 28)),
        ("IPIP, much", &v4[..1000], &[], 4, expected4(1380, 548)),
        ("GRE", &v4[..28], &[0, 0, 8, 0], 47, expected4(1380, 28)),
        ("GRE with a key", &v4[..29], &[0x20, 0, 8, 0, 0, 0, 0, 7], 47, expected4(1380, 29)),
        ("GUE", &v4[..28], &GUE, 17, expected4(1380, 28)),
        ("GUE variant 1", &v4[..28], &GUE[..8], 17, expected4(1380, 28)),
        ("IPv6 inside", &v6[..500], &[], 41, expected6),
    ] {
        let mut rig = one().rig();
        arrive(&mut rig, &quoted_inner(inner, tunnel, proto), 8);
        assert_eq!(rig.counters.outcome(Outcome::TunnelError), 1, "{name}");
        assert_eq!(rig.counters.event(Event::IcmpSent), 1, "{name}");
        let sent = rig.worker.io.ports[0].sent.pop_back().expect("told");
        let header = if inner[0] >> 4 == 4 { 20 } else { 40 };
        let (got, expected) = (&sent.bytes()[14..], &expected[..]);
        // The IP header's own fields are those of every answer (see `too_big`).
        assert_eq!(got[header..], expected[header..], "{name}");
        assert_eq!(got[header - 8..header], expected[header - 8..header], "{name}: from, to");
        assert_eq!(sent.bytes()[..12], [ROUTER.0, OURS.0].concat(), "{name}");
    }
}

#[test]
fn s7_nobody_is_told_of_what_is_not_a_clients_packet_or_has_no_need() {
    let with = |changes: &[(usize, u8)]| {
        let mut inner = request(Family::V4, TCP, 1400)[..28].to_vec();
        changes.iter().for_each(|(at, byte)| inner[*at] = *byte);
        inner
    };
    for (name, inner) in [
        ("27 bytes", with(&[])[..27].to_vec()),
        ("without \"don't fragment\"", with(&[(6, 0)])),
        ("a later fragment", with(&[(7, 1)])),
        ("ICMP", with(&[(9, 1)])),
        ("to an address that is no VIP", with(&[(19, 99)])),
        ("from a group", with(&[(12, 224)])),
        ("from nobody", with(&[(12, 0)])),
    ] {
        let mut rig = one().rig();
        arrive(&mut rig, &quoted_inner(&inner, &[], 4), 8);
        assert_eq!(rig.counters.event(Event::PathMtuLowered), 1, "{name}");
        assert!(rig.worker.io.ports[0].sent.is_empty(), "{name}");
    }
}

#[test]
fn d8_what_may_be_fragmented_is_cut_to_the_path_mtu_that_was_reported() {
    let world = World { fragments: true, ..one() };
    let mut packet = request(Family::V4, UDP, 1450);
    (packet[6], packet[10], packet[11]) = (0, 0, 0);
    let sum = checksum(&[&packet[..20]]).to_be_bytes();
    packet[10..12].copy_from_slice(&sum);
    let mut rig = world.rig();
    arrive(&mut rig, &packet, 8);
    assert_eq!(rig.worker.io.ports[0].sent.len(), 1, "whole");
    rig.worker.io.ports[0].sent.clear();
    arrive(&mut rig, &report(&world, 0, 1400), 8);
    arrive(&mut rig, &packet, 8);
    let lengths: Vec<_> =
        rig.worker.io.ports[0].sent.iter().map(|f| f.bytes().len() - 14).collect();
    assert_eq!(lengths.len(), 2);
    assert!(lengths.iter().all(|length| *length <= 1400), "{lengths:?}");
    assert_eq!(rig.counters.outcome(Outcome::TooBig), 0);
}
