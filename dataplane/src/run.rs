//! A worker's loop.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use tables::Tick;

use crate::idle::{Idle, Sleeper};
use crate::io::Io;
use crate::tx::{self, Observe};
use crate::worker::Worker;

/// Takes steps until `stop` is set. `start` is where the ticks of all workers begin.
pub fn run<I: Io, O: Observe<I::Frame>>(
    worker: &mut Worker<I, O>,
    start: Instant,
    idle: Idle,
    stop: &AtomicBool,
) {
    let mut sleeper = Sleeper::new(idle);
    while !stop.load(Ordering::Relaxed) {
        let packets = worker.step(Tick::after(start.elapsed(), Tick::LENGTH));
        worker.counters.worker(worker.number).step_taken();
        if let Some(pause) = sleeper.after(packets) {
            // Asleep it holds no Tables, so that the publisher need not wait for it (D-5).
            worker.tables.offline();
            std::thread::sleep(pause);
        }
    }
    worker.finish();
    worker.tables.offline();
}

impl<I: Io, O: Observe<I::Frame>> Worker<I, O> {
    /// Ends what is still held, so that all that was received has ended (D-7). For a worker that
    /// takes no more steps.
    pub fn finish(&mut self) {
        let counters = self.counters.worker(self.number);
        while self.fragments.give_up(&mut self.batch, counters)
            || self.waiting.give_up(&mut self.batch, counters)
        {
            tx::stage(&mut self.batch, &mut self.io, counters, &mut self.observer);
        }
    }
}
