//! One worker: a burst's whole way, run to completion on one core.
//!
//! [`Worker::step`] is the diagram `rx → parse → classify → track → select → encap → tx`, a line a
//! stage. A stage looks at the packets whose way goes on and leaves in each what it found out
//! ([`crate::batch::Packet`]), or ends it with a named outcome. Each is a function of its own in the
//! program too: a burst's loop then has all registers. In the order of the lines:
//!
//! 1. *Receive*: fragments that have waited long enough, or whose first one has come, and packets
//!    whose next hop is known by now, go before what the ports have; together at most a burst.
//! 2. *Parse*: is it for us, is it sound, what are its addresses and ports? An ICMP error is from
//!    here on the packet that it quotes, turned round (S-7).
//! 3. *Fragments*: a later one takes over its first one's ports, or leaves the burst to wait (S-6).
//! 4. *Classify*: the rule that takes it, and so the service. What no VIP is concerned by ends here
//!    as the host's.
//! 5. *Look up*: is it part of a known connection, whose backend is decided? For all of the burst
//!    at once, so that the table's cache lines are on their way together.
//! 6. *Select*: the others get a backend by hash.
//! 7. *Record*: what was selected, and is to be tracked, gets its entry. Looking up and recording
//!    are the diagram's "track": selection stands between them.
//! 8. *Encapsulate*: the outer header goes in front, if packet and header fit the way, and the packet
//!    is counted as its backend's. A few packets whose next hop is being asked for leave the burst to
//!    wait.
//! 9. *ICMP*: of what has ended, some must be answered (too big, echo), and reports about our own
//!    tunnels teach us.
//! 10. *Transmit*: out to the network or to the host. Every packet of the burst is counted here,
//!     once (D-7).

use std::sync::Arc;

use tables::counters::Event;
use tables::publish::Reader;
use tables::{Counters, Tables, Tick};

use crate::batch::Batch;
use crate::encap::Identifiers;
use crate::fragment::Fragments;
use crate::icmp::Messenger;
use crate::io::Io;
use crate::probe::Probes;
use crate::track::Tracker;
use crate::tx::Observe;
use crate::waiting::Waiting;
use crate::{classify, encap, parse, select, tx};

/// Everything that a worker owns or shares; nothing here is locked.
pub struct Worker<I: Io, O = ()> {
    /// The ports and the host.
    pub io: I,
    /// The newest Tables (D-5).
    pub tables: Reader<Tables>,
    /// First fragments, shared by all workers, and this one's that wait for theirs (S-6).
    pub fragments: Fragments<I::Frame>,
    /// The connection table, shared by all workers, and this one's insert limit (D-3, D-4).
    pub tracker: Tracker,
    /// Everyone's counters; this worker writes its own.
    pub counters: Arc<Counters>,
    /// Which of the counters are this worker's.
    pub number: usize,
    /// The outer headers' identifications.
    pub identifiers: Identifiers,
    /// What waits for its next hop.
    pub waiting: Waiting<I::Frame>,
    /// What it says and learns by ICMP.
    pub icmp: Messenger,
    /// Which backends health checks' packets are for (W-8).
    pub probes: Probes,
    /// Sees every packet before it leaves.
    pub observer: O,
    /// Empty between steps.
    pub batch: Batch<I::Frame>,
}

impl<I: Io, O: Observe<I::Frame>> Worker<I, O> {
    /// Takes one burst the whole way at the moment `now`, and then what the host has for the
    /// network; returns how many packets there were, so that the caller knows when to rest.
    pub fn step(&mut self, now: Tick) -> usize {
        let counters = self.counters.worker(self.number);
        let batch = &mut self.batch;
        let mut released = self.fragments.release(batch, now, counters);
        if !self.waiting.is_empty() {
            released += self.waiting.release(batch, self.tables.current(), now, counters);
        }
        self.io.receive(batch);
        let received = batch.0.len() - released;
        counters.add(Event::Received, received as u64);

        let tables = self.tables.current();
        parse::stage(batch, tables);
        self.fragments.stage(batch, tables, now, counters);
        classify::stage(batch, tables);
        self.tracker.look_up(batch, tables, now, counters);
        select::stage(batch, tables);
        self.tracker.record(batch, tables, now, counters);
        let (paths, counted) = (self.icmp.paths(now), (counters, tables.traffic.by(self.number)));
        let unresolved =
            encap::stage(batch, tables, &mut self.identifiers, paths, &mut self.io, counted);
        if unresolved {
            self.waiting.hold(batch, tables, now, counters);
        }
        self.icmp.stage(batch, tables, now, counters);
        tx::stage(batch, &mut self.io, counters, &mut self.observer);

        let (sent, dropped) = self.io.forward_from_host();
        counters.add(Event::FromHost, sent + dropped);
        counters.add(Event::FromHostDropped, dropped);
        self.io.take_probes(batch);
        if !batch.0.is_empty() {
            let encapsulation = (&mut self.identifiers, self.icmp.paths(now));
            let (io, seen) = (&mut self.io, &mut self.observer);
            self.probes.stage(batch, tables, encapsulation, io, counters, seen);
        }
        released + received + (sent + dropped) as usize
    }
}
