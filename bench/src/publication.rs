//! What publishing Tables costs a worker, and how fast it can go.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use dataplane::batch::BURST;
use dataplane::io::mem::MemFrame;
use tables::{Publisher, Tables};

use crate::Result;
use crate::clock::{cpus, median, pin, time};
use crate::report::{Report, one, spread};
use crate::rig::{Plant, Rig, plain_buffers, tables};
use crate::traffic::{Kind, Order};

const PACKETS: usize = 1 << 20;
const FLOWS: u32 = 10_000;

/// Publications a second; `None`: as many as go.
const RATES: &[(&str, Option<u32>)] =
    &[("none", Some(0)), ("10,000 a second", Some(10_000)), ("as fast as it goes", None)];

/// Runs it.
pub fn run(rounds: usize, folder: &Path) -> Result<()> {
    let mut rig =
        Rig::<MemFrame>::new(&Plant::one(Kind::Tcp4, FLOWS), Kind::Tcp4, Order::random(FLOWS))?;
    rig.worker.io.buffers = plain_buffers(Kind::Tcp4);
    rig.establish(Kind::Tcp4, FLOWS);
    rig.receive(Kind::Tcp4, Order::random(FLOWS));
    let both = [Arc::new(tables(2)?), Arc::new(tables(3)?)];
    let mut times = vec![(Vec::new(), Vec::new()); RATES.len()];
    pin(cpus() - 1);
    for _ in 0..rounds {
        for ((_, rate), (worker, published)) in RATES.iter().zip(&mut times) {
            let (ns, a_second) = round(&mut rig, &both, *rate);
            worker.push(ns);
            published.push(a_second);
        }
    }
    rig.check_all_forwarded()?;
    let columns = ["publications", "worker ns a packet", "published a second"];
    let mut report = Report::new("publication", &columns);
    for ((name, _), (worker, published)) in RATES.iter().zip(&times) {
        report.row(*name, &[spread(worker), one(median(published))], worker);
    }
    report
        .note("10 k flows; the generator is not taken off; prepared Tables are published in turn");
    report.finish(folder)
}

/// Nanoseconds a packet, and publications a second meanwhile.
fn round(rig: &mut Rig<MemFrame>, both: &[Arc<Tables>; 2], rate: Option<u32>) -> (f64, f64) {
    let (stop, count) = (AtomicBool::new(false), AtomicU64::new(0));
    let publisher = Arc::clone(&rig.publisher);
    let barrier = Barrier::new(2);
    let mut start = Instant::now();
    let ns = std::thread::scope(|scope| {
        scope.spawn(|| {
            // A new thread begins on its parent's CPU.
            pin(0);
            barrier.wait();
            if rate != Some(0) {
                publish(&publisher, both, rate, &stop, &count);
            }
        });
        barrier.wait();
        start = Instant::now();
        let ns = time(|| rig.bursts(PACKETS / BURST));
        stop.store(true, Ordering::Relaxed);
        ns
    });
    let seconds = start.elapsed().as_secs_f64();
    (ns / PACKETS as f64, count.load(Ordering::Relaxed) as f64 / seconds)
}

fn publish(
    publisher: &Publisher<Tables>,
    both: &[Arc<Tables>; 2],
    rate: Option<u32>,
    stop: &AtomicBool,
    count: &AtomicU64,
) {
    let pause = rate.map_or(Duration::ZERO, |rate| Duration::from_secs(1) / rate.max(1));
    let mut due = Instant::now();
    for next in both.iter().cycle() {
        while Instant::now() < due {
            std::hint::spin_loop();
        }
        due += pause;
        // Refused as long as the worker still holds too many old ones: for a burst, at most.
        while publisher.try_publish(Arc::clone(next)).is_err() && !stop.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
        count.fetch_add(1, Ordering::Relaxed);
        if stop.load(Ordering::Relaxed) {
            return;
        }
    }
}
