//! The worker's whole way over DPDK's ports, a packet: `net_ring` (frames pass a ring on their way in
//! and one on their way out, and stay in the same buffers) and `net_null` (each frame is received
//! into a buffer that comes from the pool, and goes back to it when it is sent).
//!
//! A round measures each case in memory, over rings and over null ports, each time the generator with
//! its ports alone, then all together.

use std::collections::VecDeque;
use std::path::Path;

use arrayvec::ArrayVec;
use dataplane::batch::BURST;
use dpdk::{Eal, EalConfig, Mbuf, Mempool, PoolConfig, Port, PortConfig, RxQueue, TxQueue};

use crate::Result;
use crate::clock::{median, time};
use crate::hugepages::Reserved;
use crate::recycle::{Wire, take};
use crate::report::{Report, one, spread};
use crate::rig::{Plant, Rig, mbufs};
use crate::traffic::{Kind, Order};

/// Packets of one measurement.
const PACKETS: usize = 1 << 17;

/// A name, the packets, and of how many flows.
const CASES: &[(&str, Kind, u32)] = &[
    ("established IPv4 TCP, 1 flow", Kind::Tcp4, 1),
    ("established IPv4 TCP, 1 k flows", Kind::Tcp4, 1_000),
    ("established IPv4 TCP, 1 M flows", Kind::Tcp4, 1_000_000),
    ("established IPv4 TCP, 4 M flows", Kind::Tcp4, 4_000_000),
    ("SYN on a live entry, 1 flow", Kind::Syn4, 1),
    ("SYN on a live entry, 1 k flows", Kind::Syn4, 1_000),
    ("SYN on a live entry, 1 M flows", Kind::Syn4, 1_000_000),
    ("SYN on a live entry, 4 M flows", Kind::Syn4, 4_000_000),
    ("established IPv4 UDP, 1 flow", Kind::Udp4, 1),
    ("established IPv4 UDP, 1 k flows", Kind::Udp4, 1_000),
    ("established IPv4 UDP, 1 M flows", Kind::Udp4, 1_000_000),
    ("established IPv4 UDP, 4 M flows", Kind::Udp4, 4_000_000),
    ("established IPv6 TCP, 1 flow", Kind::Tcp6, 1),
    ("established IPv6 TCP, 1 k flows", Kind::Tcp6, 1_000),
    ("established IPv6 TCP, 1 M flows", Kind::Tcp6, 1_000_000),
    ("established IPv6 TCP, 4 M flows", Kind::Tcp6, 4_000_000),
];

/// Two ports; what is sent to one comes back from it.
struct Rings {
    arriving: (RxQueue, TxQueue),
    leaving: (RxQueue, TxQueue),
}

impl Rings {
    fn new(eal: &Eal, pool: &Mempool) -> Result<Self> {
        let ring = |device| -> Result<_> {
            Ok(Port::open(eal, device, pool, &PortConfig::default())?.split().remove(0))
        };
        Ok(Self { arriving: ring("net_ring0")?, leaving: ring("net_ring1")? })
    }
}

/// Through a ring that is empty before and after.
#[inline]
fn pass((rx, tx): &mut (RxQueue, TxQueue), frames: &mut ArrayVec<Mbuf, BURST>) {
    tx.send(frames);
    rx.receive(frames, BURST);
}

impl Wire<Mbuf> for Rings {
    fn fetch(&mut self, buffers: &mut VecDeque<Mbuf>, burst: &mut ArrayVec<Mbuf, BURST>) {
        take(buffers, burst);
    }

    fn arrive(&mut self, burst: &mut ArrayVec<Mbuf, BURST>) {
        pass(&mut self.arriving, burst);
    }

    fn leave(&mut self, frames: &mut ArrayVec<Mbuf, BURST>, buffers: &mut VecDeque<Mbuf>) {
        pass(&mut self.leaving, frames);
        buffers.extend(frames.drain(..));
    }
}

/// A port that makes frames of nothing and sends them nowhere.
struct Null(RxQueue, TxQueue);

impl Null {
    fn new(eal: &Eal, pool: &Mempool) -> Result<Self> {
        let mut port = Port::open(eal, "net_null0", pool, &PortConfig::default())?;
        let (rx, tx) = port.split().remove(0);
        Ok(Self(rx, tx))
    }
}

impl Wire<Mbuf> for Null {
    fn fetch(&mut self, _: &mut VecDeque<Mbuf>, burst: &mut ArrayVec<Mbuf, BURST>) {
        self.0.receive(burst, BURST);
    }

