//! Writing entries: in place, into a free lane, or over one that gives way.

use tables::SlotId;

use super::bucket::{Bucket, LANES, lanes};
use super::entry::{Busy, Locked, Snapshot};
use super::hash::Place;
use super::region::{KeyWords, Position, Region, Touch, same};
use super::sync::{Ordering, fence, pause};
use super::value::{Stamp, State, Value, View};

/// The home bucket is filled to this before the other is looked at: then nine of ten entries of a
/// full table, and all of one half full, are at home, where most have a line of their own; it costs
/// 2 % of the slots.
const HOME_FIRST: u32 = LANES as u32 * 3 / 4;

/// Tries at an entry that others are writing at the same time.
const ATTEMPTS: usize = 4;

/// An entry to write.
pub(super) struct New<const W: usize> {
    pub(super) key: [u64; W],
    pub(super) hash: u64,
    pub(super) value: Value,
    pub(super) confirmed: bool,
    /// Whether a live entry of this key is to be overwritten (T-1); else it stays and counts as
    /// found.
    pub(super) supersede: bool,
}

/// What became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    /// It was written where no live entry was.
    Created,
    /// It was written over a live, unconfirmed entry of another key (T-19).
    Evicted,
    /// It was written over the live entry of its key.
    Replaced,
    /// A live entry of its key was there and stays.
    Kept(SlotId),
    /// There is no room, or no allowance (T-19).
    Denied,
    /// Others are writing, or are on newer Tables.
    Contended,
}

/// An entry that may give way.
struct Victim<const W: usize> {
    at: Position,
    seen: Snapshot<W>,
    live: bool,
}

/// What became of an entry, as long as nobody else has written one of the same key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entered {
    written: Written,
    /// Where it was written and the sequence that it has: what is to be settled.
    at: Option<(Position, u32)>,
}

impl Entered {
    /// Whether there was no lane for it but another's.
    pub(super) fn was_pressed(&self) -> bool {
        matches!(self.written, Written::Evicted | Written::Denied)
    }
}

impl From<Written> for Entered {
    fn from(written: Written) -> Self {
        Self { written, at: None }
    }
}

/// What has to stand between publishing entries and [`Region::settle`]: of two workers' fences one
/// is first, and the other worker's looks then see what it published. One is enough for a burst.
pub(super) fn published() {
    fence(Ordering::SeqCst);
}

/// Somebody was faster: look again.
pub(super) struct Retry;

