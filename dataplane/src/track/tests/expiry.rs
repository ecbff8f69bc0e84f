//! When an entry is over: idle (T-8), epochs (D-2).

use super::*;

const WRAP: u32 = u32::MAX >> 1;

#[test]
fn an_entry_idle_for_exactly_the_timeout_has_expired() {
    for start in [0, 1_000, WRAP - 3, WRAP] {
        for (age, expected) in [
            (IDLE - 1, (2, Entry::Hit)),
            (IDLE, (3, Entry::Created)),
            (IDLE + 1, (3, Entry::Created)),
        ] {
            let mut rig = Rig::new(1_000);
            rig.send(tcp(1), 2, start);
            let now = Tick(start).plus(age).0;
            assert_eq!(rig.live(now), usize::from(age < IDLE), "start {start}, age {age}");
            assert_eq!(rig.send(tcp(1), 3, now), expected, "start {start}, age {age}");
            assert_eq!(rig.live(now), 1);
        }
    }
}

#[test]
fn every_matching_packet_counts_as_activity() {
    let mut rig = Rig::new(1_000);
    for step in 0..10 {
        let expected = if step == 0 { Entry::Created } else { Entry::Hit };
        assert_eq!(rig.send(tcp(1), 2, step * (IDLE - 1)).1, expected);
    }
}

#[test]
fn a_worker_whose_clock_is_behind_does_not_expire_or_age_an_entry() {
    let mut rig = Rig::new(1_000);
    rig.send(tcp(1), 2, 100);
    assert_eq!(rig.send(tcp(1), 3, 99), (2, Entry::Hit));
    assert_eq!(rig.send(tcp(1), 3, 99 + IDLE), (3, Entry::Created));
}

#[test]
fn an_entry_of_a_dead_epoch_is_a_miss_and_is_replaced_in_place() {
    let mut rig = Rig::new(1_000);
    rig.send(tcp(1), 2, 0);
    rig.tables = tables_with(plan(), 2, SlotEpochs::starting_at(1, 0));
    assert_eq!(rig.live(0), 0);
    assert_eq!(rig.send(tcp(1), 3, 1), (3, Entry::Created));
    assert_eq!(rig.send(tcp(1), 2, 1), (3, Entry::Hit));
    assert_eq!(rig.tracker.table().sweep(&rig.tables, Tick(1)), 0, "no second entry");
}

#[test]
fn a_persisting_entry_outlives_the_epoch_of_health() {
    let mut rig = Rig::new(1_000);
    let persisting = ClassPlan { lifetime: Lifetime::Persisting, ..plan() };
    rig.tables = tables_with(persisting, 1, SlotEpochs::default());
    rig.send(tcp(1), 2, 0);
    rig.tables = tables_with(plan(), 1, SlotEpochs::starting_at(1, 0));
    assert_eq!(rig.send(tcp(1), 3, 1), (2, Entry::Hit));
    rig.tables = tables_with(plan(), 1, SlotEpochs::starting_at(1, 1));
    assert_eq!(rig.send(tcp(1), 3, 1), (3, Entry::Created));
}

#[test]
fn an_entry_of_a_newer_epoch_is_left_alone() {
    let mut rig = Rig::new(1_000);
    let mut behind = rig.peer();
    rig.tables = tables_with(plan(), 2, SlotEpochs::starting_at(1, 0));
    rig.send(tcp(1), 2, 0);
    for sent in [tcp(1), tcp(1).syn()] {
        assert_eq!(behind.send(sent, 3, 0), (3, Entry::None));
    }
    assert_eq!(behind.count(Event::EntryContended), 2);
    assert_eq!(rig.send(tcp(1), 1, 0), (2, Entry::Hit));
}

#[test]
fn an_entry_of_an_unknown_slot_is_left_alone() {
    let mut rig = Rig::new(1_000);
    let mut behind = rig.peer();
    behind.tables.slots = SlotTable::new([(SlotEpochs::default(), None)]);
    rig.send(tcp(1), 2, 0);
    assert_eq!(behind.send(tcp(1), 0, 0), (0, Entry::None));
    assert_eq!(rig.send(tcp(1), 1, 0), (2, Entry::Hit));
}

#[test]
fn a_reused_slot_never_receives_an_old_connection() {
    let mut rig = Rig::new(1_000);
    rig.send(tcp(1), 2, 0);
    let mut epochs = SlotEpochs::default();
    epochs.end_all();
    rig.tables = tables_with(plan(), 2, epochs);
    assert_eq!(rig.send(tcp(1), 1, 0), (1, Entry::Created));
}

#[test]
fn dead_entries_make_room_and_a_sweep_frees_them() {
    let mut rig = Rig::new(64);
    for n in 0..64 {
        rig.send(tcp(n), 2, 0);
    }
    for n in 100..164 {
        assert_eq!(rig.send(tcp(n), 2, IDLE).1, Entry::Created);
    }
    assert_eq!((rig.live(IDLE), rig.count(Event::EntryEvicted)), (64, 0));
    let swept = rig.tracker.table().sweep(&rig.tables, Tick(2 * IDLE));
    assert!(swept >= 64, "{swept}");
    assert_eq!(rig.tracker.table().sweep(&rig.tables, Tick(2 * IDLE)), 0);
}
