//! Pressure: who gives way, who is denied (D-4, T-19).

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
