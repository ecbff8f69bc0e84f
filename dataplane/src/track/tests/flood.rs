//! Pressure: who gives way, who is denied (D-4, T-19).

use super::super::region::KeyWords;
use super::*;

/// A full table of two buckets: everyone competes with everyone.
fn full(confirmed: bool) -> Rig {
    let mut rig = Rig::new(56);
    let mut n = 0;
    while rig.count(Event::EntryEvicted) + rig.count(Event::EntryDenied) == 0 {
        rig.send(tcp(n), 1, n / 4);
        if confirmed {
            rig.send(tcp(n), 1, n / 4);
        }
        n += 1;
        assert!(n <= 65, "64 slots hold no more");
    }
    assert_eq!(n, 65);
    rig
}

#[test]
fn when_all_are_confirmed_a_new_connection_is_denied_and_counted() {
    let mut rig = full(true);
    assert_eq!(rig.count(Event::EntryDenied), 2, "the packet, and the one to confirm it");
    assert_eq!(rig.send(tcp(900), 3, 17), (3, Entry::None));
    assert_eq!((rig.count(Event::EntryDenied), rig.count(Event::EntryEvicted)), (3, 0));
    for n in 0..64 {
        assert_eq!(rig.send(tcp(n), 3, 17), (1, Entry::Hit));
    }
}

#[test]
fn the_oldest_unconfirmed_entry_gives_way_first() {
    let mut rig = full(false);
    assert_eq!(rig.count(Event::EntryEvicted), 1);
    let missing = |rig: &Rig| {
        let mut ticks = [0; 17];
        rig.tracker.table().for_each_live(&rig.tables, Tick(16), |e| {
            ticks[e.last_seen.0 as usize] += 1;
        });
        ticks.map(|n| 4 - n)
    };
    assert_eq!(missing(&rig)[0], 1, "one of the first four went");
    for n in 100..103 {
        rig.send(tcp(n), 2, 16);
    }
    assert_eq!(missing(&rig)[..2], [4, 0], "then the others of them");
    rig.send(tcp(103), 2, 16);
    assert_eq!(missing(&rig)[..2], [4, 1], "then the next");
}

#[test]
fn a_confirmed_entry_outlives_a_flood() {
    let mut rig = full(false);
    rig.send(tcp(63), 0, 17);
    for n in 1_000..3_000 {
        rig.send(tcp(n).syn(), 2, 17);
    }
    assert_eq!(rig.send(tcp(63), 3, 17), (1, Entry::Hit));
    assert!(rig.count(Event::EntryEvicted) > 1_900);
    assert_eq!(rig.live(17), 64);
}

#[test]
fn of_dead_entries_the_one_in_a_new_keys_own_lane_gives_way_first() {
    for n in 900..932 {
        let mut rig = full(true);
        assert_eq!(rig.send(tcp(n), 2, 17 + IDLE), (2, Entry::Created));
        let region = &rig.tracker.table().v4;
        let key = <[u64; 2]>::of(&tcp(n).flow.key(FieldSet::FIVE_TUPLE, ServiceId(0)));
        let place = region.place(region.hash(&key));
        let seen = region.bucket(place.home).entry(place.lane.into()).read();
        assert_eq!(seen.map(|seen| seen.key).ok(), Some(key), "where a look-up's first line is");
    }
}

#[test]
fn the_insert_limit_denies_new_keys_only() {
    let mut rig = Rig::limited(1_000, 2);
    let sent = [udp(1), udp(2), udp(3), udp(1)];
    let entries: Vec<_> = rig.burst(&sent, Some(1), 5).iter().map(|p| p.entry).collect();
    assert_eq!(entries, [Entry::Created, Entry::Created, Entry::None, Entry::Hit]);
    assert_eq!(rig.send(tcp(9).syn(), 1, 5), (1, Entry::None));
    assert_eq!(rig.send(tcp(9).syn(), 1, 6), (1, Entry::Created));
    rig.send(udp(3), 1, 6);
    assert_eq!(rig.send(tcp(9).syn(), 2, 6), (2, Entry::Replaced), "not limited");
    assert_eq!(rig.count(Event::EntryDenied), 2);
}

#[test]
fn a_syn_is_never_denied_the_entry_that_its_key_has() {
    let mut rig = full(true);
    assert_eq!(rig.send(tcp(5).syn(), 3, 17), (3, Entry::Replaced));
    assert_eq!(rig.send(tcp(5), 0, 17), (3, Entry::Hit));
}

