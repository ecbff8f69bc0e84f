//! Path MTUs to backends, as routers have reported them (S-7).

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use super::ticks;
use tables::{Family, Lifetime, SlotId, Tables, Template, Tick};

/// What nobody may talk us below.
const FLOORS: [u16; 2] = [576, 1280];

/// Every backend's path MTU, where it is lower than the next hop's, and how many other errors came
/// about its tunnel. Shared by all workers; everything is atomic on its own, and of two reports at
/// one time either may stay.
#[derive(Debug)]
pub struct PathMtus {
    /// By slot: `mtu:16 mark:16 until:32`, 0 where nothing was reported.
    words: Box<[AtomicU64]>,
    errors: Box<[AtomicU32]>,
    /// The last tick at which any of them counts, and one; 0 if none was reported yet.
    latest: AtomicU64,
    lifetime: u32,
}

impl PathMtus {
    /// How many slots it has room for; those beyond always go by their next hop's MTU.
    pub const SLOTS: usize = 1 << 16;

    /// How long a report counts (RFC 1191, 6.3).
    pub const LIFETIME: Duration = Duration::from_secs(600);

    /// Nothing reported yet, by a clock with ticks of this length.
    pub fn new(tick: Duration) -> Self {
        Self {
            words: (0..Self::SLOTS).map(|_| AtomicU64::new(0)).collect(),
            errors: (0..Self::SLOTS).map(|_| AtomicU32::new(0)).collect(),
            latest: AtomicU64::new(0),
            lifetime: ticks(Self::LIFETIME, tick),
        }
    }

    /// Errors about a backend's tunnel that were not about a size; wraps.
    pub fn errors(&self, slot: SlotId) -> u32 {
        self.errors.get(slot.get() as usize).map_or(0, |errors| errors.load(Relaxed))
    }

    /// What counts now, for one burst.
    #[inline]
    pub(super) fn at(&self, now: Tick) -> Paths<'_> {
        let latest = self.latest.load(Relaxed).checked_sub(1);
        let any = latest.is_some_and(|latest| Tick(latest as u32).since(now) > 0);
        Paths { known: any.then_some(self), now }
    }

    pub(super) fn count_error(&self, slot: SlotId) {
        if let Some(errors) = self.errors.get(slot.get() as usize) {
            errors.fetch_add(1, Relaxed);
        }
    }

    /// Believes a report; false if it lowers nothing.
    pub(super) fn lower(&self, slot: SlotId, mtu: u16, tables: &Tables, now: Tick) -> bool {
        let Some((floor, next_hop, mark)) = bounds(slot, tables) else { return false };
        let mtu = mtu.max(floor);
        let known = self.live(slot, mark, now).unwrap_or(next_hop);
        if mtu >= next_hop || mtu > known {
            return false;
        }
        let Some(word) = self.words.get(slot.get() as usize) else { return false };
        let until = now.plus(self.lifetime);
        word.store(u64::from(mtu) << 48 | u64::from(mark) << 32 | u64::from(until.0), Relaxed);
        self.latest.store(u64::from(until.0) + 1, Relaxed);
        true
    }

    /// What was reported of a slot, by the backend that it has now.
    fn live(&self, slot: SlotId, mark: u16, now: Tick) -> Option<u16> {
        let word = self.words.get(slot.get() as usize)?.load(Relaxed);
        let counts = (word >> 32) as u16 == mark && Tick(word as u32).since(now) > 0;
        (word != 0 && counts).then_some((word >> 48) as u16)
    }
}

/// A slot's floor, its next hop's MTU, and what tells its backend from one that had the slot
/// before: an epoch, which every reuse moves on (D-2).
fn bounds(slot: SlotId, tables: &Tables) -> Option<(u16, u16, u16)> {
    let template = tables.slots.template(slot, Family::V4)?;
    let next_hop = template.max_inner().saturating_add(overhead(template));
    let floor = FLOORS.get(template.outer() as usize).copied()?;
    Some((floor, next_hop, mark(slot, tables)?))
}

fn mark(slot: SlotId, tables: &Tables) -> Option<u16> {
    Some(tables.slots.epochs(slot)?.of(Lifetime::Persisting) as u16)
}

/// What a tunnel puts in front of the packet, bytes.
#[inline]
fn overhead(template: &Template) -> u16 {
    (template.header().len() - template.l3()) as u16
}

/// What counts at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Paths<'p> {
    /// `None`: nothing does, as on most days.
    known: Option<&'p PathMtus>,
    now: Tick,
}

impl Paths<'_> {
    /// The largest packet that reaches a backend through its tunnel, bytes: what the next hop takes,
    /// or less if a router further on has said so.
    #[inline]
    pub fn max_inner(&self, slot: SlotId, template: &Template, tables: &Tables) -> u16 {
        match self.known {
            None => template.max_inner(),
            Some(known) => known.max_inner(slot, template, tables, self.now),
        }
    }
}

impl PathMtus {
    #[cold]
    fn max_inner(&self, slot: SlotId, template: &Template, tables: &Tables, now: Tick) -> u16 {
        let mtu = mark(slot, tables).and_then(|mark| self.live(slot, mark, now));
        let limit = mtu.map_or(u16::MAX, |mtu| mtu.saturating_sub(overhead(template)));
        limit.min(template.max_inner())
    }
}
