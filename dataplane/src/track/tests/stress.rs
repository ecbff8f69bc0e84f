//! Real threads on a table that is too small for them: lanes are reused all the time, and still
//! every hit gives what was entered for its key. 30 s in CI (`CI` is set), else 2 s, or
//! `STRESS_SECONDS`.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use super::super::Upkeep;
use super::*;

const SLOTS: u32 = 4_096;
const FLOWS: u32 = 3_000;

/// Which slot a client's packets go to: fixed, so that any other answer is wrong.
fn slot_of(n: u32) -> SlotId {
    slot(n.wrapping_mul(2_654_435_761) >> 20)
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) as u32
    }
}

fn work(rig: &mut Rig, seed: u64, clock: &AtomicU32) -> u64 {
    let mut random = Random(seed);
    let counters = rig.counters.worker(0);
    for _ in 0..64 {
        let clients: Vec<u32> = (0..32).map(|_| random.next() % FLOWS).collect();
        let packet = |n: &u32| {
            let sent = if n.is_multiple_of(3) { tcp6(*n) } else { tcp(*n) };
            Sent { syn: random.next().is_multiple_of(4), ..sent }.packet()
        };
        let mut batch = Batch::<()>(clients.iter().map(packet).collect());
        let now = Tick(clock.load(Relaxed));
        rig.tracker.look_up(&mut batch, &rig.tables, now, counters);
        for (packet, n) in batch.0.iter_mut().zip(&clients) {
            if packet.tracking == Tracking::Found {
                assert_eq!(packet.slot, Some(slot_of(*n)), "client {n}");
            }
            packet.slot = Some(slot_of(*n));
        }
        rig.tracker.record(&mut batch, &rig.tables, now, counters);
        for (packet, n) in batch.0.iter().zip(&clients) {
            assert_eq!(packet.slot, Some(slot_of(*n)), "client {n}");
        }
    }
    rig.count(Event::EntryHit)
}

fn seconds() -> u64 {
    let in_ci = std::env::var_os("CI").is_some();
    let given = std::env::var("STRESS_SECONDS").ok().and_then(|s| s.parse().ok());
    given.unwrap_or(if in_ci { 30 } else { 2 })
}

#[test]
fn under_stress_every_hit_gives_what_was_entered_for_its_key() {
    let mut first = Rig::new(1_000);
    first.tables.slots = SlotTable::new((0..SLOTS).map(|_| (SlotEpochs::default(), None)));
    let table = first.tracker.table().clone();
    let end = Instant::now() + Duration::from_secs(seconds());
    let clock = &AtomicU32::new(0);
    let hits: u64 = thread::scope(|scope| {
        let workers = (0..4).map(|seed| {
            let mut rig = Rig::on(table.clone(), InsertLimit::default());
            rig.tables.slots = SlotTable::new((0..SLOTS).map(|_| (SlotEpochs::default(), None)));
            scope.spawn(move || {
                let mut hits = 0;
                while Instant::now() < end {
                    hits = work(&mut rig, seed + hits, clock);
                    clock.fetch_add(1, Relaxed);
                }
                hits
            })
        });
        let workers: Vec<_> = workers.collect();
        let mut upkeep = Upkeep::default();
        while Instant::now() < end {
            upkeep.step(&table, &first.tables, Tick(clock.load(Relaxed)), 16);
            table.for_each_live(&first.tables, Tick(clock.load(Relaxed)), |entry| {
                let std::net::IpAddr::V4(src) = entry.key.flow().src() else { return };
                let [_, a, b, c] = src.octets();
                assert_eq!(entry.value.slot(), slot_of(u32::from_be_bytes([0, a, b, c])));
            });
            thread::sleep(Duration::from_millis(5));
        }
        workers.into_iter().map(|w| w.join().expect("no panic")).sum()
    });
    assert!(hits > 0);
    let mut keys = Vec::new();
    let now = Tick(clock.load(Relaxed));
    table.for_each_live(&first.tables, now, |e| keys.push(format!("{:?}", e.key)));
    let entries = keys.len();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), entries, "one entry for a key");
}
