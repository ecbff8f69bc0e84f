//! Later fragments follow their first one (S-6).
//!
//! Only a datagram's first fragment has ports; an entry, a rule for listed ports and the
//! five-tuple hash need them. So the first one is remembered, and later ones take over what it
//! said: then rule, key and hash are the first one's, whatever stands behind. In reading order:
//! this page, `datagram` (whose fragment it is), `table` (what first fragments said, shared by all
//! workers) and its `entry`, `held` (what waits).
//!
//! Who is concerned: TCP; and of IPv6, whatever has an extension header behind its fragment
//! header, since only the first fragment then tells the protocol. UDP and the others go by
//! addresses and protocol, which every fragment has. And only what is sent to an address that a
//! rule claims: the host's fragments are the host's.
//!
//! A later fragment that comes before its first one waits at the worker that received it, which
//! looks again at the beginning of every step in which there is news: a first fragment that any
//! worker has met since, or a tick that has passed.
//!
//! # What a flood can do
//!
//! Everything is of fixed size, and work is bounded: one bucket for each fragment, [`HELD`]
//! buckets for each step. Of first fragments: a bucket's oldest gives way (`fragment_evicted`),
//! so that an honest datagram loses its first fragment only if its bucket was filled anew between
//! its fragments; refusing newcomers would lose all for as long as the flood lasts. Of later
//! ones, the same: who has waited longest gives way by name (`fragment_held_full`).
//!
//! Fragments that overlap are forwarded as they are: the backend puts them together, and judges.

mod datagram;
mod entry;
mod held;
mod table;

#[cfg(all(test, loom))]
mod model;

use std::sync::Arc;

use tables::counters::Event;
use tables::{Outcome, PacketClass, Tables, Tick, WorkerCounters};

use crate::batch::{BURST, Batch, Packet};
use crate::parse::Fragment;
use datagram::{asks, tells};
use held::{Held, Waiting};
use table::{First, Recorded};

pub use held::HELD;
pub use table::FragmentTable;

/// The most that [`Fragments::release`] puts into a batch: what has just arrived needs room too.
const RELEASED: usize = BURST / 2;

/// One worker's access to the fragment table, and its fragments that wait.
pub struct Fragments<F> {
    table: Arc<FragmentTable>,
    held: Held<F>,
    /// The table's news and the tick with which everything held was looked at last.
    looked: (u32, Tick),
}

impl<F> Fragments<F> {
    /// Access, with nothing held.
    pub fn new(table: Arc<FragmentTable>) -> Self {
        Self { table, held: Held::default(), looked: (0, Tick::default()) }
    }

    /// Begins a batch with what need not wait any longer, and says how many that are. Those whose
    /// first fragment did not come in time have ended; the others go the whole way again.
    pub fn release(&mut self, batch: &mut Batch<F>, now: Tick, counters: &WorkerCounters) -> usize {
        // Read before the table is: what is entered meanwhile is news next time.
        let news = (self.table.news(), now);
        if self.held.is_empty() || news == self.looked {
            return 0;
        }
        let table = &self.table;
        let looked_at_all = self.held.take(RELEASED, &mut batch.0, |waiting| {
            if table.find(&waiting.datagram, now).is_some() {
                return Some(None);
            }
            table.is_too_late(waiting.since, now).then_some(Some(Outcome::FragmentNoFirst))
        });
        if looked_at_all {
            self.looked = news;
        }
        counters.set_held(self.held.len());
        batch.0.len()
    }

    /// Ends what still waits, up to a batch: for a worker that stops. False: nothing did.
    pub fn give_up(&mut self, batch: &mut Batch<F>, counters: &WorkerCounters) -> bool {
        self.held.take(BURST, &mut batch.0, |_| Some(Some(Outcome::FragmentNoFirst)));
        counters.set_held(self.held.len());
        !batch.0.is_empty()
    }

    /// Remembers first fragments, gives later ones what their first one said, and takes those out
    /// of the batch whose first one is not known.
    pub fn stage(
        &mut self,
        batch: &mut Batch<F>,
        tables: &Tables,
        now: Tick,
        counters: &WorkerCounters,
    ) {
        if batch.live().all(|p| p.parsed.fragment == Fragment::Whole) {
            return;
        }
        // All first ones before any later one: a burst may have them in any order.
        for packet in batch.live().filter(|p| tells(&p.parsed) && is_claimed(p, tables)) {
            self.record(packet, now, counters);
        }
        let mut place = 0;
        while let Some(packet) = batch.0.get_mut(place) {
            let asks = packet.outcome.is_none() && asks(&packet.parsed);
            let stays = !asks || !is_claimed(packet, tables) || self.follow(packet, now);
            place += usize::from(stays || self.hold(batch, place, now, counters));
        }
        counters.set_held(self.held.len());
    }

    fn record(&self, packet: &Packet<F>, now: Tick, counters: &WorkerCounters) {
        let datagram = self.table.datagram(&packet.parsed);
        let event = match self.table.record(&datagram, First::of(&packet.parsed), now) {
            Recorded::Entered => Event::FragmentFirst,
            Recorded::Evicted => Event::FragmentEvicted,
            Recorded::Contended => Event::FragmentContended,
        };
        counters.add(event, 1);
    }

    /// False: the first fragment is not known, and may still come.
    fn follow(&self, packet: &mut Packet<F>, now: Tick) -> bool {
        match self.table.find(&self.table.datagram(&packet.parsed), now) {
            Some(first) => first.tell(&mut packet.parsed),
            // Its first one was known when it was let go, and has given way since.
            None if packet.waited => packet.end(Outcome::FragmentNoFirst),
            None => return false,
        }
        true
    }

    /// Holds the packet at `place`; true if another one is there now: the one that gave way.
    fn hold(
        &mut self,
        batch: &mut Batch<F>,
        place: usize,
        now: Tick,
        counters: &WorkerCounters,
    ) -> bool {
        counters.add(Event::FragmentHeld, 1);
        let oldest = self.held.make_room().map(|w| w.packet(Some(Outcome::FragmentHeldFull)));
        let gave_way = oldest.is_some();
        let packet = match (oldest, batch.0.get_mut(place)) {
            (Some(oldest), Some(packet)) => std::mem::replace(packet, oldest),
            _ => batch.0.remove(place),
        };
        let Packet { frame, port, parsed, .. } = packet;
        let datagram = self.table.datagram(&parsed);
        self.held.put(Waiting { frame, port, parsed, datagram, since: now });
        gave_way
    }
}

fn is_claimed<F>(packet: &Packet<F>, tables: &Tables) -> bool {
    tables.rules.is_claimed(packet.parsed.flow.dst())
}

impl First {
    /// Gives a later fragment what its first one said. UDP has no ports then either (1.2).
    fn tell(self, later: &mut crate::parse::Parsed) {
        later.class = self.class;
        if self.class == PacketClass::Tcp {
            later.flow = later.flow.carrying(self.proto, self.sport, self.dport);
            later.fragment = Fragment::Follows;
        } else {
            later.flow = later.flow.carrying(self.proto, 0, 0);
        }
    }
}
