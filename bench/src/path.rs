//! The worker's whole way, a packet: from a received burst in hand to a burst handed to transmit,
//! counters and observer in place, a clock read each burst.
//!
//! A round measures the unit, then each case: its generator alone, and generator and worker
//! together; the difference is the worker's. So what cases are compared with is never more than a
//! few seconds old.

use std::collections::VecDeque;
use std::path::Path;

use dataplane::batch::BURST;
use dpdk::{Eal, EalConfig, Mbuf, Mempool, PoolConfig};

use crate::Result;
use crate::clock::{median, time};
use crate::floor::Floor;
use crate::hugepages::Reserved;
use crate::report::{Report, one, spread, two};
use crate::rig::{Plant, Rig, mbufs};
use crate::traffic::{Kind, Order};
use crate::unit::Unit;

/// Packets of one measurement.
const PACKETS: usize = 1 << 18;

/// What the packets meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// Connections that are there.
    Established,
    /// A SYN each for connections that were not there, into a table with free lanes.
    Creates,
    /// The same into a table where everything has expired and nothing was swept.
    Reclaims,
    /// A SYN each for connections that are there.
    Replaces,
    /// New connections beyond the worker's insert limit.
    OverLimit,
    /// New connections into a table where all entries are live and confirmed.
    Full,
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// As printed, and as `--only` matches.
    pub name: &'static str,
    kind: Kind,
    flows: u32,
    load: Load,
    /// What it must not exceed and what it should reach, units.
    goal: Option<(f64, f64)>,
}

const fn case(
    name: &'static str,
    kind: Kind,
    flows: u32,
    load: Load,
    goal: Option<(f64, f64)>,
) -> Case {
    Case { name, kind, flows, load, goal }
}

/// Every row: first those that have a bar, in the order of the design.
pub const CASES: &[Case] = {
    use Kind::{Many4, Syn4, Syn6, Tcp4, Tcp6, Udp4};
    use Load::{Creates, Established, Full, OverLimit, Reclaims, Replaces};
    const M: u32 = 1_000_000;
    &[
        case("established IPv4 TCP, 10 k flows", Tcp4, 10_000, Established, Some((3.2, 2.5))),
        case("established IPv4 TCP, 1 M flows", Tcp4, M, Established, Some((5.0, 4.0))),
        case("established IPv6 TCP, 10 k flows", Tcp6, 10_000, Established, Some((4.5, 3.5))),
        case("established IPv6 TCP, 1 M flows", Tcp6, M, Established, Some((7.0, 5.5))),
        case("SYN that creates an entry, 1 M flows", Syn4, M, Creates, Some((8.0, 6.0))),
        case("SYN flood, not entered (limit)", Syn4, M, OverLimit, Some((4.0, 3.0))),
        case("SYN flood, not entered (table full)", Syn4, M, Full, None),
        case("SYN over expired entries, 1 M flows", Syn4, M, Reclaims, None),
        case("SYN on a live entry, 1 M flows", Syn4, M, Replaces, None),
        case("IPv6 SYN that creates an entry, 1 M", Syn6, M, Creates, None),
        case("established IPv4 UDP, 1 M flows", Udp4, M, Established, None),
        case("established IPv4 TCP, 1 flow", Tcp4, 1, Established, None),
        case("established IPv4 TCP, 1 k flows", Tcp4, 1_000, Established, None),
        case("established IPv4 TCP, 4 M flows", Tcp4, 4 * M, Established, None),
        case("the same, 10 k flows, 1,000 VIPs", Many4, 10_000, Established, None),
        case("the same, 1 M flows, 1,000 VIPs", Many4, M, Established, None),
    ]
};

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Options {
    /// Rounds; medians need at least 9.
    pub rounds: usize,
    /// Only cases whose names contain this.
    pub only: String,
    /// The CPU to measure on.
    pub cpu: usize,
}

/// A case with its rig and what was measured so far.
struct Bench {
    case: Case,
    rig: Rig<Mbuf>,
    generator: Vec<f64>,
    worker: Vec<f64>,
    round: u32,
}

impl Bench {
    fn new(case: Case, buffers: &mut VecDeque<Mbuf>) -> Result<Self> {
        let mut plant = Plant::one(case.kind, case.flows.max(1000));
        plant.limit = u32::from(case.load == Load::OverLimit);
        let mut rig = Rig::new(&plant, case.kind, Order::random(case.flows))?;
        rig.with_buffers(buffers, |rig| prepare(case, rig));
        Ok(Self { case, rig, generator: Vec::new(), worker: Vec::new(), round: 0 })
    }

    fn round(&mut self, buffers: &mut VecDeque<Mbuf>) {
        let case = self.case;
        self.round += 1;
        let (generator, both) = self.rig.with_buffers(buffers, |rig| {
            let packets = set_up(case, rig, self.round);
            measure(rig, packets)
        });
        self.generator.push(generator);
        self.worker.push(both - generator);
    }
}

