//! The table under loom: every interleaving, and every stale value that the memory model allows,
//! of two workers at one bucket.
//!
//! `make model`, or `RUSTFLAGS="--cfg loom" cargo test -p dataplane --lib fragment::model`
//!
//! What it does not see: more than two workers at once, and sequences that wrap.

use std::time::Duration;

use loom::sync::Arc;
use loom::thread;
use tables::{PacketClass, Tick};

use super::datagram::Datagram;
use super::entry::Entry;
use super::table::{First, FragmentTable};
use crate::track::TableKey;

fn table() -> Arc<FragmentTable> {
    Arc::new(FragmentTable::new(1, TableKey::fixed(1), Duration::from_millis(125)))
}

fn datagram(id: u64) -> Datagram {
    Datagram { words: [id; 5], hash: id }
}

fn first(port: u16) -> First {
    First { proto: 6, class: PacketClass::Tcp, sport: port, dport: !port }
}

fn model(check: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(check);
}

#[test]
fn nobody_reads_half_of_what_a_first_fragment_said() {
    model(|| {
        let table = table();
        table.record(&datagram(1), first(1), Tick(0));
        let writer = {
            let table = table.clone();
            thread::spawn(move || table.record(&datagram(1), first(2), Tick(0)))
        };
        let seen = table.find(&datagram(1), Tick(0));
        assert!(seen.is_none_or(|s| s == first(1) || s == first(2)), "{seen:?}");
        writer.join().expect("no panic");
        assert_eq!(table.find(&datagram(1), Tick(0)), Some(first(2)));
    });
}

/// What the writer goes by is read before: of each word loom knows its last access only, so that a
/// writer's own read would hide the reader's.
#[test]
fn an_entry_that_changes_hands_is_read_as_one_datagrams_or_the_others() {
    model(|| {
        let entry = Arc::new(Entry::default());
        let quiet = entry.read().expect("nobody writes");
        assert!(entry.write(&quiet, &[1; 5], 1, Tick(1)));
        let seen = entry.read().expect("nobody writes");
        let writer = {
            let entry = entry.clone();
            thread::spawn(move || entry.write(&seen, &[2; 5], 2, Tick(2)))
        };
        if let Some(seen) = entry.read() {
            let one =
                |n: u32| (seen.key, seen.value, seen.since) == ([n.into(); 5], n.into(), Tick(n));
            assert!(one(1) || one(2), "{seen:?}");
        }
        assert!(writer.join().expect("no panic"));
    });
}

#[test]
fn two_first_fragments_at_once_are_both_found() {
    model(|| {
        let table = table();
        let other = {
            let table = table.clone();
            thread::spawn(move || table.record(&datagram(1), first(1), Tick(0)))
        };
        table.record(&datagram(2), first(2), Tick(0));
        other.join().expect("no panic");
        assert_eq!(table.find(&datagram(1), Tick(0)), Some(first(1)));
        assert_eq!(table.find(&datagram(2), Tick(0)), Some(first(2)));
    });
}

/// What a worker that holds a fragment relies on: whoever looks in vain is told of what came later.
#[test]
fn a_look_in_vain_is_followed_by_news() {
    model(|| {
        let table = table();
        let writer = {
            let table = table.clone();
            thread::spawn(move || table.record(&datagram(1), first(1), Tick(0)))
        };
        let news = table.news();
        let seen = table.find(&datagram(1), Tick(0));
        writer.join().expect("no panic");
        assert!(seen.is_some() || table.news() != news);
        assert!(table.find(&datagram(1), Tick(0)).is_some());
    });
}
