//! One appliance in memory: a VIP with one service, backends behind IPIP, a host interface.

use std::sync::Arc;

use dataplane::encap::Identifiers;
use dataplane::fragment::{FragmentTable, Fragments};
use dataplane::icmp::{Messenger, PathMtus};
use dataplane::io::Io;
use dataplane::io::mem::{MemIo, MemPort};
use dataplane::probe::Probes;
use dataplane::track::{ConnectionTable, InsertLimit, Pages, TableKey, Tracker};
use dataplane::waiting::Waiting;
use dataplane::worker::Worker;
use etherparse::PacketBuilder;
use tables::maglev::Member;
use tables::publish::Publisher;
use tables::rules::{Ports, Protocol, RuleSpec};
use tables::template::{Dscp, TemplateSpec, Tunnel};
use tables::*;

pub(crate) const OURS: Mac = Mac([2, 0, 0, 0, 0, 10]);
pub(crate) const ROUTER: Mac = Mac([2, 0, 0, 0, 0, 11]);
pub(crate) const VIP: [u8; 4] = [203, 0, 113, 10];
pub(crate) const OUR_TUNNEL: [u8; 4] = [10, 0, 0, 2];
pub(crate) const MTU: u16 = 1500;
const SEED: HashSeed = HashSeed([9; 16]);

/// Backend `i` has weight `weights[i]`, and listens at 10.1.0.i. `unresolved` has no next hop.
pub(crate) fn tables(weights: &[u32], unresolved: Option<usize>) -> Tables {
    tables_of(pool(weights), unresolved)
}

/// The set of backends with these weights.
pub(crate) fn pool(weights: &[u32]) -> Arc<Pool> {
    let names: Vec<_> = (0..weights.len()).map(|i| format!("g/{i:02}")).collect();
    let members: Vec<_> =
        names.iter().zip(weights).map(|(name, weight)| Member { name, weight: *weight }).collect();
    let maglev = Arc::new(Maglev::build(&members, 2_039, &SEED).expect("builds"));
    let slots = (0..weights.len() as u32).map(|i| SlotId::new(i).expect("in range"));
    Arc::new(Pool { maglev, members: slots.collect() })
}

/// Tables whose service 0 has this set of backends.
pub(crate) fn tables_of(pool: Arc<Pool>, unresolved: Option<usize>) -> Tables {
    let backend = |i| (SlotEpochs::default(), Some(templates(i as u8, unresolved != Some(i))));
    let slots = SlotTable::new((0..pool.members.len()).map(backend));
    Tables {
        seed: SEED,
        ports: Box::new([port()]),
        rules: RuleTable::build(&rules()).expect("builds"),
        services: Box::new([Some(service(pool)), Some(service(Arc::default()))]),
        slots,
        tunnel_sources: Box::new([OUR_TUNNEL.into()]),
        ..Tables::default()
    }
}

pub(crate) fn port() -> Port {
    let addresses = Box::new([OUR_TUNNEL.into()]);
    Port {
        name: "uplink".into(),
        mac: OURS,
        vlan: 0,
        mtu: MTU,
        any_mac: false,
        addresses,
        icmp_rate: 1000,
        answer_echo: true,
    }
}

/// Service 0 takes TCP 80 and everything to VIP + 1, of both families; service 1, TCP 81, has nobody.
pub(crate) fn rules() -> Vec<RuleSpec> {
    let at =
        |name: &str, address: &str, protocol, ports, service, client_allow: &[&str]| RuleSpec {
            name: name.into(),
            address: address.parse().expect("a prefix"),
            protocol,
            ports,
            service: ServiceId(service),
            client_allow: client_allow.iter().map(|p| p.parse().expect("a prefix")).collect(),
        };
    let rule = |name, last: u8, protocol, ports, service, clients: &_| {
        at(name, &format!("203.0.113.{last}/32"), protocol, ports, service, clients)
    };
    let one = |port| Ports::Ranges(vec![(port, port)]);
    vec![
        rule("web", 10, Protocol::Tcp, one(80), 0, &[]),
        rule("nobody", 10, Protocol::Tcp, one(81), 1, &[]),
        rule("closed", 10, Protocol::Tcp, one(82), 0, &["192.0.2.0/24"]),
        rule("all", 11, Protocol::L3Default, Ports::All, 0, &[]),
        at("web6", "2001:db8:2::10/128", Protocol::Tcp, one(80), 0, &[]),
        at("all6", "2001:db8:2::11/128", Protocol::L3Default, Ports::All, 0, &[]),
    ]
}

fn service(pool: Arc<Pool>) -> Service {
    let row = |class: PacketClass| {
        let fields = if class.has_ports() { FieldSet::FIVE_TUPLE } else { FieldSet::THREE_TUPLE };
        ClassPlan {
            select: fields,
            track: Some(fields),
            track_before: EarlierKeys::NONE,
            syn_is_new: true,
            lifetime: Lifetime::WhileHealthy,
        }
    };
    let plan = Plan(PacketClass::ALL.map(row));
    Service { name: "web".into(), plan, idle_ticks: 80, idle_floor: None, pool, zonal: [].into() }
}

fn templates(backend: u8, resolved: bool) -> Box<[Template; 2]> {
    Box::new([Family::V4, Family::V6].map(|inner| {
        Template::new(&TemplateSpec {
            next_hop: resolved.then_some(ROUTER),
            destination: [10, 1, 0, backend].into(),
            inner,
            ..spec()
        })
        .expect("one family")
    }))
}

