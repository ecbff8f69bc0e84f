//! What first fragments said, shared by all workers.
//!
//! Buckets of four entries of one cache line each; a datagram has one bucket. A writer takes the
//! datagram's own entry, else one that is free or too old, else the oldest. Two workers that meet
//! the same first fragment at once may both enter it: a reader takes the newer, and both say the
//! same, unless a client uses one identification for two datagrams at the same time, which its
//! receiver could not tell apart either.

use std::time::Duration;

use crossbeam_utils::CachePadded;
use tables::{PacketClass, Tick};

use super::datagram::{Datagram, words};
use super::entry::{Entry, Snapshot};
use crate::parse::Parsed;
use crate::track::TableKey;
use crate::track::sync::{AtomicU32, Ordering};

const LANES: usize = 4;

/// Tries at a bucket that others are writing at the same time.
const ATTEMPTS: usize = 4;

/// Longer than the fragments of one datagram are under way apart from each other; shorter than a
/// busy sender takes to use an identification of 16 bits again (RFC 4963).
const LIFETIME: Duration = Duration::from_secs(2);

/// How long a fragment waits for its first one: reordering, not retransmission, which sends the
/// first one anew and the later ones too.
const PATIENCE: Duration = Duration::from_millis(500);

/// The fragment table.
pub struct FragmentTable {
    buckets: Box<[[Entry; LANES]]>,
    key: TableKey,
    lifetime: u32,
    patience: u32,
    /// Counts what was entered, so that who holds fragments sees that there is news.
    news: CachePadded<AtomicU32>,
}

/// What a first fragment said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct First {
    pub(super) proto: u8,
    pub(super) class: PacketClass,
    pub(super) sport: u16,
    pub(super) dport: u16,
}

/// What became of a first fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Recorded {
    /// It is in the table.
    Entered,
    /// It is in the table, in place of another that was not too old.
    Evicted,
    /// Others were writing all the time.
    Contended,
}

impl FragmentTable {
    /// What an appliance has: 4 MB.
    pub const ENTRIES: usize = 1 << 16;

    /// A table for about this many datagrams at once, for a clock with ticks of this length.
    pub fn new(entries: usize, key: TableKey, tick_length: Duration) -> Self {
        let buckets = entries.div_ceil(LANES).clamp(1, u32::MAX as usize);
        Self {
            buckets: (0..buckets).map(|_| Default::default()).collect(),
            key,
            lifetime: ticks(LIFETIME, tick_length),
            patience: ticks(PATIENCE, tick_length),
            news: CachePadded::default(),
        }
    }

    /// Changes whenever something is entered.
    #[inline]
    pub(super) fn news(&self) -> u32 {
        self.news.load(Ordering::Acquire)
    }

    /// Whether what has waited `since` then need not wait any longer.
    #[inline]
    pub(super) fn is_too_late(&self, since: Tick, now: Tick) -> bool {
        now.since(since) >= self.patience
    }

    /// The datagram that a fragment is of.
    pub(super) fn datagram(&self, parsed: &Parsed) -> Datagram {
        let words = words(parsed);
        Datagram { words, hash: self.key.hash(&words) }
    }

    /// What the first fragment of a datagram said.
    pub(super) fn find(&self, datagram: &Datagram, now: Tick) -> Option<First> {
        let seen = self.bucket(datagram)?.iter().filter_map(Entry::read);
        let ours = seen.filter(|seen| self.is_live(seen, now) && seen.key == datagram.words);
        ours.min_by_key(|seen| now.since(seen.since)).and_then(|seen| First::unpack(seen.value))
    }

    /// Enters what a first fragment said.
    pub(super) fn record(&self, datagram: &Datagram, first: First, now: Tick) -> Recorded {
        for _ in 0..ATTEMPTS {
            let Some((entry, seen)) = self.place(datagram, now) else { continue };
            if entry.write(&seen, &datagram.words, first.pack(), now) {
                self.news.fetch_add(1, Ordering::Release);
                let another = seen.key != datagram.words && self.is_live(&seen, now);
                return if another { Recorded::Evicted } else { Recorded::Entered };
            }
        }
        Recorded::Contended
    }

    /// The entry to write: the datagram's own, a dead one, or the oldest.
    fn place(&self, datagram: &Datagram, now: Tick) -> Option<(&Entry, Snapshot)> {
        let entries = self.bucket(datagram)?.iter();
        let seen = entries.filter_map(|entry| Some((entry, entry.read()?)));
        seen.max_by_key(|(_, seen)| match self.is_live(seen, now) {
            _ if seen.key == datagram.words => (2, 0),
            false => (1, 0),
            true => (0, now.since(seen.since)),
        })
    }

    fn is_live(&self, seen: &Snapshot, now: Tick) -> bool {
        seen.value != 0 && now.since(seen.since) < self.lifetime
    }

    #[inline]
    fn bucket(&self, datagram: &Datagram) -> Option<&[Entry; LANES]> {
        let scaled = ((datagram.hash >> 32) * self.buckets.len() as u64) >> 32;
        self.buckets.get(scaled as usize)
    }
}

/// A waiting time in whole ticks, at least one.
fn ticks(time: Duration, tick_length: Duration) -> u32 {
    Tick::after(time, tick_length).0.max(1)
}

impl First {
    pub(super) fn of(parsed: &Parsed) -> Self {
        let flow = &parsed.flow;
        Self { proto: flow.proto(), class: parsed.class, sport: flow.sport(), dport: flow.dport() }
    }

    /// `sport:16 dport:16 proto:8 class:8 0:15 1:1`, so never 0.
    fn pack(self) -> u64 {
        let ports = u64::from(self.sport) << 48 | u64::from(self.dport) << 32;
        ports | u64::from(self.proto) << 24 | (self.class as u64) << 16 | 1
    }

    fn unpack(word: u64) -> Option<Self> {
        Some(Self {
            proto: (word >> 24) as u8,
            class: *PacketClass::ALL.get(usize::from((word >> 16) as u8))?,
            sport: (word >> 48) as u16,
            dport: (word >> 32) as u16,
        })
    }
}
