//! The publisher under real threads: readers never see a freed value, and all are freed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use tables::publish::{Publisher, Reader};

static FREED: AtomicU64 = AtomicU64::new(0);

/// A value that says whether it is whole. It is large enough for the allocator to hand the same
/// memory out again and again.
struct Whole {
    number: u64,
    copies: [AtomicU64; 32],
}

impl Whole {
    fn new(number: u64) -> Self {
        Self { number, copies: std::array::from_fn(|_| AtomicU64::new(number)) }
    }

    fn check(&self) -> u64 {
        assert!(self.copies.iter().all(|copy| copy.load(SeqCst) == self.number), "a freed value");
        self.number
    }
}

impl Drop for Whole {
    fn drop(&mut self) {
        self.copies.iter().for_each(|copy| copy.store(u64::MAX, SeqCst));
        FREED.fetch_add(1, SeqCst);
    }
}

/// Reads, and now and then sleeps offline, until told to stop.
fn work(mut reader: Reader<Whole>, stop: &AtomicBool, sleep_every: u64) {
    let mut last = 0;
    for burst in 1.. {
        let tables = reader.current();
        let number = tables.check();
        assert!(number >= last, "back from {last} to {number}");
        last = tables.check();
        if burst % sleep_every == 0 {
            reader.offline();
            thread::yield_now();
        }
        if stop.load(SeqCst) {
            return;
        }
    }
}

#[test]
fn readers_never_see_a_freed_value_and_all_are_freed() {
    let publisher = Publisher::new(Whole::new(0), 4);
    let stop = Arc::new(AtomicBool::new(false));
    let workers: Vec<_> = [2, 64, u64::MAX]
        .into_iter()
        .map(|sleep_every| {
            let (reader, stop) = (publisher.reader(format!("every {sleep_every}")), stop.clone());
            thread::spawn(move || work(reader, &stop, sleep_every))
        })
        .collect();
    let until = Instant::now() + Duration::from_millis(1500);
    let mut published = 1;
    while Instant::now() < until {
        match publisher.try_publish(Whole::new(published)) {
            Ok(()) => published += 1,
            // The refused one is freed too, and its number is used again.
            Err(refused) => {
                drop(refused);
                FREED.fetch_sub(1, SeqCst);
                thread::yield_now();
            }
        }
    }
    stop.store(true, SeqCst);
    workers.into_iter().for_each(|worker| worker.join().expect("no panic"));
    assert_eq!(publisher.collect(), 0);
    drop(publisher);
    assert_eq!(FREED.load(SeqCst), published);
    println!("{published} values were published");
}
