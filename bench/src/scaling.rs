//! Two workers on two cores that share Tables and the connection table: how much faster than one?

use std::path::Path;
use std::sync::Barrier;
use std::time::Instant;

use dataplane::batch::BURST;
use dataplane::io::mem::MemFrame;
use dataplane::track::Pages;

use crate::Result;
use crate::clock::{cpus, median, pin, time};
use crate::report::{Report, one, two};
use crate::rig::{Plant, Rig, plain_buffers};
use crate::traffic::{Kind, Order};

/// Packets of one worker and measurement.
const PACKETS: usize = 1 << 19;

/// A name, the packets that are measured, flows, and entries of the table.
const CASES: &[(&str, Kind, u32, u32)] = &[
    ("established, 1 M flows", Kind::Tcp4, 1_000_000, 1_000_000),
    ("established, 10 k flows", Kind::Tcp4, 10_000, 1_000_000),
    ("established IPv6, 1 M flows", Kind::Tcp6, 1_000_000, 1_000_000),
    // The smallest table has two buckets: every packet of both workers goes to the same lines.
    ("established, all in one shard", Kind::Tcp4, 16, 16),
    ("SYN on live entries, 1 M flows", Kind::Syn4, 1_000_000, 1_000_000),
    ("SYN on live entries, one shard", Kind::Syn4, 16, 16),
];

/// Two workers of a case and what was measured.
struct Bench {
    rigs: Vec<Rig<MemFrame>>,
    cpu: Vec<f64>,
    wall: Vec<f64>,
    one: Vec<f64>,
}

impl Bench {
    fn new(kind: Kind, flows: u32, entries: u32) -> Result<Self> {
        let entries = if kind.v6() { (16, entries) } else { (entries, 16) };
        let plant = Plant { entries, pages: Pages::Auto, limit: 0, workers: 2 };
        let mut rigs: Vec<Rig<MemFrame>> = Rig::several(&plant, kind, &Order::random(flows))?;
        for (number, rig) in rigs.iter_mut().enumerate() {
            rig.worker.io.buffers = plain_buffers(kind);
            if number == 0 {
                rig.establish(if kind == Kind::Syn4 { Kind::Tcp4 } else { kind }, flows);
            }
            let state = 0x9E37_79B9_7F4A_7C15 << number;
            rig.receive(kind, Order::Random { flows, state });
        }
        Ok(Self { rigs, cpu: Vec::new(), wall: Vec::new(), one: Vec::new() })
    }

    /// One worker by itself, then both.
    fn round(&mut self) {
        let alone = self.run(1);
        let both = self.run(2);
        let rate = |runs: &[(f64, f64)], which: fn(&(f64, f64)) -> f64| {
            runs.iter().map(|run| 1.0 / which(run)).sum::<f64>()
        };
        self.cpu.push(rate(&both, |run| run.0) / rate(&alone, |run| run.0));
        self.wall.push(rate(&both, |run| run.1) / rate(&alone, |run| run.1));
        self.one.extend(alone.first().map(|run| run.0));
    }

    /// Nanoseconds a packet of each worker: its own time, and the wall's.
    fn run(&mut self, workers: usize) -> Vec<(f64, f64)> {
        let barrier = Barrier::new(workers);
        std::thread::scope(|scope| {
            let rigs = self.rigs.iter_mut().take(workers).enumerate();
            let threads = rigs.map(|(number, rig)| {
                let barrier = &barrier;
                scope.spawn(move || {
                    pin(number % cpus());
                    rig.bursts(PACKETS / 8 / BURST);
                    barrier.wait();
                    let start = Instant::now();
                    let cpu = time(|| rig.bursts(PACKETS / BURST));
                    // A worker that is not heard of any more does not keep old Tables.
                    rig.worker.tables.offline();
                    let wall = start.elapsed().as_nanos() as f64;
                    (cpu / PACKETS as f64, wall / PACKETS as f64)
                })
            });
            let threads: Vec<_> = threads.collect();
            threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
        })
    }
}

/// Runs it.
pub fn run(rounds: usize, folder: &Path) -> Result<()> {
    let columns = ["two workers", "one: ns", "× (own time)", "× (wall)", "bar"];
    let mut report = Report::new("scaling", &columns);
    let benches = CASES.iter().map(|(_, kind, flows, entries)| Bench::new(*kind, *flows, *entries));
    let mut benches: Vec<_> = benches.collect::<Result<_>>()?;
    for _ in 0..rounds {
        benches.iter_mut().for_each(Bench::round);
    }
    for ((name, ..), bench) in CASES.iter().zip(&benches) {
        bench.rigs.iter().try_for_each(Rig::check_all_forwarded)?;
        let bar = if name.ends_with("flows") && !name.starts_with("SYN") { "1.80" } else { "" };
        let [own, wall] = [&bench.cpu, &bench.wall].map(|rounds| two(median(rounds)));
        report.row(*name, &[one(median(&bench.one)), own, wall, bar.into()], &bench.cpu);
    }
    report.note("the generator runs beside each worker and is not taken off");
    report
        .note("wall time counts what else the machine does; own time does not, but for its caches");
    report.finish(folder)
}
