//! The connection table beside DPDK's `rte_hash`: the same keys, bursts of 32, random order, all
//! entries live.
//!
//! Ours is asked twice: with ready keys, as `rte_hash` gets them (`rte_hash_lookup_bulk_data`), and
//! as a worker asks it, through the stages that make keys, judge entries and leave the answer in the
//! packet. What filling a burst costs is measured by itself and taken off all.

use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use dataplane::batch::{BURST, Batch, Packet};
use dataplane::track::{ConnectionTable, InsertLimit, Pages, TableKey, Tracker};
use dpdk::{Eal, EalConfig, HugePages};
use tables::{Counters, FieldSet, Key, PacketClass, PortId, ServiceId, SlotId, Tables, Tick};

use crate::Result;
use crate::clock::{median, time};
use crate::floor::Floor;
use crate::hugepages::Reserved;
use crate::report::{Report, one, two};
use crate::rig;
use crate::rte_hash::RteHash;
use crate::traffic::{Kind, Order, flow};

/// Look-ups of one measurement.
const OPERATIONS: usize = 1 << 17;
/// Operations of a mixed measurement: few, so that its new keys do not fill the table.
const MIXED: usize = 1 << 15;
const BACKENDS: u32 = 100;

/// What both tables can do with a burst of flows.
trait Subject {
    /// Readies a burst: the keys, the packets.
    fn fill(&mut self, flows: &[u32; BURST]);
    /// Looks the burst up; how many were found.
    fn find(&mut self) -> usize;
    /// Enters the burst; how many were entered.
    fn insert(&mut self) -> usize;
}

/// The connection table, behind the stages that use it.
struct Ours {
    kind: Kind,
    tracker: Tracker,
    tables: Tables,
    counters: Counters,
    batch: Batch<()>,
}

impl Ours {
    fn new(kind: Kind, entries: u32, pages: Pages) -> Result<Self> {
        let (v4, v6) = if kind.v6() { (16, entries) } else { (entries, 16) };
        let table = ConnectionTable::new(v4, v6, pages, TableKey::random())?;
        let tracker = Tracker::new(Arc::new(table), InsertLimit::per_tick(0));
        let (tables, counters) = (rig::tables(1)?, Counters::new(1));
        Ok(Self { kind, tracker, tables, counters, batch: Batch::default() })
    }

    fn look_up(&mut self) {
        let counters = self.counters.worker(0);
        self.tracker.look_up(&mut self.batch, &self.tables, Tick(1), counters);
    }
}

impl Subject for Ours {
    fn fill(&mut self, flows: &[u32; BURST]) {
        self.batch.0.clear();
        for n in flows {
            let mut packet = Packet::new((), PortId(0));
            packet.parsed.flow = flow(self.kind, *n);
            packet.parsed.class = PacketClass::Tcp;
            self.batch.0.push(packet);
        }
    }

    fn find(&mut self) -> usize {
        self.look_up();
        self.batch.0.iter().filter(|packet| packet.slot.is_some()).count()
    }

    fn insert(&mut self) -> usize {
        self.batch.0.iter_mut().for_each(|packet| packet.parsed.syn = true);
        self.look_up();
        for packet in &mut self.batch.0 {
            packet.slot = SlotId::new(u32::from(packet.parsed.flow.sport()) % BACKENDS);
        }
        let counters = self.counters.worker(0);
        self.tracker.record(&mut self.batch, &self.tables, Tick(1), counters);
        self.batch.0.iter().filter(|p| p.entry == dataplane::batch::Entry::Created).count()
    }
}

/// A table that [`Ours`] has filled, asked with ready keys.
struct Ready {
    kind: Kind,
    table: Arc<ConnectionTable>,
    tables: Tables,
    keys: [Key; BURST],
}

impl Ready {
    fn new(ours: &Ours) -> Result<Self> {
        let table = Arc::clone(ours.tracker.table());
        Ok(Self { kind: ours.kind, table, tables: rig::tables(1)?, keys: [Key::default(); BURST] })
    }
}

impl Subject for Ready {
    fn fill(&mut self, flows: &[u32; BURST]) {
        for (key, n) in self.keys.iter_mut().zip(flows) {
            *key = flow(self.kind, *n).key(FieldSet::FIVE_TUPLE, ServiceId(0));
        }
    }

    fn find(&mut self) -> usize {
        let (mut found, mut sum) = (0, 0);
        self.table.peek_all(&self.keys, &self.tables, Tick(1), |_, value| {
            found += 1;
            sum += value.slot().get();
        });
        black_box(sum);
        found
    }

    fn insert(&mut self) -> usize {
        0
    }
}

/// DPDK's table, with keys of `LEN` bytes: 16 for IPv4, 40 or, with zeros, 48 for IPv6.
struct Theirs<const LEN: usize> {
    kind: Kind,
    hash: RteHash<LEN>,
    keys: [[u8; LEN]; BURST],
}

