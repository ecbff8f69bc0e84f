//! How Tables reach the workers and are freed (D-5): quiescent-state reclamation.
//!
//! One [`Publisher`] on the control thread holds the current value; each worker has a [`Reader`]
//! and asks it for the value once a burst. Asking again is the worker's quiescent point: it says
//! that nothing from before is in use any more, and the borrow that [`Reader::current`] returns
//! makes the compiler see to that. A replaced value is *retired* and freed by the publisher once
//! every reader has passed such a point, or is offline. In the steady state asking costs two loads
//! of one cache line that nobody writes: no lock, no read-modify-write, no store.
//!
//! # Why it is sound
//!
//! Publication number e swaps the pointer (release) and then stores e as the epoch (release). The
//! value that it replaced is retired with the tag e. A reader announces an epoch in `seen`; a value
//! of tag t is freed only when every reader's `seen` is at least t, being offline counting as more
//! than any epoch. Call P(e) the value of publication e: its tag is at least e + 1.
//!
//! 1. *An online reader only holds values newer than what it lets go.* It loads the epoch e
//!    (acquire), announces e, and loads the pointer. The acquire orders the pointer load after
//!    publication e, so it gets P(e) or a later one, of a tag above e. Between the two, `seen` is
//!    an older epoch, which protects even more. So the announcement needs no fence.
//! 2. *What it lets go, it no longer uses.* References into older values ended before the
//!    announcement (release), which the publisher loads (acquire) before it frees.
//! 3. *Coming online* is the one step where protection grows: the publisher could free what the
//!    reader is just loading. The reader stores `seen`, then a sequentially consistent fence, then
//!    loads the pointer; the publisher swaps the pointer, then the same kind of fence, then loads
//!    `seen`. One fence is first: either the publisher sees the reader online, or the reader sees
//!    the new pointer. A stale epoch in this announcement only protects more.
//! 4. *A dropped reader* announces "gone" (release) as its last act; the publisher forgets it only
//!    on loading that (acquire).
//! 5. *The values outlive every reader*: they are owned by the shared part, which readers own too.
//!
//! `tests/loom_publish.rs` tries all interleavings of small cases.

use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use crossbeam_utils::CachePadded;

use crate::sync::{self, AtomicPtr, AtomicU64, Mutex, MutexGuard, Ordering, fence};

/// `seen` of a reader that holds nothing. More than any epoch.
const OFFLINE: u64 = u64::MAX - 1;
/// `seen` of a reader that was dropped.
const GONE: u64 = u64::MAX;

/// How often [`Publisher::publish_within`] looks.
const PAUSE: Duration = Duration::from_micros(200);

struct Shared<T> {
    latest: CachePadded<Latest<T>>,
    owned: Mutex<Owned<T>>,
}

/// What readers load, on a cache line of its own.
struct Latest<T> {
    /// Counts publications, from 1.
    epoch: AtomicU64,
    /// Points into `Owned::current`.
    pointer: AtomicPtr<T>,
}

/// What keeps the values alive. Only the publisher locks it.
struct Owned<T> {
    current: Arc<T>,
    retired: Vec<Retired<T>>,
    readers: Vec<sync::Arc<Announcement>>,
}

struct Retired<T> {
    /// The epoch from which on no reader gets it.
    tag: u64,
    value: Arc<T>,
}

struct Announcement {
    name: Arc<str>,
    seen: CachePadded<AtomicU64>,
}

/// The control side: publishes values and frees old ones.
pub struct Publisher<T> {
    shared: sync::Arc<Shared<T>>,
    max_retired: usize,
}

/// A worker's side. It can move to the worker's thread, but is of one thread at a time.
pub struct Reader<T> {
    shared: sync::Arc<Shared<T>>,
    announcement: sync::Arc<Announcement>,
    /// What was last announced.
    seen: u64,
    one_thread: PhantomData<std::cell::Cell<()>>,
}

/// A value was not published, because as many retired ones as are allowed wait for readers.
#[derive(thiserror::Error)]
#[error("{} still use retired tables", lagging.join(", "))]
pub struct Refused<T> {
    /// The value, given back.
    pub value: Arc<T>,
    /// The names of the readers that are waited for.
    pub lagging: Vec<Arc<str>>,
}

/// A retired value that is still in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldBack {
    /// Which publication replaced it, counted from 2.
    pub publication: u64,
    /// The names of the readers that use it.
    pub readers: Vec<Arc<str>>,
}

impl<T> fmt::Debug for Refused<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Refused").field("lagging", &self.lagging).finish_non_exhaustive()
    }
}

impl<T> Publisher<T> {
    /// Starts with a value. At most `max_retired` replaced ones (at least 1) wait to be freed.
    pub fn new(value: impl Into<Arc<T>>, max_retired: usize) -> Self {
        let current: Arc<T> = value.into();
        let latest =
            Latest { epoch: AtomicU64::new(1), pointer: AtomicPtr::new(pointer(&current)) };
        let owned = Owned { current, retired: Vec::new(), readers: Vec::new() };
        let shared = Shared { latest: CachePadded::new(latest), owned: Mutex::new(owned) };
        Self { shared: sync::Arc::new(shared), max_retired: max_retired.max(1) }
    }

    /// A new reader, offline. Its name is for [`Publisher::lagging`].
    pub fn reader(&self, name: impl Into<Arc<str>>) -> Reader<T> {
        let seen = CachePadded::new(AtomicU64::new(OFFLINE));
        let announcement = sync::Arc::new(Announcement { name: name.into(), seen });
        self.owned().readers.push(announcement.clone());
        let shared = self.shared.clone();
        Reader { shared, announcement, seen: OFFLINE, one_thread: PhantomData }
    }

