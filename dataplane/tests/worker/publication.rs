//! Tables change ten thousand times a second while two workers serve: nothing is dropped, nothing
//! goes where it should not, and the old Tables are freed (D-5, R-2).

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use dataplane::io::Frame;
use dataplane::io::mem::MemFrame;
use dataplane::worker::Worker;
use tables::counters::Event;
use tables::{Outcome, Pool, PortId, Tables, Tick};

use crate::rig::*;

const PUBLICATIONS: u32 = 10_000;
const PAUSE: Duration = Duration::from_micros(100);
const PATIENCE: Duration = Duration::from_secs(60);
const FLOWS: u16 = 512;
const BURST: usize = 32;

/// The flows of one worker: port numbers that no other worker has.
fn flows(worker: u16) -> std::ops::Range<u16> {
    1_000 * (worker + 1)..1_000 * (worker + 1) + FLOWS
}

fn segment(sport: u16, syn: bool) -> Vec<u8> {
    tcp([198, 51, 100, 7], sport, 80, syn, 0)
}

/// What one set alone answers for each of a worker's flows.
fn answers(pool: &Arc<Pool>, worker: u16) -> Vec<u8> {
    let frames: Vec<_> = flows(worker).map(|sport| segment(sport, true)).collect();
    let mut rig = Rig::new(tables_of(Arc::clone(pool), None));
    rig.send(frames.iter().map(|f| &**f));
    rig.backends()
}

/// The inner source port of a frame that was sent, and its backend.
fn read(frame: &MemFrame) -> (u16, u8) {
    let bytes = frame.bytes();
    (u16::from_be_bytes([bytes[54], bytes[55]]), bytes[33])
}

/// One worker's traffic: new connections, then two segments of each, for as long as it may.
struct Traffic {
    worker: Worker<dataplane::io::mem::MemIo>,
    number: u16,
    valid: [Vec<u8>; 2],
    chosen: Vec<u8>,
    bursts: u64,
}

impl Traffic {
    /// Comes back when it is over, to be dropped by one thread.
    fn run(mut self, stop: &AtomicBool) -> Self {
        let frames = [true, false]
            .map(|syn| -> Vec<_> { flows(self.number).map(|sport| segment(sport, syn)).collect() });
        while !stop.load(Relaxed) {
            for (syn, frames) in [(true, &frames[0]), (false, &frames[1]), (false, &frames[1])] {
                frames.chunks(BURST).for_each(|burst| self.burst(burst, syn));
            }
        }
        self.worker.tables.offline();
        self
    }

    fn burst(&mut self, frames: &[Vec<u8>], syn: bool) {
        frames.iter().for_each(|frame| self.worker.io.arrive(PortId(0), frame));
        assert_eq!(self.worker.step(Tick(1)), frames.len());
        let sent = std::mem::take(&mut self.worker.io.ports[0].sent);
        self.check(&sent, frames.len(), syn);
        self.bursts += 1;
        if self.bursts.is_multiple_of(1_000) {
            self.worker.tables.offline();
            thread::yield_now();
        }
    }

    /// A new connection goes where one of the two sets says, its segments where it went.
    fn check(&mut self, sent: &VecDeque<MemFrame>, expected: usize, syn: bool) {
        assert_eq!(sent.len(), expected, "nothing is dropped");
        for frame in sent {
            let (sport, backend) = read(frame);
            let flow = usize::from(sport - flows(self.number).start);
            if syn {
                let valid = self.valid.each_ref().map(|answers| answers[flow]);
                assert!(valid.contains(&backend), "flow {sport}: {backend}, not of {valid:?}");
                self.chosen[flow] = backend;
            } else {
                assert_eq!(backend, self.chosen[flow], "flow {sport}");
            }
        }
    }
}

#[test]
fn r2_ten_thousand_publications_under_traffic_drop_and_misroute_nothing() {
    let sets = [pool(&[1; 5]), pool(&[9, 1, 1, 1, 1])];
    let mut rigs = Rig::several(tables_of(Arc::clone(&sets[0]), None), 2);
    let publisher = std::mem::replace(
        &mut rigs[0].publisher,
        tables::publish::Publisher::new(Tables::default(), 1),
    );
    let counters: Vec<_> = rigs.iter().map(|rig| Arc::clone(&rig.counters)).collect();
    let traffic = (0..).zip(rigs).map(|(number, mut rig)| {
        rig.worker.tables = publisher.reader(format!("worker {number}"));
        let valid = sets.each_ref().map(|set| answers(set, number));
        assert_ne!(valid[0], valid[1], "two answers to tell apart");
        let chosen = vec![0; FLOWS.into()];
        Traffic { worker: rig.worker, number, valid, chosen, bursts: 0 }
    });
    let stop = AtomicBool::new(false);
    let mut published: Vec<Weak<Tables>> = Vec::new();
    let start = Instant::now();
    let traffic: Vec<Traffic> = thread::scope(|scope| {
        let stop = &stop;
        let spawned = traffic.map(|traffic| scope.spawn(move || traffic.run(stop)));
        let spawned: Vec<_> = spawned.collect();
        for number in 0..PUBLICATIONS {
            let set = &sets[number as usize % 2];
            let next = Arc::new(tables_of(Arc::clone(set), None));
            published.push(Arc::downgrade(&next));
            if let Err(refused) = publisher.publish_within(next, PATIENCE) {
                stop.store(true, Relaxed);
                panic!("{refused}");
            }
            while start.elapsed() < PAUSE * number && !spawned.iter().any(|w| w.is_finished()) {
                std::hint::spin_loop();
            }
        }
        stop.store(true, Relaxed);
        spawned.into_iter().map(|worker| worker.join().expect("every packet is right")).collect()
    });
    let bursts: Vec<_> = traffic.iter().map(|traffic| traffic.bursts).collect();
    let rate = f64::from(PUBLICATIONS) / start.elapsed().as_secs_f64();
    println!("{rate:.0} publications a second under {bursts:?} bursts of {BURST}");
    assert!(bursts.iter().all(|bursts| *bursts > 0));
    for counters in counters {
        let received = counters.event(Event::Received);
        assert_eq!(counters.outcome(Outcome::Forwarded), received);
        assert_eq!(counters.ended(), received);
    }
    assert_eq!(publisher.collect(), 0);
    assert_eq!(published.iter().filter(|tables| tables.strong_count() > 0).count(), 1);
}
