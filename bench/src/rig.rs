//! A worker with everything around it: one service, a hundred backends, counters.

use std::collections::VecDeque;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Instant;

use dataplane::batch::BURST;
use dataplane::fragment::{FragmentTable, Fragments};
use dataplane::icmp::{Messenger, PathMtus};
use dataplane::io::Frame;
use dataplane::io::mem::MemFrame;
use dataplane::probe::Probes;
use dataplane::track::{ConnectionTable, InsertLimit, Pages, TableKey, Tracker};
use dataplane::waiting::Waiting;
use dataplane::worker::Worker;
use tables::counters::Event;
use tables::maglev::Member;
use tables::rules::{Ports, Protocol, RuleSpec};
use tables::template::{Dscp, TemplateSpec, Tunnel};
use tables::traffic::Load;
use tables::{
    ClassPlan, Counters, EarlierKeys, Family, FieldSet, HashSeed, Lifetime, Mac, Maglev, Outcome,
    Plan, Pool, Port, PortId, Publisher, RuleTable, Service, ServiceId, SlotEpochs, SlotId,
    SlotTable, Tables, Template, Tick,
};

use crate::Result;
use crate::recycle::{BUFFERS, Recycle};
use crate::traffic::{FIRST_VIP, Kind, OURS, Order, Pattern, ROUTER};

const BACKENDS: u32 = 100;
const MAGLEV_SLOTS: u32 = 65_537;
const TUNNEL_SOURCE: [u8; 4] = [10, 255, 0, 2];

/// Long: nothing expires while it is measured, unless time is moved on.
const IDLE_TICKS: u32 = 1 << 20;

/// As many as any plant has, for the counters of what each backend is given.
const WORKERS: usize = 2;

/// One service for TCP and UDP, over IPv4 and IPv6, with a hundred IPv4 backends behind IPIP;
/// `generation` shows in the Tables and nowhere else.
pub fn tables(generation: u64) -> Result<Tables> {
    tables_for(generation, 1)
}

/// The same for several VIPs, a service each, or for one.
fn tables_for(generation: u64, vips: u32) -> Result<Tables> {
    let seed = HashSeed([9; 16]);
    let names: Vec<String> = (0..BACKENDS).map(|i| format!("group/b{i:03}")).collect();
    let members: Vec<_> = names.iter().map(|name| Member { name, weight: 1 }).collect();
    let maglev = Arc::new(Maglev::build(&members, MAGLEV_SLOTS, &seed)?);
    let pool = Arc::new(Pool { maglev, members: (0..BACKENDS).filter_map(SlotId::new).collect() });
    let templates: Result<Vec<_>> = (0..BACKENDS).map(templates).collect();
    let slots = templates?.into_iter().map(|t| (SlotEpochs::default(), Some(t)));
    Ok(Tables {
        generation,
        seed,
        ports: Box::new([port()]),
        rules: RuleTable::build(&rules(vips)?)?,
        services: vec![Some(service(pool)); vips as usize].into(),
        slots: SlotTable::new(slots),
        traffic: (0..BACKENDS).map(|_| Some(Load::new(WORKERS))).collect(),
        tunnel_sources: Box::new([TUNNEL_SOURCE.into()]),
        ..Tables::default()
    })
}

fn port() -> Port {
    let addresses = Box::new([TUNNEL_SOURCE.into()]);
    Port {
        name: "uplink".into(),
        mac: Mac(OURS),
        vlan: 0,
        mtu: 1500,
        any_mac: false,
        answer_echo: true,
        icmp_rate: 1000,
        addresses,
    }
}

fn rules(vips: u32) -> Result<Vec<RuleSpec>> {
    let rule = |address: &str, protocol, service| {
        Ok(RuleSpec {
            name: address.into(),
            address: address.parse()?,
            protocol,
            ports: Ports::Ranges(vec![(80, 80)]),
            service: ServiceId(service),
            client_allow: Vec::new(),
        })
    };
    if vips > 1 {
        let first = u32::from_be_bytes(FIRST_VIP);
        let all = (0..vips).map(|n| (n as u16, Ipv4Addr::from(first + n)));
        return all.map(|(n, vip)| rule(&format!("{vip}/32"), Protocol::Tcp, n)).collect();
    }
    ["203.0.113.10/32", "2001:db8::10/128"]
        .into_iter()
        .flat_map(|vip| [rule(vip, Protocol::Tcp, 0), rule(vip, Protocol::Udp, 0)])
        .collect()
}

fn service(pool: Arc<Pool>) -> Service {
    let row = ClassPlan {
        select: FieldSet::FIVE_TUPLE,
        track: Some(FieldSet::FIVE_TUPLE),
        track_before: EarlierKeys::NONE,
        syn_is_new: true,
        lifetime: Lifetime::Persisting,
    };
    let plan = Plan([row; 7]);
    Service {
        name: "web".into(),
        plan,
        idle_ticks: IDLE_TICKS,
        idle_floor: None,
        pool,
        zonal: [].into(),
    }
}

fn templates(backend: u32) -> Result<Box<[Template; 2]>> {
    let template = |inner| {
        Template::new(&TemplateSpec {
            port: PortId(0),
            src_mac: Mac(OURS),
            next_hop: Some(Mac(ROUTER)),
            vlan: 0,
            mtu: 1500,
            source: TUNNEL_SOURCE.into(),
            destination: [10, 255, 1, backend as u8].into(),
            tunnel: Tunnel::Ipip,
            inner,
            dscp: Dscp::Copy,
            entropy: None,
            fragment_oversize: false,
            ttl: 64,
        })
    };
    Ok(Box::new([template(Family::V4)?, template(Family::V6)?]))
}