    /// The value that was published last.
    pub fn current(&self) -> Arc<T> {
        self.owned().current.clone()
    }

    /// Publishes a value, unless too many retired ones wait: then the caller, who gets it back,
    /// may go on collecting changes into a newer one (D-5).
    pub fn try_publish(&self, value: impl Into<Arc<T>>) -> Result<(), Refused<T>> {
        let value = value.into();
        if self.collect() >= self.max_retired {
            return Err(Refused { value, lagging: self.lagging() });
        }
        self.replace(value);
        self.collect();
        Ok(())
    }

    /// The same, but waits for readers for as long as `patience`.
    pub fn publish_within(
        &self,
        value: impl Into<Arc<T>>,
        patience: Duration,
    ) -> Result<(), Refused<T>> {
        let started = Instant::now();
        let mut value = value.into();
        loop {
            match self.try_publish(value) {
                Err(refused) if started.elapsed() < patience => value = refused.value,
                done => return done,
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Frees every retired value that no reader can hold. Returns how many are left.
    pub fn collect(&self) -> usize {
        let mut owned = self.owned();
        let oldest = owned.oldest_seen();
        let free = owned.retired.extract_if(.., |retired| retired.tag <= oldest);
        let free: Vec<_> = free.map(|retired| retired.value).collect();
        let left = owned.retired.len();
        // Dropping a value may take long, or come back here.
        drop(owned);
        drop(free);
        left
    }

    /// The names of the readers that keep retired values from being freed.
    pub fn lagging(&self) -> Vec<Arc<str>> {
        let owned = self.owned();
        let newest = owned.retired.iter().map(|retired| retired.tag).max().unwrap_or(0);
        let lagging = owned.readers.iter().filter(|r| r.seen.load(Ordering::Acquire) < newest);
        lagging.map(|reader| reader.name.clone()).collect()
    }

    /// Who keeps the oldest retired value from being freed, if anyone does. The publication is the
    /// same for as long as it is the same value: how long that lasts is for the caller to watch.
    pub fn held_back(&self) -> Option<HeldBack> {
        let owned = self.owned();
        let publication = owned.retired.iter().map(|retired| retired.tag).min()?;
        let holding = owned.readers.iter().filter(|r| r.seen.load(Ordering::Acquire) < publication);
        let readers: Vec<_> = holding.map(|reader| reader.name.clone()).collect();
        (!readers.is_empty()).then_some(HeldBack { publication, readers })
    }

    fn replace(&self, value: Arc<T>) {
        let mut owned = self.owned();
        let latest = &self.shared.latest;
        let tag = latest.epoch.load(Ordering::Relaxed) + 1;
        latest.pointer.store(pointer(&value), Ordering::Release);
        latest.epoch.store(tag, Ordering::Release);
        let value = std::mem::replace(&mut owned.current, value);
        owned.retired.push(Retired { tag, value });
    }

    /// A panic elsewhere leaves nothing half done here, so a poisoned lock is a good one.
    fn owned(&self) -> MutexGuard<'_, Owned<T>> {
        self.shared.owned.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Owned<T> {
    /// The oldest epoch that a reader is at. Forgets readers that are gone.
    fn oldest_seen(&mut self) -> u64 {
        // The publisher's fence of point 3: after the swap of every value retired so far.
        fence(Ordering::SeqCst);
        let mut oldest = GONE;
        self.readers.retain(|reader| {
            let seen = reader.seen.load(Ordering::Acquire);
            oldest = oldest.min(seen);
            seen != GONE
        });
        oldest
    }
}

impl<T> Reader<T> {
    /// The latest value. What an earlier call gave is no longer in use: a quiescent point. Comes
    /// online if it was offline.
    #[inline]
    pub fn current(&mut self) -> &T {
        let epoch = self.shared.latest.epoch.load(Ordering::Acquire);
        if epoch != self.seen {
            self.announce(epoch);
        }
        let pointer = self.shared.latest.pointer.load(Ordering::Acquire);
        // SAFETY: the pointer came from an `Arc` in `Owned`, so it is aligned and initialised, and
        // `T` is only ever borrowed shared. It stays valid for as long as the returned borrow of
        // `self` lasts: `seen` is at most the epoch loaded above, so the value's tag is above
        // `seen` (points 1 and 3), the publisher frees nothing of a tag above `seen`, and `seen`
        // only changes through `&mut self`. Should the publisher be dropped, `Shared`, which we
        // own a part of, keeps the value (point 5). A reader that is leaked keeps it for good.
        unsafe { &*pointer }
    }

    /// Says that this reader holds nothing until it next calls [`Reader::current`]: before a
    /// worker sleeps.
    pub fn offline(&mut self) {
        self.seen = OFFLINE;
        self.announcement.seen.store(OFFLINE, Ordering::Release);
    }

    #[cold]
    fn announce(&mut self, epoch: u64) {
        self.announcement.seen.store(epoch, Ordering::Release);
        if self.seen == OFFLINE {
            // The reader's fence of point 3.
            fence(Ordering::SeqCst);
        }
        self.seen = epoch;
    }
}

impl<T> Drop for Reader<T> {
    fn drop(&mut self) {
        self.announcement.seen.store(GONE, Ordering::Release);
    }
}

impl<T> fmt::Debug for Publisher<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Publisher").field("lagging", &self.lagging()).finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for Reader<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("name", &self.announcement.name).finish_non_exhaustive()
    }
}

fn pointer<T>(value: &Arc<T>) -> *mut T {
    Arc::as_ptr(value).cast_mut()
}

#[cfg(all(test, not(loom)))]
mod tests;
