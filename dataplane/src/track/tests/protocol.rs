//! The protocol's cases one by one; every interleaving of them is the model's business.

use std::sync::Barrier;
use std::thread;

use super::super::insert::{New, Written};
use super::super::region::{About, Found, KeyWords, Position, Region, Touch};
use super::super::value::{Stamp, Value, View};
use super::*;

const FIRST: Position = Position { bucket: 0, lane: 0 };

/// Where the only entry of a region is.
fn only<const W: usize>(region: &Region<W>) -> Position {
    let taken = |(bucket, b): (u32, &super::super::bucket::Bucket<W>)| {
        let taken = !b.tags.free();
        (taken != 0).then(|| Position { bucket, lane: taken.trailing_zeros() as usize })
    };
    (0..).zip(region.buckets()).find_map(taken).expect("one entry")
}

#[test]
fn a_reader_that_meets_an_odd_sequence_selects_and_writes_nothing() {
    let mut rig = Rig::new(1_000);
    rig.send(udp(1), 2, 0);
    let table = rig.tracker.table().clone();
    let at = only(&table.v4);
    let entry = table.v4.bucket(at.bucket).entry(at.lane);
    let before = entry.read().expect("quiet");
    let locked = entry.lock(before.sequence).expect("quiet");
    let packets = rig.burst(&[udp(1)], Some(3), 1);
    assert_eq!(packets[0].tracking, Tracking::SelectOnly);
    assert_eq!((packets[0].slot, packets[0].entry), (Some(slot(3)), Entry::None));
    assert_eq!(locked.stamp(), before.stamp);
    assert_eq!(rig.count(Event::EntryContended), 1);
    drop(locked);
    assert_eq!(rig.send(udp(1), 3, 1), (2, Entry::Hit));
}

#[test]
fn a_writer_that_meets_an_odd_sequence_gives_up_and_is_counted() {
    let mut rig = Rig::new(1_000);
    rig.send(tcp(1), 2, 0);
    let table = rig.tracker.table().clone();
    let at = only(&table.v4);
    let entry = table.v4.bucket(at.bucket).entry(at.lane);
    let locked = entry.lock(entry.read().expect("quiet").sequence).expect("quiet");
    assert_eq!(rig.send(tcp(1).syn(), 3, 1), (3, Entry::None));
    assert_eq!(rig.count(Event::EntryContended), 1);
    drop(locked);
}

#[test]
fn a_write_since_the_snapshot_takes_the_right_to_write_away() {
    let mut rig = Rig::new(1_000);
    rig.send(tcp(1), 2, 0);
    let table = rig.tracker.table().clone();
    let at = only(&table.v4);
    let entry = table.v4.bucket(at.bucket).entry(at.lane);
    let seen = entry.read().expect("quiet");
    rig.send(tcp(1).syn(), 3, 1);
    assert!(entry.lock(seen.sequence).is_none(), "though key and lane are the same");
}

#[test]
fn a_late_refresh_does_not_age_the_next_entry_of_its_lane() {
    let mut rig = Rig::new(1_000);
    rig.send(tcp(1), 2, 0);
    let table = rig.tracker.table().clone();
    let at = only(&table.v4);
    let entry = table.v4.bucket(at.bucket).entry(at.lane);
    let seen = entry.read().expect("quiet");
    rig.send(tcp(1).syn(), 3, 9);
    entry.touch(seen.stamp, Stamp::new(Tick(1), true));
    assert_eq!(entry.read().expect("quiet").stamp, Stamp::new(Tick(9), false));
}

#[test]
fn a_refresh_since_the_look_keeps_a_dead_entry_from_being_freed() {
    let mut rig = Rig::new(1_000);
    rig.send(tcp(1), 2, 0);
    let table = rig.tracker.table().clone();
    let at = only(&table.v4);
    let dead = table.v4.bucket(at.bucket).entry(at.lane).read().expect("quiet");
    // A worker whose clock is a tick behind that of the one who looked.
    assert_eq!(rig.send(tcp(1), 3, IDLE - 1), (2, Entry::Hit));
    assert!(!table.v4.reclaim(at, &dead));
    assert_eq!(rig.send(tcp(1), 3, IDLE), (2, Entry::Hit));
}

#[test]
fn a_lane_reused_for_another_key_is_a_miss_for_the_old_one() {
    let mut rig = Rig::new(1_000);
    rig.send(tcp(1), 2, 0);
    let table = rig.tracker.table().clone();
    let at = only(&table.v4);
    let bucket = table.v4.bucket(at.bucket);
    let tag_before = bucket.tags.free();
    let entry = bucket.entry(at.lane);
    let locked = entry.lock(entry.read().expect("quiet").sequence).expect("quiet");
    let other = tcp(2).flow.key(FieldSet::FIVE_TUPLE, ServiceId(0)).v4_words();
    let value = Value::stamped(slot(1), Lifetime::WhileHealthy, &rig.tables).expect("known");
    locked.write(&other, value.pack(), Stamp::new(Tick(0), true));
    drop(locked);
    assert_eq!(bucket.tags.free(), tag_before, "the old tag is still there");
    assert_eq!(rig.send(tcp(1), 3, 0), (3, Entry::Created));
}

