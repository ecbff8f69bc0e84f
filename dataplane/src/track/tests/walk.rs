//! Reading from the side: slices, filters, upkeep.

use super::super::{Cursor, EntryView, Filter, Upkeep};
use super::*;

/// Lets packets arrive that selection gives one backend.
fn send_all(rig: &mut Rig, sent: impl Iterator<Item = Sent>, chosen: u32, now: u32) {
    for sent in sent {
        rig.send(sent, chosen, now);
    }
}

/// 300 IPv4 entries of service 0 on slot 1, 200 of service 1 on slot 2, and 100 of IPv6.
fn populated() -> Rig {
    let mut rig = Rig::new(1_000);
    send_all(&mut rig, (0..300).map(tcp), 1, 0);
    send_all(&mut rig, (300..500).map(|n| tcp(n).service(1)), 2, 0);
    send_all(&mut rig, (0..100).map(tcp6), 3, 0);
    rig
}

/// A whole walk in slices; how many there were.
fn walk(rig: &Rig, slice: usize, filter: Filter) -> (usize, Vec<EntryView>) {
    let (mut seen, mut slices) = (Vec::new(), 0);
    let mut at = Some(Cursor::default());
    while let Some(from) = at {
        let table = rig.tracker.table();
        at = table.walk(from, slice, &filter, (&rig.tables, Tick(0)), |entry| seen.push(entry));
        slices += 1;
    }
    (slices, seen)
}

#[test]
fn a_walk_in_slices_visits_each_entry_once() {
    let rig = populated();
    let buckets = rig.tracker.table().buckets();
    assert_eq!(buckets, 2 * 36, "1,125 slots for each family");
    for slice in [1, 5, 36, 1_000] {
        let (slices, seen) = walk(&rig, slice, Filter::default());
        assert_eq!(slices, buckets.div_ceil(slice));
        let mut keys: Vec<_> = seen.iter().map(|e| format!("{:?}", e.key)).collect();
        keys.sort();
        keys.dedup();
        assert_eq!((seen.len(), keys.len()), (600, 600), "slices of {slice}");
    }
    assert_eq!(walk(&rig, 0, Filter::default()).1.len(), 600, "at least one bucket a call");
}

#[test]
fn a_filter_takes_by_service_backend_and_client() {
    let rig = populated();
    let clients = |prefix: &str| Filter {
        clients: Some(prefix.parse().expect("a prefix")),
        ..Filter::default()
    };
    let service = |number| Filter { service: Some(ServiceId(number)), ..Filter::default() };
    let on = |number| Filter { slot: Some(slot(number)), ..Filter::default() };
    for (filter, expected) in [
        (Filter::default(), 600),
        (service(0), 400),
        (service(1), 200),
        (service(9), 0),
        (on(1), 300),
        (on(0), 0),
        (Filter { slot: Some(slot(3)), ..service(0) }, 100),
        (Filter { slot: Some(slot(3)), ..service(1) }, 0),
        (clients("10.0.0.0/24"), 256),
        (clients("10.0.1.4/32"), 1),
        (clients("0.0.0.0/0"), 500),
        (clients("2020::/16"), 100),
    ] {
        assert_eq!(walk(&rig, 7, filter).1.len(), expected, "{filter:?}");
    }
}

#[test]
fn a_round_frees_the_dead_counts_the_live_and_says_how_old_that_is() {
    let mut rig = populated();
    send_all(&mut rig, (0..50).map(tcp), 1, 20);
    let table = rig.tracker.table();
    let mut upkeep = Upkeep::default();
    let mut steps = 0;
    while !upkeep.step(table, &rig.tables, Tick(IDLE + steps), 10) {
        assert_eq!(upkeep.latest(), None);
        steps += 1;
    }
    assert_eq!(steps, 7, "72 buckets, 10 a step");
    let census = upkeep.latest().expect("a whole round");
    assert_eq!((census.v4, census.v6, census.freed), (50, 0, 550));
    assert_eq!((census.began, census.ended), (Tick(IDLE), Tick(IDLE + 7)));
    assert_eq!(census.age(Tick(IDLE + 9)), 9);
}

#[test]
fn a_census_counts_by_family_service_and_backend() {
    let mut rig = populated();
    send_all(&mut rig, (0..20).map(tcp), 1, 0);
    let mut upkeep = Upkeep::default();
    assert!(upkeep.step(rig.tracker.table(), &rig.tables, Tick(0), usize::MAX));
    let census = upkeep.latest().expect("a whole round");
    assert_eq!((census.v4, census.v6, census.confirmed, census.freed), (500, 100, 20, 0));
    let services = [0, 1, 2].map(|n| census.of_service(ServiceId(n)));
    assert_eq!(services, [400, 200, 0]);
    assert_eq!([0, 1, 2, 3, 4].map(|n| census.of_slot(slot(n))), [0, 300, 200, 100, 0]);
}

#[test]
fn upkeep_leaves_what_newer_tables_made_alone() {
    let mut rig = Rig::new(1_000);
    let behind = tables();
    rig.tables = tables_with(plan(), 2, SlotEpochs::starting_at(1, 0));
    rig.send(tcp(1), 2, 0);
    assert_eq!(rig.tracker.table().sweep(&behind, Tick(2 * IDLE)), 0);
    assert_eq!(rig.live(0), 1);
}

#[test]
fn full_buckets_are_rare_again_after_a_round() {
    let mut rig = Rig::new(56);
    for n in 0..64 {
        rig.send(tcp(n), 1, 0);
        rig.send(tcp(n), 1, 0);
    }
    assert_eq!(rig.send(tcp(900), 1, IDLE - 1).1, Entry::None, "all 64 are confirmed and live");
    assert_eq!(rig.tracker.table().sweep(&rig.tables, Tick(IDLE)), 64);
    assert_eq!(rig.send(tcp(900), 1, IDLE).1, Entry::Created);
}
