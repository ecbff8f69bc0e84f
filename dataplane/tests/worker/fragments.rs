//! S-6: later fragments of TCP follow their first one, wherever and whenever they arrive.

use dataplane::fragment::HELD;
use dataplane::io::Frame;
use proptest::prelude::*;
use tables::counters::Event;
use tables::{Outcome, Tick};

use crate::pieces::*;
use crate::rig::*;

const FAMILIES: [(&str, &str); 2] =
    [("198.51.100.7", "203.0.113.10"), ("2001:db8:1::7", "2001:db8:2::10")];

fn rig() -> Rig {
    Rig::new(tables(&[1; 5], None))
}

fn send(rig: &mut Rig, now: u32, frames: &[Vec<u8>]) {
    rig.send_at(Tick(now), frames.iter().map(|f| &**f));
    assert!(rig.balances());
}

/// A segment of 100 bytes in five fragments, the first with the whole TCP header.
fn segment((client, vip): (&str, &str), sport: u16) -> Vec<Vec<u8>> {
    fragments(&whole(client, vip, sport, false, 100), u32::from(sport), 24)
}

/// The backend that a whole packet goes to.
fn home((client, vip): (&str, &str), sport: u16) -> u8 {
    let mut rig = rig();
    rig.send([&*whole(client, vip, sport, false, 100)]);
    rig.backends()[0]
}

fn ends(rig: &Rig) -> Vec<(&'static str, u64)> {
    let counts = Outcome::ALL.iter().map(|o| (o.name(), rig.counters.outcome(*o)));
    counts.filter(|(_, count)| *count > 0).collect()
}

#[test]
fn s6_fragments_reach_their_first_ones_backend_in_any_order() {
    let orders = [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 0, 4, 1, 3], [1, 2, 3, 4, 0]];
    for (family, order) in FAMILIES.iter().flat_map(|f| orders.map(|o| (*f, o))) {
        for sport in 1..20 {
            let (mut rig, pieces) = (rig(), segment(family, sport));
            // One burst, and one frame a burst.
            let ordered = order.map(|i| pieces[i].clone());
            send(&mut rig, 1, &ordered);
            assert_eq!(rig.backends(), [home(family, sport); 5], "{order:?}");
            ordered.iter().for_each(|piece| send(&mut rig, 1, std::slice::from_ref(piece)));
            assert_eq!(rig.backends(), [home(family, sport); 5], "{order:?}");
            assert_eq!(ends(&rig), [("forwarded", 10)]);
        }
    }
}

#[test]
fn s6_what_arrives_before_its_first_one_waits_and_leaves_in_the_order_of_its_arrival() {
    for family in FAMILIES {
        let (mut rig, pieces) = (rig(), segment(family, 9));
        for (held, place) in [3, 1, 4, 2].into_iter().enumerate() {
            send(&mut rig, 1, &pieces[place..=place]);
            assert_eq!(rig.counters.held(), held as u64 + 1);
        }
        assert_eq!(ends(&rig), []);
        send(&mut rig, 1, &pieces[..1]);
        assert_eq!((rig.counters.held(), ends(&rig)), (0, vec![("forwarded", 5)]));
        let inner = |i: usize| pieces[i][14..].to_vec();
        let sent: Vec<_> = rig.worker.io.ports[0].sent.drain(..).collect();
        let sent: Vec<_> = sent.iter().map(|frame| frame.bytes()[34..].to_vec()).collect();
        assert_eq!(sent, [0, 3, 1, 4, 2].map(inner), "the inner packets are unchanged (N-1)");
        assert_eq!(rig.counters.event(Event::FragmentHeld), 4);
        assert_eq!(rig.counters.event(Event::Received), 5, "none is received twice");
    }
}