#[test]
fn of_two_entries_of_one_key_the_lowest_stays() {
    let mut rig = Rig::new(1_000);
    rig.send(tcp(1), 2, 0);
    let table = rig.tracker.table().clone();
    let region = &table.v4;
    let key = tcp(1).flow.key(FieldSet::FIVE_TUPLE, ServiceId(0)).v4_words();
    let place = region.place(region.hash(&key));
    let value = Value::stamped(slot(1), Lifetime::WhileHealthy, &rig.tables).expect("known");
    // What a worker that missed at the same moment would have written.
    let twin = region.bucket(place.other).entry(5);
    let locked = twin.lock(twin.read().expect("quiet").sequence).expect("quiet");
    locked.write(&key, value.pack(), Stamp::new(Tick(0), false));
    region.bucket(place.other).tags.set(5, place.tag);
    drop(locked);
    assert_eq!(rig.live(0), 2);
    rig.send(tcp(1).syn(), 3, 1);
    assert_eq!(rig.live(1), 1, "whoever writes next settles it");
}

#[test]
fn two_workers_that_insert_one_key_leave_one_entry() {
    const ROUNDS: u32 = 20_000;
    let table = ConnectionTable::new(64_000, 0, Pages::Off, TableKey::fixed(3)).expect("maps");
    let (table, tables) = (&table, &tables());
    let barrier = &Barrier::new(2);
    let worker = |chosen| {
        move || {
            let value = Value::stamped(slot(chosen), Lifetime::WhileHealthy, tables);
            let value = value.expect("known");
            let view = View { tables, now: Tick(0) };
            let mut lost = 0;
            for n in 0..ROUNDS {
                let key = <[u64; 2]>::of(&tcp(n).flow.key(FieldSet::FIVE_TUPLE, ServiceId(0)));
                let hash = table.v4.hash(&key);
                let new = New { key, hash, value, confirmed: false, supersede: false };
                if n % 64 == 0 {
                    barrier.wait();
                }
                let written = table.v4.insert(&new, view, || true);
                lost += u32::from(matches!(written, Written::Contended));
            }
            lost
        }
    };
    let lost: u32 = thread::scope(|scope| {
        let threads = [scope.spawn(worker(1)), scope.spawn(worker(2))];
        threads.map(|t| t.join().expect("no panic")).iter().sum()
    });
    assert_eq!(table.count_live(tables, Tick(0)), ROUNDS as usize, "{lost} gave way");
}

/// One worker's SYNs move a connection back and forth between two backends while another reads.
fn replace_while_reading<const W: usize>(region: &Region<W>, sent: Sent)
where
    [u64; W]: KeyWords,
{
    const ROUNDS: u32 = 20_000;
    let tables = &tables();
    let view = View { tables, now: Tick(0) };
    let key = <[u64; W]>::of(&sent.flow.key(FieldSet::FIVE_TUPLE, ServiceId(0)));
    let write = |chosen| {
        let value = Value::stamped(slot(chosen), Lifetime::WhileHealthy, tables).expect("known");
        let hash = region.hash(&key);
        let new = New { key, hash, value, confirmed: false, supersede: true };
        region.insert(&new, view, || true)
    };
    assert_eq!(write(1), Written::Created);
    thread::scope(|scope| {
        let writer = scope.spawn(move || {
            (0..ROUNDS).for_each(|n| assert_eq!(write(1 + n % 2), Written::Replaced));
        });
        while !writer.is_finished() {
            let about = About { idle_ticks: IDLE, touch: Touch::Not, packet: 0 };
            let mut probe = [region.probe(key, about)];
            region.find(&mut probe, view);
            match probe[0].found {
                Found::Hit(value, false) if [slot(1), slot(2)].contains(&value.slot()) => {}
                Found::Contended => {}
                wrong => panic!("{wrong:?}"),
            }
        }
        writer.join().expect("no panic");
    });
}

#[test]
fn a_syn_that_replaces_what_another_worker_reads_shows_the_old_or_the_new_and_no_mixture() {
    let table = ConnectionTable::new(64, 64, Pages::Off, TableKey::fixed(3)).expect("maps");
    replace_while_reading(&table.v4, tcp(1));
    replace_while_reading(&table.v6, tcp6(1));
}

#[test]
fn positions_order_by_bucket_then_lane() {
    assert!(FIRST < Position { bucket: 0, lane: 1 });
    assert!(Position { bucket: 0, lane: 31 } < Position { bucket: 1, lane: 0 });
}
