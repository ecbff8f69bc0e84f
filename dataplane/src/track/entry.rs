//! One entry and the protocol of its words; the argument is at the head of [`super`].

use super::mem::Zeroed;
use super::sync::{AtomicU32, AtomicU64, Ordering, fence};
use super::value::{Stamp, Value};
use crate::prefetch::prefetch;

/// 32 bytes for `W` = 2 (IPv4), 64 for `W` = 5 (IPv6): never across two lines.
#[repr(C, align(32))]
pub(super) struct Entry<const W: usize> {
    key: [AtomicU64; W],
    value: AtomicU64,
    stamp: AtomicU32,
    sequence: AtomicU32,
}

// SAFETY: integers only, in std's atomics; nothing to drop.
unsafe impl<const W: usize> Zeroed for Entry<W> {
    #[cfg(loom)]
    fn zeroed() -> Self {
        Self {
            key: std::array::from_fn(|_| AtomicU64::new(0)),
            value: AtomicU64::new(0),
            stamp: AtomicU32::new(0),
            sequence: AtomicU32::new(0),
        }
    }
}

/// An entry's words as they were together at one moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Snapshot<const W: usize> {
    pub(super) key: [u64; W],
    pub(super) value: Value,
    pub(super) stamp: Stamp,
    pub(super) sequence: u32,
}

/// Somebody is writing, or wrote while we read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Busy;

impl<const W: usize> Entry<W> {
    /// Asks for its line.
    #[inline(always)]
    pub(super) fn prefetch(&self) {
        prefetch(self);
    }

    #[inline]
    pub(super) fn read(&self) -> Result<Snapshot<W>, Busy> {
        let sequence = self.sequence.load(Ordering::Acquire);
        let key = std::array::from_fn(|i| self.key[i].load(Ordering::Relaxed));
        let value = self.value.load(Ordering::Relaxed);
        let stamp = Stamp(self.stamp.load(Ordering::Relaxed));
        fence(Ordering::Acquire);
        if sequence & 1 != 0 || self.sequence.load(Ordering::Relaxed) != sequence {
            return Err(Busy);
        }
        Ok(Snapshot { key, value: Value::unpack(value), stamp, sequence })
    }

    /// Takes the right to write, if nobody has written since `sequence` was read.
    pub(super) fn lock(&self, sequence: u32) -> Option<Locked<'_, W>> {
        let odd = sequence.wrapping_add(1);
        self.sequence.compare_exchange(sequence, odd, Ordering::Acquire, Ordering::Relaxed).ok()?;
        fence(Ordering::Release);
        Some(Locked { entry: self, sequence: odd })
    }

    /// Replaces the stamp, unless somebody else has: then theirs is as new, or the entry has
    /// become another's, whose age must not go back to ours.
    #[inline]
    pub(super) fn touch(&self, seen: Stamp, new: Stamp) {
        let _ = self.stamp.compare_exchange(seen.0, new.0, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// The right to write an entry and its tag; dropping it publishes.
pub(super) struct Locked<'e, const W: usize> {
    entry: &'e Entry<W>,
    sequence: u32,
}

impl<const W: usize> Locked<'_, W> {
    pub(super) fn stamp(&self) -> Stamp {
        Stamp(self.entry.stamp.load(Ordering::Relaxed))
    }

    pub(super) fn write(&self, key: &[u64; W], value: u64, stamp: Stamp) {
        for (cell, word) in self.entry.key.iter().zip(key) {
            cell.store(*word, Ordering::Relaxed);
        }
        self.entry.value.store(value, Ordering::Relaxed);
        self.entry.stamp.store(stamp.0, Ordering::Relaxed);
    }

    /// The sequence that the entry will have once published.
    pub(super) fn next_sequence(&self) -> u32 {
        self.sequence.wrapping_add(1)
    }
}

impl<const W: usize> Drop for Locked<'_, W> {
    fn drop(&mut self) {
        self.entry.sequence.store(self.next_sequence(), Ordering::Release);
    }
}