#[test]
fn s6_a_first_fragment_at_another_worker_releases_what_waits() {
    let mut rigs = Rig::several(tables(&[1; 5], None), 2);
    let pieces = segment(FAMILIES[0], 9);
    send(&mut rigs[0], 1, &pieces[1..]);
    assert_eq!(rigs[0].counters.held(), 4);
    send(&mut rigs[1], 1, &pieces[..1]);
    send(&mut rigs[0], 1, &[]);
    assert_eq!(rigs[0].counters.held(), 0);
    let all = [rigs[0].backends(), rigs[1].backends()].concat();
    assert_eq!(all, [home(FAMILIES[0], 9); 5]);
}

#[test]
fn s6_without_a_first_one_in_time_a_fragment_is_dropped_by_name() {
    let (mut rig, pieces) = (rig(), segment(FAMILIES[0], 9));
    send(&mut rig, 1, &pieces[1..2]);
    send(&mut rig, 4, &pieces[2..3]);
    assert_eq!(rig.counters.held(), 2, "375 ms later");
    send(&mut rig, 5, &[]);
    assert_eq!((rig.counters.held(), ends(&rig)), (1, vec![("fragment_no_first", 1)]));
    // Too late for the one, not for the other.
    send(&mut rig, 7, &pieces[..1]);
    assert_eq!(ends(&rig), [("forwarded", 2), ("fragment_no_first", 1)]);
}

#[test]
fn s6_a_first_fragment_is_remembered_for_two_seconds() {
    let (mut rig, pieces) = (rig(), segment(FAMILIES[0], 9));
    send(&mut rig, 1, &pieces[..1]);
    send(&mut rig, 16, &pieces[1..2]);
    assert_eq!(rig.counters.held(), 0);
    send(&mut rig, 17, &pieces[2..3]);
    assert_eq!(rig.counters.held(), 1);
}

#[test]
fn s6_fragments_of_many_datagrams_interleaved_and_reversed_do_not_mix() {
    // A bucket has room for four; each datagram differs from the others in one field only.
    let cases = [
        (whole("198.51.100.7", "203.0.113.10", 1, false, 100), 1),
        (whole("198.51.100.7", "203.0.113.10", 2, false, 100), 2),
        (whole("198.51.100.8", "203.0.113.10", 3, false, 100), 1),
        (whole("198.51.100.7", "203.0.113.11", 4, false, 100), 1),
    ];
    let mut rig = rig();
    let expected = cases.clone().map(|(frame, _)| {
        rig.send([&*frame]);
        rig.backends()[0]
    });
    let pieces = cases.map(|(frame, id)| fragments(&frame, id, 24));
    for place in (0..5).rev() {
        let row = pieces.each_ref().map(|p| p[place].clone());
        send(&mut rig, 1, &row);
    }
    let mut sent = rig.backends();
    assert_eq!(sent[..4], expected);
    let rest: Vec<_> = std::iter::repeat_n(expected, 4).flatten().collect();
    assert_eq!(sent.split_off(4), rest);
}

#[test]
fn f2_later_fragments_of_tcp_match_the_rule_of_their_first_one() {
    let closed = |dport: u8| {
        let mut frame = whole("198.51.100.7", "203.0.113.10", 5, false, 100);
        frame[37] = dport;
        fragments(&frame, 5, 24)
    };
    for (dport, end) in [(80, "forwarded"), (82, "client_denied"), (83, "vip_no_rule")] {
        let mut rig = rig();
        send(&mut rig, 1, &closed(dport));
        assert_eq!(ends(&rig), [(end, 5)], "{dport}");
    }
}

#[test]
fn t1_a_first_fragment_with_syn_makes_an_entry_that_the_others_hit() {
    let mut frame = whole("198.51.100.7", "203.0.113.10", 5, false, 100);
    frame[47] = 0x02;
    let (mut rig, pieces) = (rig(), fragments(&frame, 5, 24));
    send(&mut rig, 1, &pieces[..1]);
    send(&mut rig, 1, &pieces[1..]);
    let events = [Event::EntryCreated, Event::EntryHit, Event::EntryReplaced];
    assert_eq!(events.map(|e| rig.counters.event(e)), [1, 4, 0]);
}

