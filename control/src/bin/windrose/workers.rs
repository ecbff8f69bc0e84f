//! The workers: one for each CPU, each with a queue pair on every port.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use arrayvec::ArrayVec;
use control::model::{self, Config, Hugepages};
use dataplane::encap::Identifiers;
use dataplane::fragment::{FragmentTable, Fragments};
use dataplane::icmp::{Messenger, PathMtus};
use dataplane::idle::Idle;
use dataplane::io::dpdk::{DeviceQueues, DpdkIo, Lane};
use dataplane::io::host::WorkerSide;
use dataplane::probe::Probes;
use dataplane::track::{
    ConnectionTable, InsertLimit, Interleaved, Memory, Pages, TableKey, Tracker,
};
use dataplane::waiting::Waiting;
use dataplane::worker::Worker;
use dpdk::{Eal, Launched, Mempool};
use tables::publish::{Publisher, Reader};
use tables::{Counters, MAX_PORTS, PortId, Tables, Tick};

use crate::events::Events;
use crate::ports::{self, OpenDevice};

/// What all workers share.
pub(crate) struct Crew<'a> {
    pub eal: &'a Eal,
    pub pool: &'a Mempool,
    /// The ways to the host, by port.
    pub hosts: &'a [Option<WorkerSide>],
    pub counters: &'a Arc<Counters>,
    pub connections: Arc<ConnectionTable>,
    pub fragments: Arc<FragmentTable>,
    pub paths: Arc<PathMtus>,
    /// Which backends health checks' packets are for.
    pub probes: Probes,
    /// New entries that each worker may make (D-4).
    pub limit: InsertLimit,
    pub idle: Idle,
    pub start: Instant,
    pub stop: &'a Arc<AtomicBool>,
}

impl Crew<'_> {
    /// Launches every worker with its queues on every device.
    pub(crate) fn launch(
        &self,
        devices: Vec<OpenDevice>,
        publisher: &Publisher<Tables>,
        events: &Events,
    ) -> Result<Vec<Launched<()>>, dpdk::Error> {
        let mut devices: Vec<_> = devices.into_iter().map(|d| self.pairs(d)).collect();
        let mut launched = Vec::new();
        for number in 0..self.eal.workers() {
            let reader = publisher.reader(format!("worker {number}"));
            let own = devices.iter_mut().filter_map(Iterator::next).collect();
            launched.push(self.launch_one(number, own, reader, events)?);
        }
        Ok(launched)
    }

    /// Each worker's part of a device.
    fn pairs(&self, device: OpenDevice) -> impl Iterator<Item = DeviceQueues> + use<> {
        let OpenDevice { queues, ports, speaks } = device;
        let host = |id: PortId| self.hosts.get(usize::from(id.0)).cloned().flatten();
        let lanes = ports.into_iter().map(|(id, vlan)| Lane { id, vlan, host: host(id) });
        let ports: ArrayVec<_, MAX_PORTS> = lanes.take(MAX_PORTS).collect();
        let pair = move |(rx, tx)| DeviceQueues { rx, tx, ports: ports.clone(), speaks };
        queues.into_iter().map(pair)
    }

    fn launch_one(
        &self,
        number: usize,
        devices: Vec<DeviceQueues>,
        reader: Reader<Tables>,
        events: &Events,
    ) -> Result<Launched<()>, dpdk::Error> {
        let mut worker = Worker {
            io: DpdkIo::new(devices, *self.pool),
            tables: reader,
            fragments: Fragments::new(Arc::clone(&self.fragments)),
            tracker: Tracker::new(Arc::clone(&self.connections), self.limit),
            counters: Arc::clone(self.counters),
            number,
            identifiers: identifiers(number),
            waiting: Waiting::new(Tick::LENGTH),
            icmp: Messenger::new(Arc::clone(&self.paths), Tick::LENGTH),
            probes: self.probes.clone(),
            observer: (),
            batch: Default::default(),
        };
        let (start, idle, stop) = (self.start, self.idle, Arc::clone(self.stop));
        let end = events.end_of_worker(number);
        self.eal.launch(number, move || {
            let _end = end;
            dataplane::run::run(&mut worker, start, idle, &stop);
        })
    }
}

/// Workers count their outer identifications from far apart.
fn identifiers(worker: usize) -> Identifiers {
    Identifiers::starting_at((worker as u16).wrapping_mul(0x1F35))
}

/// The connection table that the configuration asks for.
pub(crate) fn connections(config: &Config) -> std::io::Result<Arc<ConnectionTable>> {
    let dataplane = &config.dataplane;
    let pages = match dataplane.hugepages {
        Hugepages::Auto => Pages::Auto,
        Hugepages::Require => Pages::Require,
        Hugepages::Off => Pages::Off,
    };
    let (v4, v6) = (dataplane.conntrack_entries, dataplane.conntrack_entries_v6);
    let interleaved = Interleaved::over_nodes_of(&ports::workers(config));
    let table = ConnectionTable::new(v4, v6, pages, TableKey::random())?;
    let nodes =
        if interleaved.is_some() { ", interleaved over the workers' NUMA nodes" } else { "" };
    tracing::info!("connection table: {}{nodes}", table.memory());
    Ok(Arc::new(table))
}

/// What that table takes; maps nothing.
pub(crate) fn memory(config: &Config) -> Memory {
    Memory::of(config.dataplane.conntrack_entries, config.dataplane.conntrack_entries_v6)
}

/// `insert_rate`
pub(crate) fn limit(config: &Config) -> InsertLimit {
    InsertLimit::per_second(config.dataplane.insert_rate, Tick::LENGTH)
}

/// The fragment table.
pub(crate) fn fragments() -> Arc<FragmentTable> {
    let key = TableKey::random();
    Arc::new(FragmentTable::new(FragmentTable::ENTRIES, key, Tick::LENGTH))
}

/// `idle`
pub(crate) fn idle(config: &Config) -> Idle {
    match config.dataplane.idle {
        model::Idle::Spin => Idle::Spin,
        model::Idle::Adaptive => Idle::Adaptive,
    }
}