/// The way to backend 0.
pub(crate) fn spec() -> TemplateSpec {
    TemplateSpec {
        port: PortId(0),
        src_mac: OURS,
        next_hop: Some(ROUTER),
        vlan: 0,
        mtu: MTU,
        fragment_oversize: false,
        entropy: None,
        source: OUR_TUNNEL.into(),
        destination: [10, 1, 0, 0].into(),
        tunnel: Tunnel::Ipip,
        inner: Family::V4,
        dscp: Dscp::Copy,
        ttl: 64,
    }
}

/// What workers share.
pub(crate) struct Shared {
    tables: Arc<Tables>,
    fragments: Arc<FragmentTable>,
    connections: Arc<ConnectionTable>,
    paths: Arc<PathMtus>,
}

impl Shared {
    pub(crate) fn new(tables: Tables) -> Self {
        let connections = ConnectionTable::new(20_000, 1000, Pages::Off, TableKey::fixed(1));
        Self {
            tables: Arc::new(tables),
            fragments: Arc::new(FragmentTable::new(4, TableKey::fixed(1), Tick::LENGTH)),
            connections: Arc::new(connections.expect("maps")),
            paths: Arc::new(PathMtus::new(Tick::LENGTH)),
        }
    }

    /// A worker on these ports, with counters of its own.
    pub(crate) fn worker<I: Io>(&self, publisher: &Publisher<Tables>, io: I) -> Worker<I> {
        Worker {
            io,
            tables: publisher.reader("worker"),
            fragments: Fragments::new(Arc::clone(&self.fragments)),
            tracker: Tracker::new(Arc::clone(&self.connections), InsertLimit::per_tick(0)),
            counters: Arc::new(Counters::new(1)),
            number: 0,
            identifiers: Identifiers::default(),
            waiting: Waiting::new(Tick::LENGTH),
            icmp: Messenger::new(Arc::clone(&self.paths), Tick::LENGTH),
            probes: Probes::default(),
            observer: (),
            batch: Default::default(),
        }
    }
}

/// A worker, and what it counts.
pub(crate) struct Rig {
    pub worker: Worker<MemIo>,
    pub publisher: Publisher<Tables>,
    pub counters: Arc<Counters>,
    pub paths: Arc<PathMtus>,
}

impl Rig {
    pub(crate) fn new(tables: Tables) -> Self {
        Self::several(tables, 1).remove(0)
    }

    /// Workers that share Tables, the connection table and a fragment table of one bucket.
    pub(crate) fn several(tables: Tables, workers: usize) -> Vec<Self> {
        let shared = Shared::new(tables);
        let rig = |_| {
            let publisher = Publisher::new(Arc::clone(&shared.tables), 4);
            let worker = shared.worker(
                &publisher,
                MemIo { ports: vec![MemPort::with_host()], ..MemIo::default() },
            );
            let counters = Arc::clone(&worker.counters);
            Self { worker, publisher, counters, paths: Arc::clone(&shared.paths) }
        };
        (0..workers).map(rig).collect()
    }

    /// Lets frames arrive and takes steps until none is left.
    pub(crate) fn send<'f>(&mut self, frames: impl IntoIterator<Item = &'f [u8]>) {
        self.send_at(Tick(1), frames);
    }

    /// The same at another moment.
    pub(crate) fn send_at<'f>(&mut self, now: Tick, frames: impl IntoIterator<Item = &'f [u8]>) {
        for frame in frames {
            self.worker.io.arrive(PortId(0), frame);
        }
        while self.worker.step(now) > 0 {}
    }

    /// Whether all that was received has ended or is held (D-7).
    pub(crate) fn balances(&self) -> bool {
        let ended = self.counters.ended() + self.counters.held();
        ended == self.counters.event(counters::Event::Received)
    }

    /// Where the frames that were sent went: the backends' numbers.
    pub(crate) fn backends(&mut self) -> Vec<u8> {
        use dataplane::io::Frame;
        self.worker.io.ports[0].sent.drain(..).map(|frame| frame.bytes()[33]).collect()
    }
}

/// A TCP segment from `client` to a port of the VIP.
pub(crate) fn tcp(client: [u8; 4], sport: u16, dport: u16, syn: bool, payload: usize) -> Vec<u8> {
    let link = PacketBuilder::ethernet2(ROUTER.0, OURS.0);
    let mut builder = link.ipv4(client, VIP, 60).tcp(sport, dport, 1, 1024);
    if syn {
        builder = builder.syn();
    }
    let mut frame = Vec::new();
    builder.write(&mut frame, &vec![0xAB; payload]).expect("a vector takes every byte");
    frame
}

/// The frame with the checksum that goes with its IPv4 header, if it has one that is all there:
/// for frames that were bent.
pub(crate) fn summed_up(mut frame: Vec<u8>) -> Vec<u8> {
    let l3 = if frame.get(12) == Some(&0x81) { 18 } else { 14 };
    let words = frame.get(l3).filter(|first| **first >> 4 == 4).map_or(0, |first| first & 0x0F);
    let Some(header) = frame.get_mut(l3..l3 + usize::from(words) * 4) else { return frame };
    if header.len() >= 20 {
        header[10..12].fill(0);
        let pairs = header.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]));
        let sum: u32 = pairs.sum();
        let folded = (sum & 0xFFFF) + (sum >> 16);
        let checksum = !((folded & 0xFFFF) + (folded >> 16)) as u16;
        header[10..12].copy_from_slice(&checksum.to_be_bytes());
    }
    frame
}
