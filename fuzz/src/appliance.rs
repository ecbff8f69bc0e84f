//! Two workers on ports in memory, with a backend behind every kind of tunnel.

use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use dataplane::encap::Identifiers;
use dataplane::fragment::{FragmentTable, Fragments};
use dataplane::icmp::{Messenger, PathMtus};
use dataplane::io::Frame;
use dataplane::io::mem::{MemIo, MemPort};
use dataplane::track::{ConnectionTable, InsertLimit, Pages, TableKey, Tracker};
use dataplane::probe::Probes;
use dataplane::waiting::Waiting;
use dataplane::worker::Worker;
use tables::counters::Event;
use tables::maglev::Member;
use tables::rules::{Ports, Protocol, RuleSpec};
use tables::template::{Dscp, GueVariant, TemplateSpec, Tunnel};
use tables::*;

use crate::wire;

/// The port's own address.
pub const OURS: Mac = Mac([2, 0, 0, 0, 0, 10]);
/// The router's.
pub const ROUTER: Mac = Mac([2, 0, 0, 0, 0, 11]);
/// The source of tunnels over IPv4.
pub const SOURCE4: [u8; 4] = [10, 0, 0, 2];
/// The source of tunnels over IPv6.
pub const SOURCE6: [u8; 16] = [0x20, 1, 0x0D, 0xB8, 0, 0x0A, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2];

const TUNNELS: [Tunnel; 5] = [
    Tunnel::Ipip,
    Tunnel::Gre { key: None },
    Tunnel::Gre { key: Some(7) },
    Tunnel::Gue { port: 6080, variant: GueVariant::Zero },
    Tunnel::Gue { port: 6080, variant: GueVariant::One },
];

/// The one port.
pub fn port() -> Port {
    Port {
        name: "uplink".into(),
        mac: OURS,
        vlan: 0,
        mtu: 1500,
        any_mac: false,
        addresses: Box::new([SOURCE4.into(), SOURCE6.into()]),
        icmp_rate: 1000,
        answer_echo: true,
    }
}

/// The way to backend `number`: each tunnel over each family, and variations.
pub fn spec(number: usize, inner: Family) -> TemplateSpec {
    let v6 = number / TUNNELS.len() % 2 == 1;
    let odd = number / TUNNELS.len() / 2 % 2 == 1;
    let (source, destination): (IpAddr, IpAddr) = if v6 {
        let mut backend = SOURCE6;
        backend[15] = number as u8;
        (SOURCE6.into(), backend.into())
    } else {
        (SOURCE4.into(), [10, 1, 0, number as u8].into())
    };
    let prefix = if v6 { "2001:db8:e::/64" } else { "172.16.0.0/16" };
    TemplateSpec {
        port: PortId(0),
        src_mac: OURS,
        next_hop: Some(ROUTER),
        vlan: if odd { 9 } else { 0 },
        mtu: if odd { 600 } else { 1500 },
        fragment_oversize: odd,
        source,
        destination,
        entropy: odd.then(|| prefix.parse().expect("a prefix")),
        tunnel: TUNNELS[number % TUNNELS.len()],
        inner,
        dscp: Dscp::Copy,
        ttl: 64,
    }
}

fn tables() -> Arc<Tables> {
    static TABLES: OnceLock<Arc<Tables>> = OnceLock::new();
    Arc::clone(TABLES.get_or_init(|| Arc::new(make_tables())))
}

fn make_tables() -> Tables {
    let backends = 4 * TUNNELS.len();
    let names: Vec<_> = (0..backends).map(|i| format!("g/{i:02}")).collect();
    let members: Vec<_> = names.iter().map(|name| Member { name, weight: 1 }).collect();
    let seed = HashSeed([9; 16]);
    let maglev = Arc::new(Maglev::build(&members, 251, &seed).expect("builds"));
    let slots = (0..backends as u32).map(|i| SlotId::new(i).expect("in range"));
    let pool = Arc::new(Pool { maglev, members: slots.collect() });
    let templates = |i| {
        let of = |family| Template::new(&spec(i, family)).expect("one family");
        (SlotEpochs::default(), Some(Box::new([of(Family::V4), of(Family::V6)])))
    };
    Tables {
        seed,
        ports: Box::new([port()]),
        rules: RuleTable::build(&rules()).expect("builds"),
        services: Box::new([Some(service(pool))]),
        slots: SlotTable::new((0..backends).map(templates)),
        tunnel_sources: Box::new([SOURCE4.into(), SOURCE6.into()]),
        gue_ports: Box::new([6080]),
        ..Tables::default()
    }
}