    fn arrive(&mut self, _: &mut ArrayVec<Mbuf, BURST>) {}

    fn leave(&mut self, frames: &mut ArrayVec<Mbuf, BURST>, _: &mut VecDeque<Mbuf>) {
        self.1.send(frames);
    }
}

/// The two kinds of port, lent to one case after the other.
type Wires = [Option<Box<dyn Wire<Mbuf>>>; 2];

/// A case and its figures, nanoseconds a packet: in memory, over rings, over null ports.
struct Bench {
    kind: Kind,
    rig: Rig<Mbuf>,
    /// The worker's alone.
    worker: [Vec<f64>; 3],
    /// With its ports: all but what writing the frames costs.
    with_ports: [Vec<f64>; 3],
}

impl Bench {
    fn new(kind: Kind, flows: u32, buffers: &mut VecDeque<Mbuf>) -> Result<Self> {
        let mut rig = Rig::new(&Plant::one(kind, flows.max(1000)), kind, Order::random(flows))?;
        rig.with_buffers(buffers, |rig| rig.establish(kind.going_on(), flows));
        rig.receive(kind, Order::random(flows));
        Ok(Self { kind, rig, worker: Default::default(), with_ports: Default::default() })
    }

    fn round(&mut self, buffers: &mut VecDeque<Mbuf>, wires: &mut Wires) {
        let (worker, with_ports) = (&mut self.worker, &mut self.with_ports);
        self.rig.with_buffers(buffers, |rig| {
            let (writing, all) = measure(rig);
            worker[0].push(all - writing);
            with_ports[0].push(all - writing);
            for (number, wire) in (1..).zip(wires) {
                std::mem::swap(wire, &mut rig.worker.io.wire);
                let (generator, all) = measure(rig);
                std::mem::swap(wire, &mut rig.worker.io.wire);
                worker[number].push(all - generator);
                with_ports[number].push(all - writing);
            }
        });
    }
}

/// Nanoseconds a packet of the generator with its ports, and of everything.
fn measure(rig: &mut Rig<Mbuf>) -> (f64, f64) {
    // The first packets bring what fits back into the caches.
    rig.bursts(PACKETS / 8 / BURST);
    let order = rig.worker.io.order.clone();
    let generator = time(|| (0..PACKETS / BURST).for_each(|_| rig.worker.io.idle()));
    rig.worker.io.order = order;
    let all = time(|| rig.bursts(PACKETS / BURST));
    (generator / PACKETS as f64, all / PACKETS as f64)
}

/// Runs it.
pub fn run(rounds: usize, cpu: usize, folder: &Path) -> Result<()> {
    let _pages = Reserved::free(1536);
    let eal = Eal::start(&EalConfig { cpus: vec![cpu], memory: 96, ..Default::default() })?;
    let pool = PoolConfig { buffers: 16_383, ..PoolConfig::default() };
    let pool = Mempool::new(&eal, "frames", &pool)?;
    crate::clock::pin(cpu);
    let mut buffers = [mbufs(&pool, Kind::Tcp4)?, mbufs(&pool, Kind::Tcp6)?];
    let mut wires: Wires =
        [Some(Box::new(Rings::new(&eal, &pool)?)), Some(Box::new(Null::new(&eal, &pool)?))];
    let benches = CASES
        .iter()
        .map(|(_, kind, flows)| Bench::new(*kind, *flows, &mut buffers[usize::from(kind.v6())]));
    let mut benches: Vec<_> = benches.collect::<Result<_>>()?;
    for _ in 0..rounds {
        for bench in &mut benches {
            let v6 = usize::from(bench.kind.v6());
            bench.round(&mut buffers[v6], &mut wires);
        }
    }
    report(rounds, &benches)?.finish(folder)
}

fn report(rounds: usize, benches: &[Bench]) -> Result<Report> {
    let columns =
        ["one worker, ns", "in memory", "over net_ring", "and ports", "over net_null", "and ports"];
    let mut report = Report::new("ports", &columns);
    for ((name, ..), bench) in CASES.iter().zip(benches) {
        bench.rig.check_all_forwarded()?;
        let [memory, ring, null] = &bench.worker;
        let [_, ring_ports, null_ports] = &bench.with_ports;
        let cells = [
            spread(memory),
            one(median(ring)),
            one(median(ring_ports)),
            one(median(null)),
            one(median(null_ports)),
        ];
        report.row(*name, &cells, memory);
    }
    report.note("\"and ports\": with receiving and sending; only writing the frames is taken off");
    report.note(format!("medians of {rounds} interleaved rounds"));
    Ok(report)
}
