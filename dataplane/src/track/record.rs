//! The stage that writes entries, once selection has decided (T-1, T-3).

use tables::counters::Event;
use tables::{Family, Key, Tables, Tick, WorkerCounters};

use super::ConnectionTable;
use super::InsertLimit;
use super::insert::{New, Written};
use super::value::{Value, View};
use crate::batch::{Batch, Entry, Packet, Tracking, Why};

/// Enters the packets that have a backend and wish to be remembered, and counts what became of
/// their entries.
pub(super) fn record<F>(
    batch: &mut Batch<F>,
    tables: &Tables,
    table: &ConnectionTable,
    now: Tick,
    limit: &mut InsertLimit,
    counters: &WorkerCounters,
) {
    for packet in batch.live() {
        if let Tracking::Remember(key, hash) | Tracking::Migrate { key, hash, .. } = packet.tracking
        {
            table.prefetch_insert(&key, hash);
        }
    }
    let view = View { tables, now };
    for packet in batch.live() {
        if let Some(wish) = wish(packet, tables) {
            let written = table.insert(&wish, view, || limit.take(now));
            conclude(packet, written, counters);
        }
    }
}

/// An entry to write, of either family.
struct Wish {
    key: Key,
    hash: u64,
    value: Value,
    confirmed: bool,
    supersede: bool,
}

fn wish<F>(packet: &Packet<F>, tables: &Tables) -> Option<Wish> {
    match packet.tracking {
        Tracking::Remember(key, hash) => {
            let plan = tables.service(packet.service)?.plan.class(packet.parsed.class);
            let value = Value::stamped(packet.slot?, plan.lifetime, tables)?;
            let supersede = packet.parsed.syn && plan.syn_is_new;
            Some(Wish { key, hash, value, confirmed: false, supersede })
        }
        Tracking::Migrate { key, hash, value, confirmed } => {
            Some(Wish { key, hash, value, confirmed, supersede: false })
        }
        Tracking::No | Tracking::Found | Tracking::SelectOnly => None,
    }
}

fn conclude<F>(packet: &mut Packet<F>, written: Written, counters: &WorkerCounters) {
    let (entry, event) = match written {
        Written::Created => (Entry::Created, Event::EntryCreated),
        Written::Evicted => {
            counters.add(Event::EntryEvicted, 1);
            (Entry::Created, Event::EntryCreated)
        }
        Written::Replaced => (Entry::Replaced, Event::EntryReplaced),
        Written::Kept(value) => {
            // Another packet of this connection was entered since the look-up: one connection,
            // one backend.
            packet.slot = Some(value.slot);
            packet.why = Why::Tracked;
            (Entry::Hit, Event::EntryHit)
        }
        Written::Denied => (packet.entry, Event::EntryDenied),
        Written::Contended => (packet.entry, Event::EntryContended),
    };
    counters.add(event, 1);
    // What was found under an earlier key stays a hit, whatever became of the new one.
    if packet.entry == Entry::None {
        packet.entry = entry;
    }
}

impl ConnectionTable {
    fn prefetch_insert(&self, key: &Key, hash: u64) {
        match key.family() {
            Family::V4 => self.v4.prefetch_insert(hash),
            Family::V6 => self.v6.prefetch_insert(hash),
        }
    }

    fn insert(&self, wish: &Wish, view: View<'_>, allowed: impl FnMut() -> bool) -> Written {
        let Wish { key, hash, value, confirmed, supersede } = *wish;
        match key.family() {
            Family::V4 => {
                let key = key.v4_words();
                self.v4.insert(&New { key, hash, value, confirmed, supersede }, view, allowed)
            }
            Family::V6 => {
                let key = key.v6_words();
                self.v6.insert(&New { key, hash, value, confirmed, supersede }, view, allowed)
            }
        }
    }
}