/// ESP, which has no ports.
fn esp(n: u32) -> Sent {
    let [_, a, b, c] = n.to_be_bytes();
    let flow = Flow::v4([10, a, b, c], [203, 0, 113, 1], 50, 0, 0);
    Sent { flow, class: PacketClass::Esp, syn: false, service: 0 }
}

/// The `n`th client's first packet, of one of four kinds.
fn first(n: u32) -> Sent {
    [tcp(n).syn(), udp(n), esp(n), tcp6(n).syn()][n as usize % 4]
}

/// A later packet of the same connection.
fn later(n: u32) -> Sent {
    Sent { syn: false, ..first(n) }
}

#[test]
fn an_established_connection_of_any_class_outlives_a_flood_in_a_table_that_does_not_grow() {
    const ESTABLISHED: u32 = 1_200;
    let mut rig = Rig::new(1_000);
    let memory = rig.tracker.table().memory();
    for sent in (0..ESTABLISHED).map(first).chain((0..ESTABLISHED).map(later)) {
        assert_ne!(rig.send(sent, 1, 0).1, Entry::None);
    }
    let mut received = rig.count(Event::EntryHit) + rig.count(Event::EntryCreated);
    let flood: Vec<_> = (ESTABLISHED..200_000).map(first).collect();
    for (number, burst) in (0..).zip(flood.chunks(32)) {
        let now = number / 100;
        rig.burst(burst, Some(2), now);
        if number % 1_000 == 999 {
            let alive: Vec<_> = (0..ESTABLISHED).map(later).collect();
            for sent in alive.chunks(32) {
                let packets = rig.burst(sent, Some(3), now);
                assert!(packets.iter().all(|p| p.slot == Some(slot(1)) && p.entry == Entry::Hit));
            }
            received += u64::from(ESTABLISHED);
        }
    }
    received += flood.len() as u64;
    let ends = [Event::EntryHit, Event::EntryCreated, Event::EntryDenied].map(|e| rig.count(e));
    assert_eq!(ends.iter().sum::<u64>(), received, "each flow is entered or denied: {ends:?}");
    assert_eq!(rig.tracker.table().memory(), memory);
    assert!(rig.live(70) <= 2 * 36 * 32);
}

#[test]
fn whatever_has_seen_one_packet_gives_way_and_what_has_seen_two_does_not() {
    for make in [udp, esp] {
        let mut rig = Rig::new(56);
        (0..64).for_each(|n| assert_eq!(rig.send(make(n), 1, 0).1, Entry::Created));
        (0..63).for_each(|n| assert_eq!(rig.send(make(n), 1, 0).1, Entry::Hit));
        assert_eq!(rig.send(make(900), 2, 0).1, Entry::Created);
        assert_eq!(rig.count(Event::EntryEvicted), 1, "the one of one packet");
        (0..63).for_each(|n| assert_eq!(rig.send(make(n), 2, 0), (1, Entry::Hit)));
        rig.send(make(900), 2, 0);
        assert_eq!(rig.send(make(63), 3, 0), (3, Entry::None), "all have seen two now");
    }
}

#[test]
fn a_retransmitted_syn_confirms_nothing() {
    let mut rig = full(false);
    for _ in 0..3 {
        rig.send(tcp(700).syn(), 2, 17);
    }
    let before = rig.count(Event::EntryEvicted);
    (1_000..1_064).for_each(|n| drop(rig.burst(&[tcp(n).syn()], Some(2), 18)));
    assert_eq!(rig.count(Event::EntryEvicted) - before, 64);
    assert_eq!(rig.send(tcp(700), 3, 18), (3, Entry::Created), "it went with the flood");
}

#[test]
fn the_insert_limit_bounds_the_entries_of_a_flood_and_touches_no_established_connection() {
    let mut rig = Rig::limited(1_000, 10);
    (0..10).for_each(|n| assert_eq!(rig.send(first(n), 1, 0).1, Entry::Created));
    for tick in 1..=20 {
        let flood: Vec<_> = (0..1_000).map(|n| first(1_000 * tick + n)).collect();
        for burst in flood.chunks(32) {
            rig.burst(burst, Some(2), tick);
        }
        (0..10).for_each(|n| assert_eq!(rig.send(later(n), 3, tick), (1, Entry::Hit)));
    }
    assert_eq!(rig.count(Event::EntryCreated), 10 + 20 * 10);
    assert_eq!(rig.count(Event::EntryDenied), 20 * (1_000 - 10));
}
