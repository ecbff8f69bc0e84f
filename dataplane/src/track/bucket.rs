//! A bucket: a line of tags, and the entries behind it.

use super::entry::Entry;
use super::mem::Zeroed;
use super::simd::lanes_equal;
use super::sync::{AtomicU64, Ordering};
use crate::prefetch::prefetch;

/// Entries to a bucket; two-choice placement first fails at 93 % of the slots with 32, at 73 %
/// with 8.
#[cfg(not(loom))]
pub(super) const LANES: usize = 32;
/// As few as show every case: each load is a branch of the model.
#[cfg(loom)]
pub(super) const LANES: usize = 4;

/// A free lane's tag.
const FREE: u16 = 0;

/// Tags share words of one size only, because atomics of two sizes must not overlap.
#[repr(C, align(64))]
pub(super) struct Tags([AtomicU64; LANES / 4]);

impl Tags {
    /// One bit for each lane that holds `tag`.
    #[inline]
    pub(super) fn matching(&self, tag: u16) -> u32 {
        lanes_equal(&self.0, tag)
    }

    /// One bit for each free lane.
    #[inline]
    pub(super) fn free(&self) -> u32 {
        self.matching(FREE)
    }

    /// Writes one lane; only for whoever has its entry locked, so that nobody else changes it.
    pub(super) fn set(&self, lane: usize, tag: u16) {
        let Some(word) = self.0.get(lane / 4) else { return };
        let shift = 16 * (lane % 4);
        let old = (word.load(Ordering::Relaxed) >> shift) as u16;
        word.fetch_xor(u64::from(old ^ tag) << shift, Ordering::Relaxed);
    }

    pub(super) fn clear(&self, lane: usize) {
        self.set(lane, FREE);
    }

    pub(super) fn is_free(&self, lane: usize) -> bool {
        let word = self.0.get(lane / 4).map_or(0, |word| word.load(Ordering::Relaxed));
        (word >> (16 * (lane % 4))) as u16 == FREE
    }

    #[inline]
    pub(super) fn prefetch(&self) {
        prefetch(self);
    }
}

/// Tags and entries lie side by side, so that on small pages they mostly share one translation.
#[repr(C, align(64))]
pub(super) struct Bucket<const W: usize> {
    pub(super) tags: Tags,
    entries: [Entry<W>; LANES],
}

impl<const W: usize> Bucket<W> {
    /// The entry of a lane, counted round.
    #[inline]
    pub(super) fn entry(&self, lane: usize) -> &Entry<W> {
        &self.entries[lane % LANES]
    }

    /// Lanes that share a cache line with a lane, itself included: all of this many.
    pub(super) const ABREAST: usize = if W == 2 { 2 } else { 1 };

    /// Of the lanes in the mask `free` the best for a key whose own lane is `lane`: one in the same
    /// cache line, else the next one behind it.
    #[inline]
    pub(super) fn nearest(free: u32, lane: usize) -> Option<usize> {
        let first = lane & !(Self::ABREAST - 1);
        let behind = free & (u32::MAX << first);
        let choice = if behind != 0 { behind } else { free };
        (choice != 0).then(|| choice.trailing_zeros() as usize)
    }

    /// Asks for the entry of a lane.
    #[inline]
    pub(super) fn prefetch(&self, lane: usize) {
        self.entry(lane).prefetch();
    }

    /// Asks for the entry of the lowest lane in `lanes`.
    #[inline]
    pub(super) fn prefetch_first(&self, lanes: u32) {
        self.prefetch(lanes.trailing_zeros() as usize);
    }

    pub(super) fn prefetch_all(&self) {
        self.entries.iter().step_by(Self::ABREAST).for_each(Entry::prefetch);
    }
}

// SAFETY: integers only, in std's atomics; nothing to drop.
unsafe impl<const W: usize> Zeroed for Bucket<W> {
    #[cfg(loom)]
    fn zeroed() -> Self {
        Self {
            tags: Tags(std::array::from_fn(|_| AtomicU64::new(0))),
            entries: std::array::from_fn(|_| Entry::zeroed()),
        }
    }
}

/// The lanes of a mask, lowest first.
#[inline]
pub(super) fn lanes(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = mask.trailing_zeros();
        mask &= mask.wrapping_sub(1);
        (lane < u32::BITS).then_some(lane as usize)
    })
}
