//! One entry of the table and the protocol of its words: a sequence lock, as the connection
//! table's (its head has the argument in full).
//!
//! A reader loads the sequence (acquire), the words, passes an acquire fence and loads the sequence
//! again: odd or changed, and it has read nothing. A writer takes the sequence from even to odd by
//! compare-and-swap, passes a release fence, writes, and stores the next even sequence (release).
//! Nobody waits: who finds the sequence taken goes on without.

use tables::Tick;

use crate::track::sync::{AtomicU32, AtomicU64, Ordering, fence};

/// One cache line. `value` 0: free.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub(super) struct Entry {
    key: [AtomicU64; 5],
    value: AtomicU64,
    stamp: AtomicU32,
    sequence: AtomicU32,
}

/// An entry's words as they were together at one moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Snapshot {
    pub(super) key: [u64; 5],
    pub(super) value: u64,
    pub(super) since: Tick,
    sequence: u32,
}

impl Entry {
    /// `None`: somebody is writing, or wrote meanwhile.
    #[inline]
    pub(super) fn read(&self) -> Option<Snapshot> {
        let sequence = self.sequence.load(Ordering::Acquire);
        let key = self.key.each_ref().map(|word| word.load(Ordering::Relaxed));
        let value = self.value.load(Ordering::Relaxed);
        let since = Tick(self.stamp.load(Ordering::Relaxed));
        fence(Ordering::Acquire);
        let quiet = sequence & 1 == 0 && self.sequence.load(Ordering::Relaxed) == sequence;
        quiet.then_some(Snapshot { key, value, since, sequence })
    }

    /// Overwrites the entry; false, and nothing is written, if somebody has written since `seen`.
    pub(super) fn write(&self, seen: &Snapshot, key: &[u64; 5], value: u64, since: Tick) -> bool {
        let odd = seen.sequence.wrapping_add(1);
        let taken = self.sequence.compare_exchange(
            seen.sequence,
            odd,
            Ordering::Acquire,
            Ordering::Relaxed,
        );
        if taken.is_err() {
            return false;
        }
        fence(Ordering::Release);
        for (cell, word) in self.key.iter().zip(key) {
            cell.store(*word, Ordering::Relaxed);
        }
        self.value.store(value, Ordering::Relaxed);
        self.stamp.store(since.0, Ordering::Relaxed);
        self.sequence.store(odd.wrapping_add(1), Ordering::Release);
        true
    }
}
