//! Whose entry it is: services, kinds of key, and a change of key (T-2, T-16, R-3).

use super::*;

#[test]
fn services_and_kinds_of_key_never_meet() {
    let mut rig = Rig::new(1_000);
    let sets = [FieldSet::ONE_TUPLE, FieldSet::TWO_TUPLE, FieldSet::THREE_TUPLE];
    for (chosen, set) in (0..).zip(sets) {
        rig.tables =
            tables_with(ClassPlan { track: Some(set), ..plan() }, 2, SlotEpochs::default());
        for service in [0, 1] {
            let sent = udp(1).service(service);
            assert_eq!(rig.send(sent, chosen + service as u32, 0).1, Entry::Created);
        }
        for service in [0, 1] {
            let expected = (chosen + service as u32, Entry::Hit);
            assert_eq!(rig.send(udp(1).service(service), 3, 0), expected);
        }
    }
    assert_eq!(rig.live(0), 6);
}

#[test]
fn what_is_not_trackable_never_meets_the_table() {
    let mut rig = Rig::new(1_000);
    rig.send(udp(1), 2, 0);
    rig.tables = tables_with(ClassPlan { track: None, ..plan() }, 2, SlotEpochs::default());
    assert_eq!(rig.send(udp(1), 3, 1), (3, Entry::None));
    assert_eq!(rig.live(1), 1);
}

fn changed(until: u32) -> Tables {
    let row = ClassPlan {
        track: Some(FieldSet::TWO_TUPLE),
        track_before: EarlierKeys::NONE.with(FieldSet::FIVE_TUPLE, Tick(until)),
        syn_is_new: false,
        ..plan()
    };
    tables_with(row, 2, SlotEpochs::default())
}

#[test]
fn after_a_change_of_key_a_miss_is_entered_as_it_was_found() {
    for sent in [tcp(1), tcp6(1)] {
        let mut rig = Rig::new(1_000);
        rig.send(sent, 2, 0);
        rig.send(sent, 2, 1);
        rig.tables = changed(100);
        assert_eq!(rig.send(sent, 3, 5), (2, Entry::Hit));
        let mut entries = Vec::new();
        rig.tracker.table().for_each_live(&rig.tables, Tick(5), |e| {
            entries.push((e.key.fields(), e.last_seen, e.confirmed));
        });
        entries.sort_by_key(|e| e.1.0);
        let [old, new] = entries[..] else { panic!("{entries:?}") };
        assert_eq!(old, (FieldSet::FIVE_TUPLE, Tick(1), true), "refreshes nothing");
        assert_eq!(new, (FieldSet::TWO_TUPLE, Tick(5), true));
        assert_eq!(rig.send(sent, 3, 200), (3, Entry::Created));
        assert_eq!(rig.count(Event::EntryHit), 2);
    }
}

#[test]
fn the_old_key_is_looked_up_until_the_deadline_only() {
    for (now, expected) in [(19, (2, Entry::Hit)), (20, (3, Entry::Created))] {
        let mut rig = Rig::new(1_000);
        rig.send(tcp(1), 2, 0);
        rig.tables = changed(20);
        assert_eq!(rig.send(tcp(1), 3, now), expected);
    }
}

#[test]
fn a_migrated_entry_keeps_the_epoch_it_was_found_with() {
    let mut rig = Rig::new(1_000);
    rig.send(tcp(1), 2, 0);
    rig.tables = changed(20);
    rig.send(tcp(1), 3, 1);
    let mut later = changed(20);
    later.slots = SlotTable::new((0..4).map(|_| (SlotEpochs::starting_at(1, 0), None)));
    rig.tables = later;
    assert_eq!(rig.send(tcp(1), 3, 2), (3, Entry::Created));
}

#[test]
fn a_peek_refreshes_nothing() {
    let mut rig = Rig::new(1_000);
    rig.send(udp(1), 2, 0);
    let key = udp(1).flow.key(FieldSet::FIVE_TUPLE, ServiceId(0));
    let table = rig.tracker.table();
    let peeked = table.peek(&key, &rig.tables, Tick(IDLE - 1)).expect("live");
    assert_eq!(peeked.slot(), slot(2));
    assert_eq!(table.peek(&key, &rig.tables, Tick(IDLE)), None);
    assert_eq!(rig.live(IDLE), 0);
}