/// TCP 80 at the first VIP of each family, everything at the second.
fn rules() -> Vec<RuleSpec> {
    let rule = |address: &str, protocol, ports| RuleSpec {
        name: address.into(),
        address: address.parse().expect("a prefix"),
        protocol,
        ports,
        service: ServiceId(0),
        client_allow: Vec::new(),
    };
    let web = || Ports::Ranges(vec![(80, 80)]);
    vec![
        rule("203.0.113.10/32", Protocol::Tcp, web()),
        rule("203.0.113.11/32", Protocol::L3Default, Ports::All),
        rule("2001:db8:2::a/128", Protocol::Tcp, web()),
        rule("2001:db8:2::b/128", Protocol::L3Default, Ports::All),
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
    Service { name: "web".into(), plan, idle_ticks: 8, idle_floor: None, pool, zonal: [].into() }
}

/// Two workers that share everything but their ports.
pub struct Appliance {
    workers: [Worker<MemIo>; 2],
    counters: Arc<Counters>,
    now: u32,
    _publisher: Publisher<Tables>,
}

impl Default for Appliance {
    fn default() -> Self {
        Self::new()
    }
}

impl Appliance {
    /// Nothing has arrived.
    pub fn new() -> Self {
        let publisher = Publisher::new(tables(), 1);
        let counters = Arc::new(Counters::new(2));
        let key = || TableKey::fixed(1);
        let connections = ConnectionTable::new(64, 64, Pages::Off, key()).expect("memory");
        let connections = Arc::new(connections);
        let fragments = Arc::new(FragmentTable::new(16, key(), Tick::LENGTH));
        let paths = Arc::new(PathMtus::new(Tick::LENGTH));
        let worker = |number| Worker {
            io: MemIo { ports: vec![MemPort::with_host()], ..MemIo::default() },
            tables: publisher.reader("worker"),
            fragments: Fragments::new(Arc::clone(&fragments)),
            tracker: Tracker::new(Arc::clone(&connections), InsertLimit::per_tick(0)),
            counters: Arc::clone(&counters),
            number,
            identifiers: Identifiers::default(),
            waiting: Waiting::new(Tick::LENGTH),
            icmp: Messenger::new(Arc::clone(&paths), Tick::LENGTH),
            probes: Probes::default(),
            observer: (),
            batch: Default::default(),
        };
        let workers = [worker(0), worker(1)];
        Self { workers, counters, now: 1, _publisher: publisher }
    }

    /// Lets ticks pass.
    pub fn wait(&mut self, ticks: u32) {
        self.now += ticks;
    }

    /// Lets a frame arrive at a worker.
    pub fn arrive(&mut self, worker: usize, frame: &[u8]) {
        self.workers[worker].io.arrive(PortId(0), frame);
    }

    /// Takes all that has arrived the whole way, and judges what comes of it.
    pub fn step(&mut self) {
        for worker in &mut self.workers {
            while worker.step(Tick(self.now)) > 0 {}
            for frame in worker.io.ports[0].sent.drain(..) {
                wire::check(frame.bytes());
            }
        }
        let ended = self.counters.ended() + self.counters.held();
        assert_eq!(ended, self.counters.event(Event::Received), "D-7");
    }

    /// The same, and the workers stop.
    pub fn finish(&mut self) {
        self.step();
        self.workers.iter_mut().for_each(Worker::finish);
        self.step();
        assert_eq!(self.counters.held(), 0, "D-7");
    }
}
