//! Packets that wait for their next hop's Ethernet address.
//!
//! The kernel finds addresses out, control passes them on in new Tables, within a tenth of a second.
//! So that a connection does not begin with a lost packet, a worker holds a few packets for each
//! next hop that somebody is asked for, for a moment. They go the whole way again when Tables say
//! that the way is open; what is too much, or waits too long, ends as `next_hop_unresolved`.

use std::time::Duration;

use arrayvec::ArrayVec;
use tables::counters::Event;
use tables::{Family, Outcome, PortId, SlotId, Tables, Tick, WorkerCounters};

use crate::batch::{Batch, Packet};

/// How many packets a worker holds,
pub const HELD: usize = 32;
/// and how many of them for one next hop: one that nobody answers for leaves room for others.
pub const HELD_FOR_ONE: usize = 4;

/// How long. A client asks again after a second.
const PATIENCE: Duration = Duration::from_secs(1);

/// The most that [`Waiting::release`] puts into a batch: what has just arrived needs room too.
const RELEASED: usize = 8;

struct Held<F> {
    frame: F,
    port: PortId,
    slot: SlotId,
    family: Family,
    hop: u32,
    since: Tick,
}

/// One worker's packets that wait.
pub struct Waiting<F> {
    held: ArrayVec<Held<F>, HELD>,
    patience: u32,
    /// The Tables and the tick with which all of them were looked at last.
    looked: (u64, Tick),
}

impl<F> Waiting<F> {
    /// Nothing waits, on a clock with ticks of this length.
    pub fn new(tick: Duration) -> Self {
        let patience = PATIENCE.as_nanos().div_ceil(tick.as_nanos().max(1));
        let patience = u32::try_from(patience).unwrap_or(u32::MAX);
        Self { held: ArrayVec::new(), patience, looked: (0, Tick::default()) }
    }

    /// Whether nothing waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Adds to a batch what need not wait any longer, and says how many that are.
    #[cold]
    pub fn release(
        &mut self,
        batch: &mut Batch<F>,
        tables: &Tables,
        now: Tick,
        counters: &WorkerCounters,
    ) -> usize {
        let news = (tables.generation, now);
        if news == self.looked {
            return 0;
        }
        let (mut place, mut released) = (0, 0);
        while let Some(held) = self.held.get(place) {
            let Some(outcome) = self.judge(held, tables, now) else {
                place += 1;
                continue;
            };
            if released == RELEASED || batch.0.is_full() {
                counters.set_waiting(self.held.len());
                return released;
            }
            let Held { frame, port, .. } = self.held.remove(place);
            batch.0.push(Packet { waited: true, outcome, ..Packet::new(frame, port) });
            released += 1;
        }
        self.looked = news;
        counters.set_waiting(self.held.len());
        released
    }

    /// `None`: it waits on; else how it ends, if it does.
    fn judge(&self, held: &Held<F>, tables: &Tables, now: Tick) -> Option<Option<Outcome>> {
        let template = tables.slots.template(held.slot, held.family);
        if template.is_none_or(tables::Template::resolved) {
            return Some(None);
        }
        let late = now.since(held.since) >= self.patience;
        late.then_some(Some(Outcome::NextHopUnresolved))
    }

    /// Takes packets that ended because of their next hop out of the batch, and holds them, as far
    /// as there is room.
    #[cold]
    pub fn hold(
        &mut self,
        batch: &mut Batch<F>,
        tables: &Tables,
        now: Tick,
        counters: &WorkerCounters,
    ) {
        let mut place = 0;
        while let Some(packet) = batch.0.get(place) {
            match self.room_for(packet, tables) {
                Some((slot, family, hop)) => {
                    let Packet { frame, port, .. } = batch.0.remove(place);
                    self.held.push(Held { frame, port, slot, family, hop, since: now });
                    counters.add(Event::NextHopWaited, 1);
                }
                None => place += 1,
            }
        }
        counters.set_waiting(self.held.len());
    }

    /// What is to be known of a packet to hold it.
    fn room_for(&self, packet: &Packet<F>, tables: &Tables) -> Option<(SlotId, Family, u32)> {
        let waits = packet.outcome == Some(Outcome::NextHopUnresolved) && !packet.waited;
        let slot = packet.slot.filter(|_| waits && !self.held.is_full())?;
        let family = packet.parsed.flow.family();
        let hop = tables.slots.template(slot, family)?.hop();
        let alike = self.held.iter().filter(|held| held.hop == hop).count();
        (hop != 0 && alike < HELD_FOR_ONE).then_some((slot, family, hop))
    }

    /// Ends what still waits, up to a batch: for a worker that stops. False: nothing did.
    pub fn give_up(&mut self, batch: &mut Batch<F>, counters: &WorkerCounters) -> bool {
        while !batch.0.is_full() {
            let Some(Held { frame, port, .. }) = self.held.pop() else { break };
            let outcome = Some(Outcome::NextHopUnresolved);
            batch.0.push(Packet { waited: true, outcome, ..Packet::new(frame, port) });
        }
        counters.set_waiting(self.held.len());
        !batch.0.is_empty()
    }
}
