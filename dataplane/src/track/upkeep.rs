//! The control side's rounds through the table: free what is dead, count what is live.
//!
//! Workers reclaim dead entries by themselves, but only where they need the room, and then have to
//! look through two whole buckets. Rounds keep full buckets rare, and keep every entry's tick from
//! getting so old that it looks like the future (2^30 ticks).

use std::ops::Range;

use tables::{Family, ServiceId, SlotId, Tables, Tick};

use super::region::{KeyWords, Region};
use super::table::ConnectionTable;
use super::value::{State, View};
use super::walk::{Cursor, EntryView, visit_live};

/// What one round counted. Not a moment's picture: entries came and went while it lasted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// When the round began: the figures are that old, at most.
    pub began: Tick,
    /// When it ended.
    pub ended: Tick,
    /// Live IPv4 entries.
    pub v4: u64,
    /// Live IPv6 entries.
    pub v6: u64,
    /// Of both, those that have seen more than one packet (D-4).
    pub confirmed: u64,
    /// Dead entries that the round freed.
    pub freed: u64,
    services: Vec<u64>,
    slots: Vec<u64>,
}

impl Census {
    /// Live entries of a service.
    pub fn of_service(&self, service: ServiceId) -> u64 {
        self.services.get(usize::from(service.0)).copied().unwrap_or(0)
    }

    /// Live entries on a backend.
    pub fn of_slot(&self, slot: SlotId) -> u64 {
        self.slots.get(slot.get() as usize).copied().unwrap_or(0)
    }

    /// How old the figures are at most, in ticks.
    pub fn age(&self, now: Tick) -> u32 {
        now.since(self.began)
    }

    fn count(&mut self, entry: &EntryView) {
        match entry.key.family() {
            Family::V4 => self.v4 += 1,
            Family::V6 => self.v6 += 1,
        }
        self.confirmed += u64::from(entry.confirmed);
        count(&mut self.services, usize::from(entry.key.service().0));
        count(&mut self.slots, entry.value.slot().get() as usize);
    }
}

fn count(counts: &mut Vec<u64>, index: usize) {
    if counts.len() <= index {
        counts.resize(index + 1, 0);
    }
    counts[index] += 1;
}

/// A round in progress, and what the last one counted. For one thread; two of them do no harm.
#[derive(Debug, Default)]
pub struct Upkeep {
    at: Cursor,
    counting: Census,
    latest: Option<Census>,
}

impl Upkeep {
    /// Goes on for `buckets` buckets (at least 1; each is at most 17 or 33 cache lines). Says
    /// whether that ended a round.
    pub fn step(
        &mut self,
        table: &ConnectionTable,
        tables: &Tables,
        now: Tick,
        buckets: usize,
    ) -> bool {
        if self.at == Cursor::default() {
            self.counting = Census { began: now, ..Census::default() };
        }
        let (span, view) = (table.span(self.at, buckets), View { tables, now });
        let census = &mut self.counting;
        let freed = table.v4.tend(span.v4, view, |entry| census.count(&entry))
            + table.v6.tend(span.v6, view, |entry| census.count(&entry));
        census.freed += freed;
        self.at = span.next.unwrap_or_default();
        if span.next.is_none() {
            census.ended = now;
            self.latest = Some(std::mem::take(census));
        }
        span.next.is_none()
    }

    /// What the last whole round counted.
    pub fn latest(&self) -> Option<&Census> {
        self.latest.as_ref()
    }
}

impl ConnectionTable {
    /// Frees the dead entries of the whole table at once and says how many.
    pub fn sweep(&self, tables: &Tables, now: Tick) -> usize {
        let mut round = Upkeep::default();
        round.step(self, tables, now, usize::MAX);
        round.latest().map_or(0, |census| census.freed as usize)
    }
}

impl<const W: usize> Region<W>
where
    [u64; W]: KeyWords,
{
    /// Frees what is dead, shows what is live; says how many it freed.
    fn tend(&self, buckets: Range<usize>, view: View<'_>, mut live: impl FnMut(EntryView)) -> u64 {
        let mut freed = 0;
        self.for_each(buckets, view, |at, seen, state| match state {
            State::Dead => freed += u64::from(self.reclaim(at, seen)),
            _ => visit_live(seen, state, &mut live),
        });
        freed
    }
}