#[test]
fn a_tiny_first_fragment_is_dropped_and_so_are_those_that_wait_for_it() {
    for (client, vip) in FAMILIES {
        let frame = whole(client, vip, 9, false, 100);
        let (mut rig, pieces) = (rig(), fragments(&frame, 9, 16));
        send(&mut rig, 1, &pieces);
        assert_eq!(ends(&rig), [("malformed_l4", 1)]);
        send(&mut rig, 9, &[]);
        let rest = pieces.len() as u64 - 1;
        assert_eq!(ends(&rig), [("malformed_l4", 1), ("fragment_no_first", rest)]);
    }
}

#[test]
fn overlapping_and_repeated_fragments_are_forwarded_as_they_came() {
    let (mut rig, pieces) = (rig(), segment(FAMILIES[0], 9));
    let mut overlapping = pieces[1].clone();
    overlapping[21] = 1;
    let overlapping = summed_up(overlapping);
    let frames = [&pieces[..], &[overlapping, pieces[2].clone(), pieces[0].clone()]].concat();
    send(&mut rig, 1, &frames);
    assert_eq!(ends(&rig), [("forwarded", 8)]);
}

#[test]
fn t4_fragments_of_udp_and_of_others_go_by_addresses_and_protocol_and_never_wait() {
    for (client, vip) in [("198.51.100.7", "203.0.113.11"), ("2001:db8:1::7", "2001:db8:2::11")] {
        for proto in [17, 1, 47, 50, 132] {
            let mut rig = rig();
            let mut pieces = Vec::new();
            for id in 0..20 {
                let mut frame = whole(client, vip, 1000 + id, true, 100);
                frame[if vip.contains(':') { 20 } else { 23 }] = proto;
                pieces.extend(fragments(&frame, id.into(), 24));
            }
            pieces.reverse();
            send(&mut rig, 1, &pieces);
            assert_eq!(ends(&rig), [("forwarded", 100)], "{proto}");
            let backends: std::collections::BTreeSet<_> = rig.backends().into_iter().collect();
            assert_eq!(backends.len(), 1, "{proto}");
            assert_eq!(rig.counters.event(Event::FragmentHeld), 0);
        }
    }
}

/// The fragments of a UDP or TCP packet behind a destination options header, which is part of what
/// is fragmented: so every fragment names options as the next header, or something else that does
/// not count.
fn behind_options(udp: bool, named: u8) -> Vec<Vec<u8>> {
    let frame = whole("2001:db8:1::7", "2001:db8:2::11", 7, udp, 60);
    let proto = if udp { 17 } else { 6 };
    let body = [&[proto, 0, 1, 4, 0, 0, 0, 0], &frame[54..]].concat();
    let chunks: Vec<_> = body.chunks(32).collect();
    let piece = |(i, data): (usize, &&[u8])| {
        let next = if i == 0 { 60 } else { named };
        fragment6(&frame[..54], 7, i * 32, i + 1 < chunks.len(), next, data)
    };
    chunks.iter().enumerate().map(piece).collect()
}

#[test]
fn s6_behind_extension_headers_only_the_first_ipv6_fragment_has_the_protocol() {
    for udp in [false, true] {
        let mut pieces = behind_options(udp, 60);
        let (mut rig, count) = (rig(), pieces.len());
        pieces.rotate_left(1);
        send(&mut rig, 1, &pieces);
        pieces.iter().for_each(|piece| send(&mut rig, 3, std::slice::from_ref(piece)));
        assert_eq!(ends(&rig), [("forwarded", 2 * count as u64)]);
        let backends: std::collections::BTreeSet<_> = rig.backends().into_iter().collect();
        assert_eq!(backends.len(), 1);
        let entries = rig.counters.event(Event::EntryCreated);
        assert_eq!(entries, 1, "all under one key");
    }
}