/// What a rig is made of.
#[derive(Clone, Debug)]
pub struct Plant {
    /// Entries of the connection table, IPv4 and IPv6.
    pub entries: (u32, u32),
    /// Its memory.
    pub pages: Pages,
    /// New entries a tick, 0: as many as come.
    pub limit: u32,
    /// Workers.
    pub workers: usize,
}

impl Plant {
    /// For one worker and this many entries of one family.
    pub fn one(kind: Kind, entries: u32) -> Self {
        let entries = if kind.v6() { (16, entries) } else { (entries, 16) };
        Self { entries, pages: Pages::Auto, limit: 0, workers: 1 }
    }
}

/// A worker, and what it counts.
pub struct Rig<F: Frame> {
    /// The worker.
    pub worker: Worker<Recycle<F>>,
    /// Where its Tables come from.
    pub publisher: Arc<Publisher<Tables>>,
    /// What it counts.
    pub counters: Arc<Counters>,
    start: Instant,
    /// Ticks added to the clock.
    pub ahead: u32,
}

impl<F: Frame> Rig<F> {
    /// One worker, without buffers.
    pub fn new(plant: &Plant, kind: Kind, order: Order) -> Result<Self> {
        Self::several(plant, kind, &order)?.pop().ok_or_else(|| "no worker".into())
    }

    /// Workers that share Tables and the connection table.
    pub fn several(plant: &Plant, kind: Kind, order: &Order) -> Result<Vec<Self>> {
        let (v4, v6) = plant.entries;
        let connections = Arc::new(ConnectionTable::new(v4, v6, plant.pages, TableKey::fixed(1))?);
        let publisher = Arc::new(Publisher::new(tables_for(1, kind.vips())?, 4));
        let counters = Arc::new(Counters::new(plant.workers));
        let fragments =
            FragmentTable::new(FragmentTable::ENTRIES, TableKey::fixed(1), Tick::LENGTH);
        let fragments = Arc::new(fragments);
        let paths = Arc::new(PathMtus::new(Tick::LENGTH));
        let rig = |number| Self {
            worker: Worker {
                io: Recycle::new(Pattern::new(kind), order.clone()),
                tables: publisher.reader("worker"),
                fragments: Fragments::new(Arc::clone(&fragments)),
                tracker: Tracker::new(Arc::clone(&connections), InsertLimit::per_tick(plant.limit)),
                counters: Arc::clone(&counters),
                number,
                identifiers: Default::default(),
                waiting: Waiting::new(Tick::LENGTH),
                icmp: Messenger::new(Arc::clone(&paths), Tick::LENGTH),
                probes: Probes::default(),
                observer: (),
                batch: Default::default(),
            },
            publisher: Arc::clone(&publisher),
            counters: Arc::clone(&counters),
            start: Instant::now(),
            ahead: 0,
        };
        Ok((0..plant.workers).map(rig).collect())
    }

    /// The moment, as a worker's loop reads it.
    #[inline]
    pub fn now(&self) -> Tick {
        Tick::after(self.start.elapsed(), Tick::LENGTH).plus(self.ahead)
    }

    /// Changes what is received.
    pub fn receive(&mut self, kind: Kind, order: Order) {
        self.worker.io.pattern = Pattern::new(kind);
        self.worker.io.order = order;
    }

    /// Takes bursts the worker's whole way, a clock read for each.
    #[inline(never)]
    pub fn bursts(&mut self, count: usize) {
        for _ in 0..count {
            let now = self.now();
            self.worker.step(now);
        }
    }

    /// Opens this many connections and sends each a second packet, so that all are confirmed.
    pub fn establish(&mut self, kind: Kind, flows: u32) {
        for kind in [kind.opening(), kind] {
            self.receive(kind, Order::Each { next: 0 });
            self.bursts((flows as usize).div_ceil(BURST));
        }
    }

    /// Frees every entry, by looking at them from a time when all have expired.
    pub fn clear(&mut self) {
        let table = Arc::clone(self.worker.tracker.table());
        table.sweep(&self.publisher.current(), self.now().plus(2 * IDLE_TICKS));
    }

    /// Moves time on until every entry has expired.
    pub fn expire(&mut self) {
        self.ahead = (self.ahead + IDLE_TICKS + 1) % (1 << 30);
    }

    /// Lends buffers for as long as `work` takes.
    pub fn with_buffers<T>(
        &mut self,
        buffers: &mut VecDeque<F>,
        work: impl FnOnce(&mut Self) -> T,
    ) -> T {
        std::mem::swap(buffers, &mut self.worker.io.buffers);
        let result = work(self);
        std::mem::swap(buffers, &mut self.worker.io.buffers);
        result
    }

    /// An error unless every packet so far was forwarded: anything else would be too fast.
    pub fn check_all_forwarded(&self) -> Result<()> {
        let (all, out) =
            (self.counters.event(Event::Received), self.counters.outcome(Outcome::Forwarded));
        if all == out {
            Ok(())
        } else {
            Err(format!("{out} of {all} packets were forwarded").into())
        }
    }
}

/// Buffers for frames of a kind that need no DPDK.
pub fn plain_buffers(kind: Kind) -> VecDeque<MemFrame> {
    let frame = vec![0; Pattern::new(kind).frame_length()];
    (0..BUFFERS).map(|_| MemFrame::new(&frame)).collect()
}

/// Buffers of DPDK's, the frame where a driver would put it.
pub fn mbufs(pool: &dpdk::Mempool, kind: Kind) -> Result<VecDeque<dpdk::Mbuf>> {
    let frame = vec![0; Pattern::new(kind).frame_length()];
    let mbufs = (0..BUFFERS).map(|_| {
        let mut mbuf = pool.take().ok_or("the pool is too small")?;
        mbuf.extend(&frame);
        Ok(mbuf)
    });
    mbufs.collect()
}