/// Fills the table.
fn prepare(case: Case, rig: &mut Rig<Mbuf>) {
    match case.load {
        Load::Established | Load::Replaces => rig.establish(case.kind.going_on(), case.flows),
        // More than fit: every lane is taken.
        Load::Full => rig.establish(case.kind.going_on(), case.flows / 4 * 5),
        Load::Reclaims | Load::Creates | Load::OverLimit => {}
    }
    rig.receive(case.kind, Order::random(case.flows));
}

/// Brings a rig to where a round starts; says how many packets it has.
fn set_up(case: Case, rig: &mut Rig<Mbuf>, round: u32) -> usize {
    // Numbers that no round before has used, and no established flow.
    let fresh = Order::Each { next: (1 << 28) + round * 0x0100_0000 };
    match case.load {
        Load::Established | Load::Replaces => {
            // The first packets bring what fits back into the caches.
            rig.bursts(PACKETS / 4 / BURST);
            PACKETS
        }
        Load::Creates => {
            rig.clear();
            rig.receive(case.kind, fresh);
            case.flows as usize
        }
        Load::Reclaims => {
            rig.receive(case.kind, Order::Each { next: (1 << 27) + round * 0x0100_0000 });
            rig.bursts(case.flows as usize / BURST);
            rig.expire();
            rig.receive(case.kind, fresh);
            PACKETS
        }
        Load::OverLimit | Load::Full => {
            rig.receive(case.kind, fresh);
            PACKETS
        }
    }
}

/// Nanoseconds a packet of the generator alone, and of generator and worker.
fn measure(rig: &mut Rig<Mbuf>, packets: usize) -> (f64, f64) {
    let bursts = packets / BURST;
    let order = rig.worker.io.order.clone();
    let generator = time(|| (0..bursts).for_each(|_| rig.worker.io.idle()));
    rig.worker.io.order = order;
    let both = time(|| rig.bursts(bursts));
    let packets = (bursts * BURST) as f64;
    (generator / packets, both / packets)
}

/// Runs it.
pub fn run(options: &Options, folder: &Path) -> Result<()> {
    let _pages = Reserved::free(1024);
    let eal = Eal::start(&EalConfig { cpus: vec![options.cpu], memory: 96, ..Default::default() })?;
    let pool = PoolConfig { buffers: 16_383, ..PoolConfig::default() };
    let pool = Mempool::new(&eal, "frames", &pool)?;
    crate::clock::pin(options.cpu);
    let mut buffers = [mbufs(&pool, Kind::Tcp4)?, mbufs(&pool, Kind::Tcp6)?];
    let mut unit = Unit::new(&eal, &pool, options.cpu)?;
    let (mut floor, mut times) = (Floor::default(), [const { Vec::new() }; 3]);
    let cases = CASES.iter().filter(|case| case.name.contains(&options.only));
    let benches = cases.map(|case| Bench::new(*case, &mut buffers[usize::from(case.kind.v6())]));
    let mut benches: Vec<_> = benches.collect::<Result<_>>()?;
    for _ in 0..options.rounds {
        times[0].push(unit.measure()?);
        times[1].push(floor.prefetched(PACKETS));
        times[2].push(floor.dependent(PACKETS / 16));
        for bench in &mut benches {
            bench.round(&mut buffers[usize::from(bench.case.kind.v6())]);
        }
    }
    for bench in &benches {
        bench.rig.check_all_forwarded()?;
    }
    report(options, &unit, &times, &benches).finish(folder)
}

fn report(options: &Options, unit: &Unit, times: &[Vec<f64>; 3], benches: &[Bench]) -> Report {
    let mut report =
        Report::new("path", &["one worker", "ns", "generator", "units", "bar", "aim", "", "Mpps"]);
    let [unit_ns, line, dependent] = [0, 1, 2].map(|i| median(&times[i]));
    report.row("unit", &[spread(&times[0]), String::new(), one(1.0)], &times[0]);
    report.row("random line", &[spread(&times[1]), String::new(), two(line / unit_ns)], &times[1]);
    let cells = [spread(&times[2]), String::new(), two(dependent / unit_ns)];
    report.row("random line, dependent", &cells, &times[2]);
    for bench in benches {
        let (ns, units) = (median(&bench.worker), median(&bench.worker) / unit_ns);
        let (bar, aim) = bench.case.goal.unzip();
        let cells = [
            spread(&bench.worker),
            one(median(&bench.generator)),
            two(units),
            bar.map_or_else(String::new, one),
            aim.map_or_else(String::new, one),
            verdict(units, bench.case.goal).into(),
            one(1e3 / ns),
        ];
        report.row(bench.case.name, &cells, &bench.worker);
    }
    report.note(format!("unit: {}", unit.name()));
    report.note(format!(
        "medians of {} interleaved rounds (least and most in brackets); the generator's time is taken off",
        options.rounds
    ));
    report
}

fn verdict(units: f64, goal: Option<(f64, f64)>) -> &'static str {
    match goal {
        None => "",
        Some((_, aim)) if units <= aim => "aim reached",
        Some((bar, _)) if units <= bar => "bar reached",
        Some(_) => "MISSED",
    }
}
