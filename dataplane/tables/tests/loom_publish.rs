//! Every interleaving of small cases of the publisher.
//!
//! `make model`, or `RUSTFLAGS="--cfg loom" cargo test -p tables --test loom_publish`
#![cfg(loom)]

use loom::cell::UnsafeCell;
use loom::thread;
use tables::publish::{Publisher, Reader};

/// A value whose reading and freeing loom watches: a read that does not happen before the drop, or
/// not after the making, fails the test.
struct Watched {
    number: UnsafeCell<u32>,
}

impl Watched {
    fn new(number: u32) -> Self {
        Self { number: UnsafeCell::new(number) }
    }

    fn read(&self) -> u32 {
        // SAFETY: this test's claim; loom reports it if a write is concurrent.
        self.number.with(|number| unsafe { *number })
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        // SAFETY: this test's claim; loom reports it if a read is concurrent.
        self.number.with_mut(|number| unsafe { *number = u32::MAX });
    }
}

// SAFETY: shared only for reading; that the drop comes after is what loom checks.
unsafe impl Sync for Watched {}

fn read_twice(mut reader: Reader<Watched>) {
    let first = reader.current().read();
    let second = reader.current().read();
    assert!(first <= second && second <= 2, "{first}, then {second}");
}

#[test]
fn one_reader_while_two_values_are_published() {
    loom::model(|| {
        let publisher = Publisher::new(Watched::new(0), 1);
        let reader = publisher.reader("reader");
        let worker = thread::spawn(move || read_twice(reader));
        for number in 1..=2 {
            let _ = publisher.try_publish(Watched::new(number));
        }
        worker.join().expect("no panic");
        assert_eq!(publisher.collect(), 0);
    });
}

#[test]
fn a_reader_that_sleeps_and_wakes() {
    loom::model(|| {
        let publisher = Publisher::new(Watched::new(0), 1);
        let mut reader = publisher.reader("reader");
        let worker = thread::spawn(move || {
            let first = reader.current().read();
            reader.offline();
            assert!(reader.current().read() >= first);
            reader.offline();
        });
        let _ = publisher.try_publish(Watched::new(1));
        publisher.collect();
        worker.join().expect("no panic");
    });
}

#[test]
fn two_readers_while_a_value_is_published() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let publisher = Publisher::new(Watched::new(0), 1);
        let workers = ["a", "b"].map(|name| {
            let reader = publisher.reader(name);
            thread::spawn(move || read_twice(reader))
        });
        let _ = publisher.try_publish(Watched::new(1));
        for worker in workers {
            worker.join().expect("no panic");
        }
        assert_eq!(publisher.collect(), 0);
    });
}

#[test]
fn a_reader_outlives_the_publisher() {
    loom::model(|| {
        let publisher = Publisher::new(Watched::new(0), 1);
        let reader = publisher.reader("reader");
        let worker = thread::spawn(move || read_twice(reader));
        let _ = publisher.try_publish(Watched::new(1));
        drop(publisher);
        worker.join().expect("no panic");
    });
}
