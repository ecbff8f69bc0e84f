//! One worker: a burst's whole way, run to completion on one core.

use std::sync::Arc;

use tables::counters::Event;
use tables::publish::Reader;
use tables::{Counters, Tables, Tick};

use crate::batch::Batch;
use crate::encap::Identifiers;
use crate::fragment::Fragments;
use crate::icmp::Messenger;
use crate::io::Io;
use crate::track::Tracker;
use crate::tx::Observe;
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
    /// What it says and learns by ICMP.
    pub icmp: Messenger,
    /// Sees every packet before it leaves.
    pub observer: O,
    /// Empty between steps.
    pub batch: Batch<I::Frame>,
}

impl<I: Io, O: Observe<I::Frame>> Worker<I, O> {
    /// Takes one burst the whole way at the moment `now`; returns how many packets it had.
    pub fn step(&mut self, now: Tick) -> usize {
        let counters = self.counters.worker(self.number);
        let batch = &mut self.batch;
        let released = self.fragments.release(batch, now, counters);
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
        let paths = self.icmp.paths(now);
        encap::stage(batch, tables, &mut self.identifiers, paths, &mut self.io, counters);
        self.icmp.stage(batch, tables, now, counters);
        tx::stage(batch, &mut self.io, counters, &mut self.observer);

        let (sent, dropped) = self.io.forward_from_host();
        counters.add(Event::FromHost, sent + dropped);
        counters.add(Event::FromHostDropped, dropped);
        released + received + (sent + dropped) as usize
    }
}
