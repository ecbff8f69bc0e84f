//! How much fits, and what it takes.

use super::*;

#[test]
fn all_configured_entries_fit_before_an_insert_fails() {
    for (entries, seed) in [(1_000, 1), (1_000, 2), (10_000, 3), (100_000, 4), (1_000_000, 5)] {
        let table = ConnectionTable::new(entries, 0, Pages::Off, TableKey::fixed(seed));
        let mut rig = Rig::on(Arc::new(table.expect("maps")), InsertLimit::default());
        let all: Vec<_> = (0..entries * 95 / 100).map(tcp).collect();
        for burst in all.chunks(32) {
            rig.burst(burst, Some(1), 0);
        }
        assert_eq!(rig.live(0), all.len());
        assert_eq!(rig.count(Event::EntryCreated), all.len() as u64);
        assert_eq!(rig.count(Event::EntryEvicted), 0);
    }
}

#[test]
fn ipv6_entries_fit_as_well() {
    let mut rig = Rig::new(20_000);
    let all: Vec<_> = (0..19_000).map(tcp6).collect();
    for burst in all.chunks(32) {
        rig.burst(burst, Some(1), 0);
    }
    assert_eq!((rig.live(0), rig.count(Event::EntryEvicted)), (19_000, 0));
}

#[test]
fn an_entry_takes_38_bytes_or_74() {
    let table = ConnectionTable::new(1_000_000, 1_000_000, Pages::Auto, TableKey::random());
    let memory = table.expect("maps").memory();
    assert_eq!((memory.per_v4_entry, memory.per_v6_entry), (40, 76), "in whole huge pages");
    assert_eq!(memory.bytes(), memory.v4_bytes + memory.v6_bytes);
}