impl<const LEN: usize> Theirs<LEN> {
    fn new(kind: Kind, entries: u32) -> Result<Self> {
        Ok(Self { kind, hash: RteHash::new(entries)?, keys: [[0; LEN]; BURST] })
    }
}

impl<const LEN: usize> Subject for Theirs<LEN> {
    fn fill(&mut self, flows: &[u32; BURST]) {
        for (bytes, n) in self.keys.iter_mut().zip(flows) {
            let key = flow(self.kind, *n).key(FieldSet::FIVE_TUPLE, ServiceId(0));
            write_key(bytes, &key);
        }
    }

    fn find(&mut self) -> usize {
        let (found, sum) = self.hash.find(&self.keys);
        black_box(sum);
        found
    }

    fn insert(&mut self) -> usize {
        self.keys.iter().filter(|key| self.hash.add(key, 7)).count()
    }
}

fn write_key<const LEN: usize>(bytes: &mut [u8; LEN], key: &Key) {
    let (v4, v6) = (key.v4_words(), key.v6_words());
    let words = if LEN == 16 { &v4[..] } else { &v6[..] };
    for (chunk, word) in bytes.chunks_exact_mut(8).zip(words) {
        chunk.copy_from_slice(&word.to_ne_bytes());
    }
}

/// A table under test and its figures, nanoseconds an operation.
struct Bench {
    name: String,
    subject: Box<dyn Subject>,
    insert: f64,
    lookups: Vec<f64>,
    mixed: Vec<f64>,
    /// The next key that is not there yet.
    next: u32,
    /// Goes on from round to round: the keys of one would stay in the caches.
    order: Order,
}

impl Bench {
    /// Fills it with `live` keys, timed.
    fn new(name: String, mut subject: Box<dyn Subject>, live: u32) -> Result<Self> {
        let mut each = Order::Each { next: 0 };
        let bursts = live as usize / BURST;
        let mut entered = 0;
        let both =
            time(|| (0..bursts).for_each(|_| entered += step(&mut *subject, &mut each, true)));
        let mut each = Order::Each { next: 0 };
        let fill = time(|| (0..bursts).for_each(|_| fill(&mut *subject, &mut each)));
        if entered != bursts * BURST {
            return Err(format!("{name}: {entered} of {live} keys were entered").into());
        }
        let insert = (both - fill) / (bursts * BURST) as f64;
        // Once: so connections are confirmed, and no look-up that is measured writes.
        let mut each = Order::Each { next: 0 };
        (0..bursts).for_each(|_| _ = step(&mut *subject, &mut each, false));
        Ok(Self { insert, ..Self::filled(name, subject, live) })
    }

    /// For a table that has the keys already: only looked up.
    fn filled(name: String, subject: Box<dyn Subject>, live: u32) -> Self {
        let (lookups, mixed) = (Vec::new(), Vec::new());
        let order = Order::random(live / 32 * 32);
        Self { name, subject, insert: f64::NAN, lookups, mixed, next: live, order }
    }

    fn round(&mut self) -> Result<()> {
        let subject = &mut *self.subject;
        let order = &mut self.order;
        let mut again = order.clone();
        let filling = time(|| (0..OPERATIONS / BURST).for_each(|_| fill(subject, &mut again)));
        let mut found = 0;
        let both = time(|| {
            (0..OPERATIONS / BURST).for_each(|_| found += step(subject, order, false));
        });
        if found != OPERATIONS {
            return Err(format!("{}: {found} of {OPERATIONS} were found", self.name).into());
        }
        self.lookups.push((both - filling) / OPERATIONS as f64);
        if self.insert.is_nan() {
            self.mixed.push(f64::NAN);
            return Ok(());
        }
        let mut each = Order::Each { next: self.next };
        let mixed = time(|| {
            for burst in 0..MIXED / BURST {
                // One burst of twenty: 5 % of the operations.
                let insert = burst % 20 == 0;
                step(subject, if insert { &mut each } else { &mut *order }, insert);
            }
        });
        self.next = each.take();
        self.mixed.push(mixed / MIXED as f64 - filling / OPERATIONS as f64);
        Ok(())
    }
}

fn flows(order: &mut Order) -> [u32; BURST] {
    std::array::from_fn(|_| order.take())
}

fn fill(subject: &mut dyn Subject, order: &mut Order) {
    subject.fill(&flows(order));
}

fn step(subject: &mut dyn Subject, order: &mut Order, insert: bool) -> usize {
    subject.fill(&flows(order));
    if insert { subject.insert() } else { subject.find() }
}

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Options {
    /// Rounds; medians need at least 9.
    pub rounds: usize,
    /// Entries of the tables.
    pub sizes: Vec<u32>,
    /// Whether in huge pages, or `None`: one after the other.
    pub huge: Option<bool>,
    /// The CPU to measure on.
    pub cpu: usize,
}

