//! The buckets of one address family, and how keys are found in them.

use std::io;

use arrayvec::ArrayVec;
use tables::Key;

use super::bucket::{Bucket, LANES, lanes};
use super::entry::{Entry, Snapshot};
use super::hash::{Place, TableKey};
use super::mem::{Pages, Slab};
use super::value::{Stamp, State, Value, View};
use crate::batch::BURST;

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

/// What a look-up is told beside the key.
#[derive(Clone, Copy, Debug)]
pub(super) struct About {
    /// The age at which an entry has expired.
    pub(super) idle_ticks: u32,
    pub(super) touch: Touch,
    /// Where in the batch its packet is.
    pub(super) packet: u8,
}

/// One key of a burst.
pub(super) struct Probe<const W: usize> {
    key: [u64; W],
    pub(super) hash: u64,
    pub(super) about: About,
    pub(super) found: Found,
}

/// Where in a region an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position {
    pub(super) bucket: u32,
    pub(super) lane: usize,
}

/// What one entry says about a key.
enum Answer {
    /// It is its live entry.
    Hit(Found),
    /// It is another's, or dead.
    Nothing,
    /// Somebody is writing it.
    Busy,
    /// It is its entry, and of newer Tables.
    Newer,
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

    /// Asks for the tags of both buckets.
    #[inline]
    pub(super) fn prefetch_tags(&self, hash: u64) {
        let place = self.place(hash);
        self.bucket(place.home).tags.prefetch();
        self.bucket(place.other).tags.prefetch();
    }

    /// Whether no entry has this hash's tag, and so none its key.
    #[inline]
    pub(super) fn lacks(&self, hash: u64) -> bool {
        let place = self.place(hash);
        let lanes = |bucket| self.bucket(bucket).tags.matching(place.tag);
        lanes(place.home) | lanes(place.other) == 0
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

    /// A probe, with the lines asked for that an answer may take: both buckets' tags, and the entry
    /// that most keys have.
    #[inline]
    pub(super) fn probe(&self, key: [u64; W], about: About) -> Probe<W> {
        let hash = self.hash(&key);
        let place = self.place(hash);
        let home = self.bucket(place.home);
        home.prefetch(place.lane.into());
        home.tags.prefetch();
        self.bucket(place.other).tags.prefetch();
        Probe { key, hash, about, found: Found::Miss }
    }

    /// Answers a burst of probes, at most 32. In which lane a key is, nothing foretells: a branch on
    /// it would be guessed before the tags have come, and every wrong guess would wait for them. So
    /// each key's likeliest entry is asked for without one, and only then are they compared.
    pub(super) fn find(&self, probes: &mut [Probe<W>], view: View<'_>) {
        let mut likely = ArrayVec::<_, BURST>::new();
        for probe in probes.iter() {
            // A burst has no more probes than there is room for.
            let _ = likely.try_push(self.likeliest(self.place(probe.hash)));
        }
        let mut unsure = 0_u32;
        for ((probe, entry), bit) in probes.iter_mut().zip(likely).zip(0..) {
            let Some(entry) = entry else { continue };
            match self.check_entry(probe, entry, view) {
                Answer::Hit(found) => probe.found = found,
                Answer::Nothing | Answer::Busy | Answer::Newer => unsure |= 1 << bit,
            }
        }
        if unsure != 0 {
            self.check_all(probes, unsure, view);
        }
    }

    /// The first entry with a place's tag, the home's before the other's, asked for without a branch.
    #[inline(always)]
    fn likeliest(&self, place: Place) -> Option<&Entry<W>> {
        let (home, other) = (self.bucket(place.home), self.bucket(place.other));
        let (at_home, elsewhere) = (home.tags.matching(place.tag), other.tags.matching(place.tag));
        let (bucket, lanes) = if at_home != 0 { (home, at_home) } else { (other, elsewhere) };
        let entry = bucket.entry(lanes.trailing_zeros() as usize);
        entry.prefetch();
        (lanes != 0).then_some(entry)
    }

    /// Answers the probes in `which` by all entries with their tag: the likeliest was another's, or
    /// dead, or being written.
    #[cold]
    #[inline(never)]
    fn check_all(&self, probes: &mut [Probe<W>], which: u32, view: View<'_>) {
        for index in lanes(which) {
            let Some(probe) = probes.get_mut(index) else { break };
            let place = self.place(probe.hash);
            for bucket in [place.home, place.other] {
                if probe.found == Found::Miss {
                    let lanes = self.bucket(bucket).tags.matching(place.tag);
                    probe.found = self.check(probe, bucket, lanes, view);
                }
            }
        }
    }

    #[inline]
    fn check(&self, probe: &Probe<W>, bucket: u32, which: u32, view: View<'_>) -> Found {
        let bucket = self.bucket(bucket);
        let mut found = Found::Miss;
        for lane in lanes(which) {
            match self.check_entry(probe, bucket.entry(lane), view) {
                Answer::Hit(found) => return found,
                Answer::Newer => return Found::Contended,
                Answer::Busy => found = Found::Contended,
                Answer::Nothing => {}
            }
        }
        found
    }

    /// What one entry says about a key: nothing if it is another's or dead.
    #[inline(always)]
    fn check_entry(&self, probe: &Probe<W>, entry: &Entry<W>, view: View<'_>) -> Answer {
        let Ok(seen) = entry.read() else { return Answer::Busy };
        if !same(&seen.key, &probe.key) {
            return Answer::Nothing;
        }
        match view.judge(seen.value, seen.stamp, probe.about.idle_ticks) {
            State::Dead => Answer::Nothing,
            State::Newer => Answer::Newer,
            State::Live => {
                self.touch(entry, &seen, probe.about.touch, view);
                Answer::Hit(Found::Hit(seen.value, seen.stamp.confirmed()))
            }
        }
    }

    /// Refreshes an entry; writes only what changes (D-3).
    #[inline]
    pub(super) fn touch(&self, entry: &Entry<W>, seen: &Snapshot<W>, touch: Touch, view: View<'_>) {
        let confirmed = seen.stamp.confirmed() || touch == Touch::Confirm;
        let new = Stamp::new(view.now, confirmed);
        if touch != Touch::Not && new != seen.stamp {
            entry.touch(seen.stamp, new);
        }
    }
}

/// Equality of keys; `==` on arrays of this length calls memcmp (5 % of a look-up).
#[inline(always)]
pub(super) fn same<const W: usize>(a: &[u64; W], b: &[u64; W]) -> bool {
    a.iter().zip(b).fold(0, |different, (a, b)| different | a ^ b) == 0
}
