//! How much fits, and what it takes.

use super::super::Memory;
use super::super::bucket::Bucket;
use super::super::hash::Place;
use super::super::region::{KeyWords, Region, same};
use super::*;

#[test]
fn all_configured_entries_fit_before_an_insert_fails() {
    for (entries, seed) in [(1_000, 1), (1_000, 2), (10_000, 3), (100_000, 4), (1_000_000, 5)] {
        let table = ConnectionTable::new(entries, 0, Pages::Off, TableKey::fixed(seed));
        let mut rig = Rig::on(Arc::new(table.expect("maps")), InsertLimit::default());
        let all: Vec<_> = (0..entries).map(tcp).collect();
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

/// The lane of a bucket that has this key.
fn lane_of<const W: usize>(bucket: &Bucket<W>, key: &[u64; W]) -> Option<usize> {
    (0..32).find(|lane| bucket.entry(*lane).read().is_ok_and(|seen| same(&seen.key, key)))
}

/// Of a thousand of these clients' entries how many are in their own line, elsewhere in their home,
/// and in the other bucket.
fn whereabouts<const W: usize>(region: &Region<W>, clients: &[Sent]) -> [usize; 3]
where
    [u64; W]: KeyWords,
{
    let mut counts = [0; 3];
    for client in clients {
        let key = <[u64; W]>::of(&client.flow.key(FieldSet::FIVE_TUPLE, ServiceId(0)));
        let place = region.place(region.hash(&key));
        let abreast = Bucket::<W>::ABREAST;
        let which = match lane_of(region.bucket(place.home), &key) {
            Some(lane) => usize::from(lane / abreast != usize::from(place.lane) / abreast),
            None => 2,
        };
        assert!(which < 2 || lane_of(region.bucket(place.other), &key).is_some());
        counts[which] += 1;
    }
    counts.map(|count| count * 1_000 / clients.len())
}

#[test]
fn most_entries_are_in_their_own_line() {
    let mut rig = Rig::new(100_000);
    let table = rig.tracker.table().clone();
    let (v4, v6): (Vec<_>, Vec<_>) = (0..100_000).map(|n| (tcp(n), tcp6(n))).unzip();
    // At least so many in their own line, at most so many in the other bucket (docs, layout).
    for (entered, own4, own6, other) in [(0..50_000, 890, 760, 5), (50_000..100_000, 640, 520, 120)]
    {
        let end = entered.end;
        for burst in v4[entered.clone()].chunks(32).chain(v6[entered].chunks(32)) {
            rig.burst(burst, Some(1), 0);
        }
        for (seen, own) in
            [(whereabouts(&table.v4, &v4[..end]), own4), (whereabouts(&table.v6, &v6[..end]), own6)]
        {
            assert!(seen[0] >= own && seen[2] <= other, "{end}: {seen:?}");
        }
    }
}

#[test]
fn an_entry_takes_32_bytes_or_64_and_with_its_tag_and_spare_slots_39_or_75() {
    // A bucket is a line of tags and 32 entries.
    assert_eq!(size_of::<Bucket<2>>() - 64, 32 * 32);
    assert_eq!(size_of::<Bucket<5>>() - 64, 32 * 64);
    let table = ConnectionTable::new(1_000_000, 1_000_000, Pages::Auto, TableKey::random());
    let memory = table.expect("maps").memory();
    assert_eq!((memory.per_v4_entry, memory.per_v6_entry), (39, 75));
    assert_eq!(memory.bytes(), memory.v4_bytes + memory.v6_bytes);
}

#[test]
fn memory_is_known_before_it_is_mapped() {
    for (v4, v6) in [(1_000, 1_000), (50_000, 0), (300_000, 123_457)] {
        let table = ConnectionTable::new(v4, v6, Pages::Off, TableKey::fixed(1)).expect("maps");
        assert_eq!(Memory::of(v4, v6), table.memory());
    }
}

#[test]
fn a_hundred_million_entries_add_up() {
    let memory = Memory::of(100_000_000, 100_000_000);
    assert_eq!((memory.per_v4_entry, memory.per_v6_entry), (39, 75));
    assert_eq!((memory.v4_bytes, memory.v6_bytes), (3_825_205_248, 7_426_015_232));
    assert_eq!(
        memory.to_string(),
        "10730 MB (39 bytes an IPv4 entry, 75 an IPv6 entry, tags and spare slots included)"
    );
    let buckets = 100_000_000 / 32 * 9 / 8;
    for hash in [0, 1, u64::MAX, u64::MAX << 32, 1 << 63, 0x9E37_79B9_7F4A_7C15] {
        let place = Place::of(hash, buckets);
        assert!(place.home < buckets && place.other < buckets && place.home != place.other);
    }
    assert_eq!(Place::of(u64::MAX, buckets).home, buckets - 1, "every bucket is used");
}

#[test]
fn no_number_of_entries_overflows() {
    assert!(Memory::of(u32::MAX, u32::MAX).bytes() > 400 << 30);
    assert_eq!(Memory::of(0, 0).bytes(), 4 << 20, "two buckets each");
}
