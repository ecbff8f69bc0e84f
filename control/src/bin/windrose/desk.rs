//! The desk over the worker of production, with its ports in memory.

use std::io;
use std::sync::Arc;

use control::model::Config;
use control::simulate::desk::{Decision, Desk, EntryFate, LiveEntry, Report};
use control::simulate::setting::CLOCK;
use dataplane::batch::{Batch, Entry, Packet, Why};
use dataplane::encap::Identifiers;
use dataplane::fragment::{FragmentTable, Fragments};
use dataplane::icmp::{Messenger, PathMtus};
use dataplane::io::mem::{MemFrame, MemIo};
use dataplane::parse::Fragment;
use dataplane::probe::Probes;
use dataplane::track::{ConnectionTable, InsertLimit, Pages, TableKey, Tracker, Value};
use dataplane::tx::Observe;
use dataplane::waiting::Waiting;
use dataplane::worker::Worker;
use tables::publish::Publisher;
use tables::{Counters, Key, Outcome, PortId, Tables, Tick};

/// One worker with a connection table of its own; every step is one packet.
pub(crate) struct WorkerDesk {
    worker: Worker<MemIo, LastPacket>,
    publisher: Publisher<Tables>,
    connections: Arc<ConnectionTable>,
}

/// Keeps what the stages found out about the last packet, and about those that had been held.
#[derive(Default)]
pub(crate) struct LastPacket {
    arrived: Option<Report>,
    waited: Vec<Report>,
}

impl Observe<MemFrame> for LastPacket {
    fn packet(&mut self, packet: &Packet<MemFrame>) {
        if packet.waited {
            self.waited.push(report(packet));
        } else {
            self.arrived = Some(report(packet));
        }
    }
}

fn report<F>(packet: &Packet<F>) -> Report {
    let outcome = packet.outcome.unwrap_or(Outcome::Forwarded);
    let classified = packet.slot.is_some() || outcome == Outcome::NoEligibleBackend;
    Report {
        outcome,
        rule: classified.then_some((packet.rule, packet.service)),
        slot: packet.slot,
        decision: match packet.why {
            _ if packet.parsed.fragment == Fragment::Follows => Decision::Fragment,
            Why::Undecided => Decision::Undecided,
            Why::Tracked => Decision::Tracked,
            Why::Selected => Decision::Selected,
            Why::Quoted => Decision::Quoted,
        },
        entry: match packet.entry {
            Entry::None => EntryFate::None,
            Entry::Hit => EntryFate::Hit,
            Entry::Created => EntryFate::Created,
            Entry::Replaced => EntryFate::Replaced,
        },
        class: packet.parsed.class,
        flow: packet.parsed.flow,
        fragment_id: packet.parsed.fragment_id,
    }
}

impl WorkerDesk {
    /// A desk for this configuration and this many packets. The connection table is as large as
    /// the configuration says, but no larger than the packets can tell.
    ///
    /// # Errors
    /// The system gives no memory for the connection table.
    pub(crate) fn new(config: &Config, packets: usize) -> io::Result<Self> {
        let enough = u32::try_from(packets).unwrap_or(u32::MAX).saturating_mul(4).max(4096);
        let v4 = config.dataplane.conntrack_entries.min(enough);
        let v6 = config.dataplane.conntrack_entries_v6.min(enough);
        let connections = Arc::new(ConnectionTable::new(v4, v6, Pages::Off, TableKey::random())?);
        let fragments = FragmentTable::new(enough as usize, TableKey::random(), CLOCK.tick_length);
        let publisher = Publisher::new(Tables::default(), 1);
        let mut ports = MemIo::new(config.ports.len().max(1));
        for port in &mut ports.ports {
            port.to_host = Some(Default::default());
        }
        let worker = Worker {
            io: ports,
            tables: publisher.reader("desk"),
            fragments: Fragments::new(Arc::new(fragments)),
            tracker: Tracker::new(Arc::clone(&connections), InsertLimit::per_tick(0)),
            counters: Arc::new(Counters::new(1)),
            number: 0,
            identifiers: Identifiers::starting_at(0),
            waiting: Waiting::new(CLOCK.tick_length),
            icmp: Messenger::new(Arc::new(PathMtus::new(CLOCK.tick_length)), CLOCK.tick_length),
            probes: Probes::default(),
            observer: LastPacket::default(),
            batch: Batch::default(),
        };
        Ok(Self { worker, publisher, connections })
    }
}

impl Desk for WorkerDesk {
    fn publish(&mut self, tables: Tables) {
        // The worker passes a quiescent point between two publications, so nothing waits.
        self.worker.tables.offline();
        if self.publisher.try_publish(tables).is_err() {
            unreachable!("an offline reader holds nothing");
        }
    }

    fn tables(&mut self) -> &Tables {
        self.worker.tables.current()
    }

    fn step(&mut self, port: PortId, frame: &[u8], now: Tick) -> Option<Report> {
        self.worker.io.arrive(port, frame);
        while self.worker.step(now) > 0 {}
        for port in &mut self.worker.io.ports {
            port.sent.clear();
            port.to_host.iter_mut().for_each(std::collections::VecDeque::clear);
        }
        self.worker.observer.arrived.take()
    }

    fn released(&mut self) -> Vec<Report> {
        std::mem::take(&mut self.worker.observer.waited)
    }

    fn live(&mut self, now: Tick) -> Vec<LiveEntry> {
        let mut live = Vec::new();
        self.connections.for_each_live(self.worker.tables.current(), now, |entry| {
            let value = entry.value;
            let (slot, lifetime, epoch) = (value.slot(), value.lifetime(), value.epoch());
            live.push(LiveEntry { slot, lifetime, epoch });
        });
        live
    }

    fn adopt(&mut self, key: &Key, entry: LiveEntry, now: Tick) {
        let LiveEntry { slot, lifetime, epoch } = entry;
        let value = Value::new(slot, lifetime, epoch);
        self.connections.adopt(key, value, self.worker.tables.current(), now);
    }
}
