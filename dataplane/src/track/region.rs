//! The buckets of one address family, and how keys are found in them.

use std::io;

use tables::Key;

use super::bucket::{Bucket, LANES, lanes};
use super::entry::{Busy, Snapshot};
use super::hash::{Place, TableKey};
use super::mem::{Pages, Slab};
use super::value::{Stamp, State, Value, View};

/// How a family's keys are kept.
pub(super) trait KeyWords {
    /// The words that are compared; the service is in the last one's low 16 bits.
    fn of(key: &Key) -> Self;
    /// The key again.
    fn key(self) -> Key;
}

impl KeyWords for [u64; 2] {
    fn of(key: &Key) -> Self {
        key.v4_words()
    }
    fn key(self) -> Key {
        Key::from_v4_words(self)
    }
}

impl KeyWords for [u64; 5] {
    fn of(key: &Key) -> Self {
        key.v6_words()
    }
    fn key(self) -> Key {
        Key::from_v6_words(self)
    }
}

/// What a hit leaves in the entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Touch {
    /// Nothing (R-3, S-7).
    Not,
    /// The tick.
    Seen,
    /// The tick, and the mark that more than a first packet was seen (D-4).
    Confirm,
}

/// What a look-up says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Found {
    /// No live entry.
    #[default]
    Miss,
    /// A live one, and whether it is confirmed.
    Hit(Value, bool),
    /// Nobody can say without waiting: select, write nothing.
    Contended,
}

/// One key of a burst.
pub(super) struct Probe<const W: usize> {
    pub(super) key: [u64; W],
    place: Place,
    idle_ticks: u32,
    touch: Touch,
    /// Where in the batch its packet is.
    pub(super) packet: u8,
    lanes: u32,
    pub(super) hash: u64,
    pub(super) found: Found,
}

/// Where in a region an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position {
    pub(super) bucket: u32,
    pub(super) lane: usize,
}

/// One family's buckets.
pub(super) struct Region<const W: usize> {
    buckets: Slab<Bucket<W>>,
    count: u32,
    key: TableKey,
}

impl<const W: usize> Region<W> {
    /// Room for this many entries and an eighth. In simulation, placement with a threshold first
    /// failed at 90 % of the slots or later (200 trials with 36 and 352 buckets, 20 with 35 200,
    /// one each with a million and with 3.5 million); this many entries take 89 %.
    pub(super) fn new(entries: u32, pages: Pages, key: TableKey) -> io::Result<Self> {
        let count = Self::count_for(entries);
        Ok(Self { buckets: Slab::new(count as usize, pages)?, count, key })
    }

    /// Buckets for this many entries: fewer than 2^28, whatever their number.
    fn count_for(entries: u32) -> u32 {
        (u64::from(entries) * 9 / 8).div_ceil(LANES as u64).max(2) as u32
    }

    /// The bytes that this many entries take, tags and spare slots included.
    pub(super) fn bytes_of(entries: u32) -> usize {
        Self::count_for(entries) as usize * size_of::<Bucket<W>>()
    }

    /// The bytes that [`Region::new`] would map.
    pub(super) fn bytes_for(entries: u32) -> usize {
        Slab::<Bucket<W>>::bytes_for(Self::count_for(entries) as usize).unwrap_or(usize::MAX)
    }

    pub(super) fn bytes(&self) -> usize {
        self.buckets.bytes()
    }

    pub(super) fn buckets(&self) -> &[Bucket<W>] {
        &self.buckets
    }

    #[inline]
    pub(super) fn hash(&self, key: &[u64; W]) -> u64 {
        self.key.hash(key)
    }

    #[inline]
    pub(super) fn place(&self, hash: u64) -> Place {
        Place::of(hash, self.count)
    }

    /// A bucket of a [`Place`], which is below `count` by its making.
    #[inline]
    pub(super) fn bucket(&self, index: u32) -> &Bucket<W> {
        &self.buckets[index as usize]
    }

    /// A probe, with its first line asked for.
    #[inline]
    pub(super) fn probe(
        &self,
        key: [u64; W],
        idle_ticks: u32,
        touch: Touch,
        packet: u8,
    ) -> Probe<W> {
        let hash = self.hash(&key);
        let place = self.place(hash);
        self.bucket(place.home).tags.prefetch();
        Probe { key, place, idle_ticks, touch, packet, lanes: 0, hash, found: Found::Miss }
    }

    /// Answers a burst of probes. Each pass asks for the lines that the next one reads: the tags,
    /// the entry of the first equal tag or the other bucket's tags, that bucket's entry.
    pub(super) fn find(&self, probes: &mut [Probe<W>], view: View<'_>) {
        for probe in &mut *probes {
            let home = self.bucket(probe.place.home);
            probe.lanes = home.tags.matching(probe.place.tag);
            match probe.lanes {
                0 => self.bucket(probe.place.other).tags.prefetch(),
                lanes => home.prefetch_first(lanes),
            }
        }
        for probe in &mut *probes {
            probe.found = self.check(probe, probe.place.home, view);
            probe.lanes = 0;
            if probe.found == Found::Miss {
                let other = self.bucket(probe.place.other);
                probe.lanes = other.tags.matching(probe.place.tag);
                if probe.lanes != 0 {
                    other.prefetch_first(probe.lanes);
                }
            }
        }
        for probe in probes.iter_mut().filter(|p| p.lanes != 0) {
            probe.found = self.check(probe, probe.place.other, view);
        }
    }

    #[inline]
    fn check(&self, probe: &Probe<W>, bucket: u32, view: View<'_>) -> Found {
        let bucket = self.bucket(bucket);
        let mut found = Found::Miss;
        for lane in lanes(probe.lanes) {
            let entry = bucket.entry(lane);
            match entry.read() {
                Err(Busy) => found = Found::Contended,
                Ok(seen) if !same(&seen.key, &probe.key) => {}
                Ok(seen) => match view.judge(seen.value, seen.stamp, probe.idle_ticks) {
                    State::Dead => {}
                    State::Newer => return Found::Contended,
                    State::Live => {
                        self.touch(bucket, lane, &seen, probe.touch, view);
                        return hit(&seen);
                    }
                },
            }
        }
        found
    }

    /// Refreshes an entry; writes only what changes (D-3).
    #[inline]
    pub(super) fn touch(
        &self,
        bucket: &Bucket<W>,
        lane: usize,
        seen: &Snapshot<W>,
        touch: Touch,
        view: View<'_>,
    ) {
        let confirmed = seen.stamp.confirmed() || touch == Touch::Confirm;
        let new = Stamp::new(view.now, confirmed);
        if touch != Touch::Not && new != seen.stamp {
            bucket.entry(lane).touch(seen.stamp, new);
        }
    }
}

/// Equality of keys; `==` on arrays of this length calls memcmp (5 % of a look-up).
#[inline(always)]
fn same<const W: usize>(a: &[u64; W], b: &[u64; W]) -> bool {
    a.iter().zip(b).fold(0, |different, (a, b)| different | a ^ b) == 0
}

fn hit<const W: usize>(seen: &Snapshot<W>) -> Found {
    seen.value.map_or(Found::Miss, |value| Found::Hit(value, seen.stamp.confirmed()))
}