/// Runs it. DPDK's memory is of one kind in a process, so two kinds are two processes.
pub fn run(options: &Options, folder: &Path) -> Result<()> {
    match options.huge {
        Some(huge) => run_here(options, huge, folder),
        None => ["true", "false"].iter().try_for_each(|huge| {
            let mut command = Command::new(std::env::current_exe()?);
            command.arg("--out").arg(folder).args(["lookup", "--huge", huge]);
            command.args(["--rounds", &options.rounds.to_string()]);
            command.args(["--cpu", &options.cpu.to_string()]);
            command.args(options.sizes.iter().map(u32::to_string));
            command.status()?.success().then_some(()).ok_or_else(|| "a part failed".into())
        }),
    }
}

fn run_here(options: &Options, huge: bool, folder: &Path) -> Result<()> {
    // 150 bytes an entry are enough for either table; both are there at once.
    let largest = u64::from(options.sizes.iter().copied().max().unwrap_or(0));
    let megabytes = 128 + ((largest * 150) >> 20);
    let _pages = huge.then(|| Reserved::free(megabytes));
    let hugepages = if huge { HugePages::Auto } else { HugePages::Off };
    let memory = if huge { megabytes / 2 } else { megabytes };
    Eal::start(&EalConfig { cpus: vec![options.cpu], memory, hugepages, ..Default::default() })?;
    crate::clock::pin(options.cpu);
    let name = if huge { "lookup-huge" } else { "lookup-small" };
    let columns = ["table", "look-up ns", "×", "insert ns", "×", "95/5 ns", "×"];
    let mut report = Report::new(name, &columns);
    for entries in &options.sizes {
        for percent in [50, 90] {
            for kind in [Kind::Tcp4, Kind::Tcp6] {
                measure(&mut report, kind, *entries, percent, huge, options.rounds)?;
            }
        }
    }
    add_floors(&mut report, options.rounds);
    report.note(format!("pages: {}", if huge { "huge" } else { "small" }));
    report.note("×: how often faster ours is than rte_hash (of two key lengths, than the better)");
    report.finish(folder)
}

/// What the memory of such look-ups takes and nothing else, in a region of 128 MB.
fn add_floors(report: &mut Report, rounds: usize) {
    type Measure = fn(&mut Floor) -> f64;
    let floors: [(&str, Measure); 4] = [
        ("memory alone, a line a key", |floor| floor.keys::<1>(OPERATIONS, 0)),
        ("memory alone, two lines", |floor| floor.keys::<2>(OPERATIONS, 0)),
        ("memory alone, three lines", |floor| floor.keys::<3>(OPERATIONS, 0)),
        ("the same, then one of every third key", |floor| floor.keys::<3>(OPERATIONS, BURST / 3)),
    ];
    let mut floor = Floor::default();
    for (name, measure) in floors {
        let times: Vec<f64> = (0..rounds).map(|_| measure(&mut floor)).collect();
        report.row(name, &[one(median(&times))], &times);
    }
}

fn measure(
    report: &mut Report,
    kind: Kind,
    entries: u32,
    percent: u32,
    huge: bool,
    rounds: usize,
) -> Result<()> {
    let live = entries / 100 * percent;
    let pages = if huge { Pages::Auto } else { Pages::Off };
    let family = if kind.v6() { "IPv6" } else { "IPv4" };
    let name =
        |who: &str| format!("{family} {:>2} M, {percent} % full, {who}", entries / 1_000_000);
    let ours = Ours::new(kind, entries, pages)?;
    let ready = Box::new(Ready::new(&ours)?);
    let ours = Bench::new(name("ours, through the stages"), Box::new(ours), live)?;
    let mut benches = vec![Bench::filled(name("ours, ready keys"), ready, live), ours];
    if kind.v6() {
        let theirs = Box::new(Theirs::<40>::new(kind, entries)?);
        benches.push(Bench::new(name("rte_hash, 40 bytes"), theirs, live)?);
        let theirs = Box::new(Theirs::<48>::new(kind, entries)?);
        benches.push(Bench::new(name("rte_hash, 48 bytes"), theirs, live)?);
    } else {
        let theirs = Box::new(Theirs::<16>::new(kind, entries)?);
        benches.push(Bench::new(name("rte_hash"), theirs, live)?);
    }
    for _ in 0..rounds {
        benches.iter_mut().try_for_each(Bench::round)?;
    }
    add_rows(report, &benches);
    Ok(())
}

/// Rows of ours, before those of `rte_hash`.
const OURS: usize = 2;

fn add_rows(report: &mut Report, benches: &[Bench]) {
    let figures = |b: &Bench| [median(&b.lookups), b.insert, median(&b.mixed)];
    let best =
        benches.iter().skip(OURS).map(figures).fold([f64::INFINITY; 3], |best, theirs| {
            std::array::from_fn(|i| best[i].min(theirs[i]))
        });
    for (index, bench) in benches.iter().enumerate() {
        let ratio =
            |i: usize, ns: f64| if index < OURS { two(best[i] / ns) } else { String::new() };
        let cells = figures(bench).into_iter().enumerate();
        let cells: Vec<String> = cells.flat_map(|(i, ns)| [one(ns), ratio(i, ns)]).collect();
        report.row(&*bench.name, &cells, &bench.lookups);
    }
}