#[test]
fn fragments_for_the_host_neither_wait_nor_are_remembered() {
    let mut rig = rig();
    let pieces = fragments(&whole("198.51.100.7", "203.0.113.99", 9, false, 100), 9, 24);
    let reversed: Vec<_> = pieces.into_iter().rev().collect();
    send(&mut rig, 1, &reversed);
    assert_eq!(ends(&rig), [("host", 5)]);
    assert_eq!(rig.counters.event(Event::FragmentFirst), 0);
}

#[test]
fn a_worker_that_stops_ends_what_waits() {
    let mut rig = rig();
    let pieces: Vec<_> =
        (1..=15).flat_map(|sport| segment(FAMILIES[0], sport)[1..].to_vec()).collect();
    send(&mut rig, 1, &pieces);
    assert_eq!(rig.counters.held(), 60);
    rig.worker.finish();
    assert_eq!((rig.counters.held(), ends(&rig)), (0, vec![("fragment_no_first", 60)]));
    assert!(rig.balances());
}

#[test]
fn s6_a_flood_of_first_fragments_leaves_what_arrives_together_alone() {
    let mut rig = rig();
    for round in 0..50 {
        let honest = segment(FAMILIES[0], 9);
        let flood = (0..4).map(|i| segment(("192.0.2.1", "203.0.113.10"), 100 + 4 * round + i));
        let mut frames: Vec<_> = flood.map(|pieces| pieces[0].clone()).collect();
        frames.extend(honest);
        send(&mut rig, 1, &frames);
    }
    assert_eq!(ends(&rig), [("forwarded", 50 * 9)]);
    assert!(rig.counters.event(Event::FragmentEvicted) > 0);
}

#[test]
fn s6_a_flood_of_later_fragments_is_bounded_and_the_oldest_give_way() {
    let (mut rig, honest) = (rig(), segment(FAMILIES[0], 9));
    let flood: Vec<_> = (0..1000)
        .map(|sport| segment(("192.0.2.1", "203.0.113.10"), 100 + sport)[1].clone())
        .collect();
    send(&mut rig, 1, &flood);
    assert_eq!(rig.counters.held(), HELD as u64);
    assert_eq!(ends(&rig), [("fragment_held_full", 1000 - HELD as u64)]);
    send(&mut rig, 1, &honest[1..]);
    send(&mut rig, 1, &flood[..HELD - 4]);
    send(&mut rig, 1, &honest[..1]);
    assert_eq!(rig.counters.outcome(Outcome::Forwarded), 5, "in spite of the flood");
    send(&mut rig, 5, &[]);
    assert_eq!(rig.counters.held(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Fragments of a few datagrams, in any order, lost, repeated, over two workers and some time.
    #[test]
    fn d7_fragments_in_any_order_at_any_worker_balance_and_never_part(
        order in prop::collection::vec((0..4_u16, 0..5_usize, any::<bool>(), 0..2_u32), 0..120),
    ) {
        let mut rigs = Rig::several(tables(&[1; 5], None), 2);
        let mut now = 1;
        let homes = [1, 2, 3, 4].map(|sport| home(FAMILIES[0], sport));
        let mut sent = Vec::new();
        for (datagram, place, second, later) in order {
            now += later;
            let piece = segment(FAMILIES[0], datagram + 1).swap_remove(place);
            send(&mut rigs[usize::from(second)], now, &[piece]);
            for rig in &mut rigs {
                send(rig, now, &[]);
                for frame in rig.worker.io.ports[0].sent.drain(..) {
                    sent.push((frame.bytes()[33], frame.bytes()[39]));
                }
            }
        }
        for (backend, id) in sent {
            prop_assert_eq!(backend, homes[usize::from(id) - 1]);
        }
        for rig in &mut rigs {
            rig.worker.finish();
            prop_assert!(rig.balances() && rig.counters.held() == 0);
        }
    }
}
