//! What a look-up and an insert in the connection table take: `cargo run --release -p dataplane
//! --example table [entries...]`.
//!
//! Bursts of 32 in random order, all entries live, through the stages that a worker runs. Printed:
//! the median of interleaved rounds, nanoseconds a packet; beside it the same walk over random
//! lines of as much memory, which no table can beat by much.

use std::hint::black_box;
use std::sync::Arc;

use dataplane::batch::{BURST, Batch, Packet};
use dataplane::track::{ConnectionTable, InsertLimit, Pages, TableKey, Tracker};
use tables::{
    ClassPlan, Counters, EarlierKeys, FieldSet, Flow, Lifetime, PacketClass, Plan, PortId, Service,
    SlotEpochs, SlotId, SlotTable, Tables, Tick,
};

/// Nanoseconds that this thread has run, others' turns on a busy machine left out.
fn cpu_time() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    stat.split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or_default()
}

const ROUNDS: usize = 9;
const LOOK_UPS: usize = 1 << 20;

fn tables() -> Tables {
    let row = ClassPlan {
        select: FieldSet::FIVE_TUPLE,
        track: Some(FieldSet::FIVE_TUPLE),
        track_before: EarlierKeys::NONE,
        syn_is_new: true,
        lifetime: Lifetime::Persisting,
    };
    let (plan, pool) = (Plan([row; 7]), Arc::default());
    let service = Service {
        name: "web".into(),
        plan,
        idle_ticks: 1 << 20,
        idle_floor: None,
        pool,
        zonal: [].into(),
    };
    let slots = SlotTable::new((0..16).map(|_| (SlotEpochs::default(), None)));
    Tables { services: [Some(service)].into(), slots, ..Tables::default() }
}

/// Flow `n`, well mixed.
fn flow(v6: bool, n: u32) -> Flow {
    let client = n.wrapping_mul(2_654_435_761).to_be_bytes();
    if !v6 {
        return Flow::v4(client, [203, 0, 113, 1], 6, 40_000, 443);
    }
    let mut src = [0x20; 16];
    src[12..].copy_from_slice(&client);
    Flow::v6(src, [0x21; 16], 6, 40_000, 443)
}

struct Rig {
    tracker: Tracker,
    counters: Counters,
    tables: Tables,
    batch: Batch<()>,
    order: Vec<Flow>,
}

impl Rig {
    fn new(v6: bool, entries: u32, pages: Pages) -> Self {
        let (v4, v6_entries) = if v6 { (0, entries) } else { (entries, 0) };
        let table = ConnectionTable::new(v4, v6_entries, pages, TableKey::random());
        let tracker =
            Tracker::new(Arc::new(table.expect("enough memory")), InsertLimit::per_tick(0));
        let mut state = 1_u64;
        let order = (0..LOOK_UPS).map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            flow(v6, ((state >> 33) % u64::from(entries)) as u32)
        });
        let order = order.collect();
        Self {
            tracker,
            counters: Counters::new(1),
            tables: tables(),
            batch: Batch::default(),
            order,
        }
    }

    /// One burst of the stages.
    fn burst(&mut self, flows: &[Flow], syn: bool, now: u32) {
        fill(&mut self.batch, flows, syn);
        let counters = self.counters.worker(0);
        self.tracker.look_up(&mut self.batch, &self.tables, Tick(now), counters);
        for packet in self.batch.live().filter(|p| p.slot.is_none()) {
            packet.slot = SlotId::new(u32::from(packet.parsed.flow.dport()) % 16);
        }
        self.tracker.record(&mut self.batch, &self.tables, Tick(now), counters);
        black_box(&mut self.batch).0.clear();
    }

    /// Nanoseconds a packet of the whole order, the time of making packets taken off.
    fn walk(&mut self, syn: bool, now: u32) -> f64 {
        let order = std::mem::take(&mut self.order);
        let start = cpu_time();
        for flows in order.chunks(BURST) {
            fill(&mut self.batch, flows, syn);
            black_box(&mut self.batch).0.clear();
        }
        let making = cpu_time() - start;
        let start = cpu_time();
        for flows in order.chunks(BURST) {
            self.burst(flows, syn, now);
        }
        let all = cpu_time() - start;
        self.order = order;
        (all - making) / LOOK_UPS as f64
    }
}

fn fill(batch: &mut Batch<()>, flows: &[Flow], syn: bool) {
    for flow in flows {
        let mut packet = Packet::new((), PortId(0));
        packet.parsed.flow = *flow;
        packet.parsed.class = PacketClass::Tcp;
        packet.parsed.syn = syn;
        batch.0.push(packet);
    }
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Sums of random lines of `bytes`, 32 prefetched at a time.
fn floor(bytes: usize) -> f64 {
    let lines = vec![[1_u64; 8]; bytes / 64];
    let mut state = 1_u64;
    let mut sum = 0;
    let start = cpu_time();
    for _ in 0..LOOK_UPS / BURST {
        let mut at = [0; BURST];
        for index in &mut at {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            *index = ((state >> 33) as usize) % lines.len();
            dataplane::prefetch::prefetch(&lines[*index]);
        }
        sum += at.iter().map(|i| lines[*i][0]).sum::<u64>();
    }
    black_box(sum);
    (cpu_time() - start) / LOOK_UPS as f64
}

fn measure(v6: bool, entries: u32, pages: Pages) {
    let mut rig = Rig::new(v6, entries, pages);
    let start = cpu_time();
    let all: Vec<Flow> = (0..entries).map(|n| flow(v6, n)).collect();
    for flows in all.chunks(BURST) {
        rig.burst(flows, true, 0);
    }
    let insert = (cpu_time() - start) / f64::from(entries);
    let mut times = [const { Vec::new() }; 4];
    for round in 0..ROUNDS as u32 {
        rig.walk(false, 2 * round);
        times[0].push(rig.walk(false, 2 * round));
        times[1].push(rig.walk(false, 2 * round + 1));
        times[2].push(rig.walk(true, 2 * round + 1));
        times[3].push(floor(rig.tracker.table().memory().bytes()));
    }
    let [hit, refresh, replace, floor] = times.map(median);
    let family = if v6 { "IPv6" } else { "IPv4" };
    println!(
        "{family} {entries:>9} {:>5}  hit {hit:6.1}  hit in a new tick {refresh:6.1}  replace {replace:6.1}  \
         insert {insert:6.1}  random line {floor:5.1}",
        if pages == Pages::Off { "small" } else { "huge" },
    );
}

fn main() {
    let asked: Vec<u32> = std::env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    let sizes = if asked.is_empty() { vec![10_000, 1_000_000, 4_000_000] } else { asked };
    println!("nanoseconds a packet, medians of {ROUNDS} rounds");
    for v6 in [false, true] {
        for entries in &sizes {
            for pages in [Pages::Auto, Pages::Off] {
                measure(v6, *entries, pages);
            }
        }
    }
}