impl<const W: usize> Region<W>
where
    [u64; W]: KeyWords,
{
    /// Asks for the lines that [`Region::insert`] writes; the tags should be here already.
    pub(super) fn prefetch_insert(&self, hash: u64) {
        let place = self.place(hash);
        let home = self.bucket(place.home);
        let other = self.bucket(place.other);
        for bucket in [home, other] {
            let known = bucket.tags.matching(place.tag);
            if known != 0 {
                return bucket.prefetch_first(known);
            }
        }
        match self.free_lane(place) {
            Some(at) => self.bucket(at.bucket).prefetch(at.lane),
            // Where a victim is first looked for.
            None => home.prefetch(place.lane.into()),
        }
    }

    /// Asks for all entries of both buckets if a key must look for a victim there.
    pub(super) fn prefetch_victims(&self, hash: u64) {
        let place = self.place(hash);
        if self.free_lane(place).is_none() {
            self.bucket(place.home).prefetch_all();
            self.bucket(place.other).prefetch_all();
        }
    }

    /// Both halves at once: for one entry, off the packet path.
    pub(super) fn insert(
        &self,
        new: &New<W>,
        view: View<'_>,
        allowed: impl FnMut() -> bool,
    ) -> Written {
        let entered = self.enter(new, view, allowed);
        published();
        self.settle(new, &entered)
    }

    /// Writes an entry; [`published`] and [`Region::settle`] must follow. `allowed` is asked, once,
    /// before a key gets an entry that has none.
    pub(super) fn enter(
        &self,
        new: &New<W>,
        view: View<'_>,
        mut allowed: impl FnMut() -> bool,
    ) -> Entered {
        let mut allowance = None;
        for _ in 0..ATTEMPTS {
            match self.attempt(new, view, || *allowance.get_or_insert_with(&mut allowed)) {
                Ok(entered) => return entered,
                Err(Retry) => pause(),
            }
        }
        Written::Contended.into()
    }

    /// Leaves one entry of a key that was entered: what became of ours, now that others' are known.
    pub(super) fn settle(&self, new: &New<W>, entered: &Entered) -> Written {
        let Some((at, sequence)) = entered.at else { return entered.written };
        let stays = self.leave_one(self.place(new.hash), at, sequence, &new.key);
        if stays { entered.written } else { Written::Contended }
    }

    fn attempt(
        &self,
        new: &New<W>,
        view: View<'_>,
        allowed: impl FnOnce() -> bool,
    ) -> Result<Entered, Retry> {
        let place = self.place(new.hash);
        match self.seek(place, &new.key) {
            Ok(Some((at, seen))) => self.overwrite(at, &seen, new, view),
            Err(Busy) => Err(Retry),
            Ok(None) if !allowed() => Ok(Written::Denied.into()),
            Ok(None) => self.claim(place, new, view),
        }
    }

    /// The entry of a key, dead or live.
    fn seek(&self, place: Place, key: &[u64; W]) -> Result<Option<(Position, Snapshot<W>)>, Busy> {
        let mut busy = false;
        for at in self.positions(place) {
            match self.bucket(at.bucket).entry(at.lane).read() {
                Ok(seen) if same(&seen.key, key) => return Ok(Some((at, seen))),
                Ok(_) => {}
                Err(Busy) => busy = true,
            }
        }
        if busy { Err(Busy) } else { Ok(None) }
    }

    /// Where the tag of a place is found, its home first.
    fn positions(&self, place: Place) -> impl Iterator<Item = Position> {
        [place.home, place.other].into_iter().flat_map(move |bucket| {
            lanes(self.bucket(bucket).tags.matching(place.tag))
                .map(move |lane| Position { bucket, lane })
        })
    }

    /// Deals with the entry that a key has.
    pub(super) fn overwrite(
        &self,
        at: Position,
        seen: &Snapshot<W>,
        new: &New<W>,
        view: View<'_>,
    ) -> Result<Entered, Retry> {
        let state = view.judge_of(new.key.key().service(), seen.value, seen.stamp);
        match state {
            State::Newer => Ok(Written::Contended.into()),
            State::Live if !new.supersede => {
                let entry = self.bucket(at.bucket).entry(at.lane);
                self.touch(entry, seen, Touch::Confirm, view);
                Ok(Written::Kept(seen.value.slot()).into())
            }
            State::Live => self.write(at, seen, new, view, Written::Replaced),
            State::Dead => self.write(at, seen, new, view, Written::Created),
        }
    }

    /// Gives a key without an entry one.
    fn claim(&self, place: Place, new: &New<W>, view: View<'_>) -> Result<Entered, Retry> {
        if let Some(at) = self.free_lane(place) {
            let bucket = self.bucket(at.bucket);
            let seen = bucket.entry(at.lane).read().map_err(|Busy| Retry)?;
            // Tags change under the sequence only: free now, free when `write` has taken it.
            if !bucket.tags.is_free(at.lane) {
                return Err(Retry);
            }
            return self.write(at, &seen, new, view, Written::Created);
        }
        match self.victim(place, view) {
            None => Ok(Written::Denied.into()),
            Some(Victim { at, seen, live: false }) => {
                self.write(at, &seen, new, view, Written::Created)
            }
            Some(Victim { at, seen, live: true }) => {
                self.write(at, &seen, new, view, Written::Evicted)
            }
        }
    }

    /// The free lane for a key: its own if that is free, for look-ups go there first.
    fn free_lane(&self, place: Place) -> Option<Position> {
        let home = self.bucket(place.home).tags.free();
        let lane_of = |bucket, free| {
            let lane = Bucket::<W>::nearest(free, place.lane.into())?;
            Some(Position { bucket, lane })
        };
        if LANES as u32 - home.count_ones() <= HOME_FIRST {
            return lane_of(place.home, home);
        }
        let other = self.bucket(place.other).tags.free();
        if other.count_ones() > home.count_ones() {
            return lane_of(place.other, other);
        }
        lane_of(place.home, home)
    }

    /// Of both buckets: a dead entry, the one in the key's own lane before the others, else the
    /// oldest unconfirmed one. At most two buckets' lines are read, all asked for at once.
    fn victim(&self, place: Place, view: View<'_>) -> Option<Victim<W>> {
        let own = Position { bucket: place.home, lane: place.lane.into() };
        if let Some((victim, _)) = self.give_way(own, view)
            && !victim.live
        {
            return Some(victim);
        }
        let buckets = [place.home, place.other];
        buckets.iter().for_each(|bucket| self.bucket(*bucket).prefetch_all());
        let mut oldest: Option<(u32, Victim<W>)> = None;
        for bucket in buckets {
            for lane in 0..LANES {
                match self.give_way(Position { bucket, lane }, view) {
                    Some((victim, _)) if !victim.live => return Some(victim),
                    Some((victim, age)) if oldest.as_ref().is_none_or(|(o, _)| age > *o) => {
                        oldest = Some((age, victim));
                    }
                    _ => {}
                }
            }
        }
        oldest.map(|(_, victim)| victim)
    }

    /// An entry that is dead or unconfirmed, and its age in ticks.
    #[inline(always)]
    fn give_way(&self, at: Position, view: View<'_>) -> Option<(Victim<W>, u32)> {
        let seen = self.bucket(at.bucket).entry(at.lane).read().ok()?;
        let state = view.judge_of(seen.key.key().service(), seen.value, seen.stamp);
        if state == State::Newer || state == State::Live && seen.stamp.confirmed() {
            return None;
        }
        let live = state == State::Live;
        Some((Victim { at, seen, live }, view.now.since(seen.stamp.seen())))
    }

    /// Writes the entry at `at` if it is still as `seen`, a refresh included.
    fn write(
        &self,
        at: Position,
        seen: &Snapshot<W>,
        new: &New<W>,
        view: View<'_>,
        written: Written,
    ) -> Result<Entered, Retry> {
        let bucket = self.bucket(at.bucket);
        let locked = self.take(at, seen, written == Written::Replaced).ok_or(Retry)?;
        let sequence = locked.next_sequence();
        locked.write(&new.key, new.value.pack(), Stamp::new(view.now, new.confirmed));
        bucket.tags.set(at.lane, self.place(new.hash).tag);
        Ok(Entered { written, at: Some((at, sequence)) })
    }

    /// The right to write the entry at `at` if nobody has written it since `seen`, or if
    /// `refreshed_too`, refreshed it.
    fn take(&self, at: Position, seen: &Snapshot<W>, refreshed_too: bool) -> Option<Locked<'_, W>> {
        let locked = self.bucket(at.bucket).entry(at.lane).lock(seen.sequence)?;
        if refreshed_too || locked.stamp() == seen.stamp {
            return Some(locked);
        }
        let sequence = locked.next_sequence();
        drop(locked);
        // Who met the odd sequence left this key to us.
        published();
        self.leave_one(self.place(self.hash(&seen.key)), at, sequence, &seen.key);
        None
    }

    /// Frees the lane of a dead entry, unless it was written or refreshed since; says whether.
    pub(super) fn reclaim(&self, at: Position, seen: &Snapshot<W>) -> bool {
        let taken = self.take(at, seen, false);
        taken.map(|locked| self.free(at, &locked)).is_some()
    }

    /// Of several entries of one key the one at the lowest position stays; says whether that is
    /// ours. Everyone who has written an entry comes through here behind [`published`], so whoever
    /// is last sees all of them (the argument is at the head of the module).
    fn leave_one(&self, place: Place, ours: Position, sequence: u32, key: &[u64; W]) -> bool {
        for theirs in self.positions(place).filter(|p| *p != ours) {
            match self.bucket(theirs.bucket).entry(theirs.lane).read() {
                Ok(seen) if same(&seen.key, key) && ours < theirs => {
                    self.kill(theirs, seen.sequence)
                }
                Ok(seen) if same(&seen.key, key) => {
                    self.kill(ours, sequence);
                    return false;
                }
                _ => {}
            }
        }
        true
    }

    /// Frees a lane, unless somebody has written its entry since: then that is theirs to settle.
    pub(super) fn kill(&self, at: Position, sequence: u32) {
        if let Some(locked) = self.bucket(at.bucket).entry(at.lane).lock(sequence) {
            self.free(at, &locked);
        }
    }

    fn free(&self, at: Position, locked: &Locked<'_, W>) {
        self.bucket(at.bucket).tags.clear(at.lane);
        locked.write(&[0; W], 0, Stamp(0));
    }
}
