//! The tables, packets and steps that the tests share.

mod capacity;
mod expiry;
mod flood;
mod hits;
mod keys;
mod protocol;
mod stress;
mod syn;
mod walk;

use std::sync::Arc;

use tables::counters::Event;
use tables::{
    ClassPlan, Counters, EarlierKeys, FieldSet, Flow, Lifetime, Maglev, Outcome, PacketClass, Plan,
    Pool, PortId, Service, ServiceId, SlotEpochs, SlotId, SlotTable, Tables, Tick,
};

use super::{ConnectionTable, InsertLimit, Pages, TableKey, Tracker};
use crate::batch::{Batch, Entry, Packet, Tracking, Why};

const IDLE: u32 = 80;

/// PER_CONNECTION on TCP and UDP, everything tracked.
fn plan() -> ClassPlan {
    ClassPlan {
        select: FieldSet::FIVE_TUPLE,
        track: Some(FieldSet::FIVE_TUPLE),
        track_before: EarlierKeys::NONE,
        syn_is_new: true,
        lifetime: Lifetime::WhileHealthy,
    }
}

fn slot(number: u32) -> SlotId {
    SlotId::new(number).expect("in range")
}

/// Tables of `services` services of one plan and 4 slots at these epochs.
fn tables_with(plan: ClassPlan, services: usize, epochs: SlotEpochs) -> Tables {
    let service = Service {
        name: "web".into(),
        plan: Plan([plan; 7]),
        idle_ticks: IDLE,
        idle_floor: None,
        pool: Arc::new(Pool { maglev: Arc::new(Maglev::default()), members: [].into() }),
        zonal: [].into(),
    };
    Tables {
        services: vec![Some(service); services].into(),
        slots: SlotTable::new((0..4).map(|_| (epochs, None))),
        ..Tables::default()
    }
}

fn tables() -> Tables {
    tables_with(plan(), 2, SlotEpochs::default())
}

/// A worker with a table of its own, or one shared with others.
struct Rig {
    tracker: Tracker,
    counters: Counters,
    tables: Tables,
}

impl Rig {
    fn new(entries: u32) -> Self {
        Self::limited(entries, 0)
    }

    fn limited(entries: u32, per_tick: u32) -> Self {
        let table = ConnectionTable::new(entries, entries, Pages::Off, TableKey::fixed(7));
        let table = Arc::new(table.expect("maps"));
        Self::on(table, InsertLimit::per_tick(per_tick))
    }

    fn on(table: Arc<ConnectionTable>, limit: InsertLimit) -> Self {
        let tracker = Tracker::new(table, limit);
        Self { tracker, counters: Counters::new(1), tables: tables() }
    }

    /// Another worker on the same table.
    fn peer(&self) -> Self {
        Self::on(self.tracker.table().clone(), InsertLimit::per_tick(0))
    }

    /// Takes a burst through the stages; a packet without an entry is selected `chosen`.
    fn burst(&mut self, sent: &[Sent], chosen: Option<u32>, now: u32) -> Vec<Packet<()>> {
        let mut batch = Batch(sent.iter().map(Sent::packet).collect());
        let counters = self.counters.worker(0);
        self.tracker.look_up(&mut batch, &self.tables, Tick(now), counters);
        for packet in batch.live().filter(|p| p.slot.is_none()) {
            match chosen {
                Some(number) => {
                    (packet.slot, packet.why) = (Some(slot(number)), Why::Selected);
                }
                None => packet.end(Outcome::NoEligibleBackend),
            }
        }
        self.tracker.record(&mut batch, &self.tables, Tick(now), counters);
        batch.0.into_iter().collect()
    }

    /// One packet: which slot it went to, and what became of its entry.
    fn send(&mut self, sent: Sent, chosen: u32, now: u32) -> (u32, Entry) {
        let packets = self.burst(&[sent], Some(chosen), now);
        (packets[0].slot.expect("decided").get(), packets[0].entry)
    }

    fn live(&self, now: u32) -> usize {
        self.tracker.table().count_live(&self.tables, Tick(now))
    }

    fn count(&self, event: Event) -> u64 {
        self.counters.event(event)
    }
}

/// A packet to send.
#[derive(Clone, Copy)]
struct Sent {
    flow: Flow,
    class: PacketClass,
    syn: bool,
    service: u16,
}

impl Sent {
    fn packet(&self) -> Packet<()> {
        let mut packet = Packet::new((), PortId(0));
        packet.parsed.flow = self.flow;
        packet.parsed.class = self.class;
        packet.parsed.syn = self.syn;
        packet.service = ServiceId(self.service);
        packet
    }

    fn syn(self) -> Self {
        Self { syn: true, ..self }
    }

    fn service(self, service: u16) -> Self {
        Self { service, ..self }
    }
}

/// A TCP packet without SYN of client `n`.
fn tcp(n: u32) -> Sent {
    let [_, a, b, c] = n.to_be_bytes();
    let flow = Flow::v4([10, a, b, c], [203, 0, 113, 1], 6, 40_000, 443);
    Sent { flow, class: PacketClass::Tcp, syn: false, service: 0 }
}

/// The same over IPv6.
fn tcp6(n: u32) -> Sent {
    let mut src = [0x20; 16];
    src[12..].copy_from_slice(&n.to_be_bytes());
    Sent { flow: Flow::v6(src, [0x21; 16], 6, 40_000, 443), ..tcp(n) }
}

fn udp(n: u32) -> Sent {
    let [_, a, b, c] = n.to_be_bytes();
    let flow = Flow::v4([10, a, b, c], [203, 0, 113, 1], 17, 40_000, 53);
    Sent { flow, class: PacketClass::Udp, syn: false, service: 0 }
}
