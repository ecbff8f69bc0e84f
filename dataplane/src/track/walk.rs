//! Reading the table from the side: for listing and for upkeep, never for a packet.

use std::ops::Range;

use tables::{Key, Tables, Tick};

use super::bucket::{LANES, lanes};
use super::entry::Snapshot;
use super::filter::Filter;
use super::region::{KeyWords, Position, Region};
use super::sync::pause;
use super::table::ConnectionTable;
use super::value::{State, Value, View};

/// One live entry, as it was at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryView {
    /// The tracking key; its service is [`Key::service`].
    pub key: Key,
    /// The backend.
    pub value: Value,
    /// The tick of the last packet that matched.
    pub last_seen: Tick,
    /// Whether more than its first packet was seen (D-4).
    pub confirmed: bool,
}

/// Where a walk goes on: through IPv4's buckets, then through IPv6's. The default is the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor(usize);

/// The buckets of one call.
pub(super) struct Span {
    pub(super) v4: Range<usize>,
    pub(super) v6: Range<usize>,
    pub(super) next: Option<Cursor>,
}

impl ConnectionTable {
    /// How many buckets a whole walk reads.
    pub fn buckets(&self) -> usize {
        self.v4.buckets().len() + self.v6.buckets().len()
    }

    /// Calls `visit` for each entry of the next `buckets` buckets (at least 1) that is live by
    /// these Tables at `now` and that `filter` takes. Returns where to go on, `None` at the end.
    ///
    /// Workers go on meanwhile: an entry that stays where it is all the time is visited exactly
    /// once; one that is made, moved or written at that very moment may be missed.
    pub fn walk(
        &self,
        from: Cursor,
        buckets: usize,
        filter: &Filter,
        (tables, now): (&Tables, Tick),
        mut visit: impl FnMut(EntryView),
    ) -> Option<Cursor> {
        let (span, view) = (self.span(from, buckets), View { tables, now });
        let mut visit = |entry: EntryView| {
            if filter.takes(&entry) {
                visit(entry);
            }
        };
        self.v4.for_each(span.v4, view, |_, seen, state| visit_live(seen, state, &mut visit));
        self.v6.for_each(span.v6, view, |_, seen, state| visit_live(seen, state, &mut visit));
        span.next
    }

    /// [`ConnectionTable::walk`] from end to end, without a filter or a pause.
    pub fn for_each_live(&self, tables: &Tables, now: Tick, visit: impl FnMut(EntryView)) {
        let all = Filter::default();
        self.walk(Cursor::default(), usize::MAX, &all, (tables, now), visit);
    }

    /// How many entries are live by these Tables at `now`.
    pub fn count_live(&self, tables: &Tables, now: Tick) -> usize {
        let mut count = 0;
        self.for_each_live(tables, now, |_| count += 1);
        count
    }

    pub(super) fn span(&self, from: Cursor, buckets: usize) -> Span {
        let (v4, all) = (self.v4.buckets().len(), self.buckets());
        let start = from.0.min(all);
        let end = start.saturating_add(buckets.max(1)).min(all);
        Span {
            v4: start.min(v4)..end.min(v4),
            v6: start.saturating_sub(v4)..end.saturating_sub(v4),
            next: (end < all).then_some(Cursor(end)),
        }
    }
}

pub(super) fn visit_live<const W: usize>(
    seen: &Snapshot<W>,
    state: State,
    visit: &mut impl FnMut(EntryView),
) where
    [u64; W]: KeyWords,
{
    if state == State::Live {
        visit(EntryView {
            key: seen.key.key(),
            value: seen.value,
            last_seen: seen.stamp.seen(),
            confirmed: seen.stamp.confirmed(),
        });
    }
}

impl<const W: usize> Region<W>
where
    [u64; W]: KeyWords,
{
    /// Calls `visit` for each entry of some buckets, with how it stands.
    pub(super) fn for_each(
        &self,
        buckets: Range<usize>,
        view: View<'_>,
        mut visit: impl FnMut(Position, &Snapshot<W>, State),
    ) {
        let first = buckets.start as u32;
        for (index, bucket) in (first..).zip(self.buckets().get(buckets).unwrap_or_default()) {
            let taken = !bucket.tags.free();
            for lane in lanes(taken).take_while(|lane| *lane < LANES) {
                let Some(seen) = read_patiently(|| bucket.entry(lane).read().ok()) else {
                    continue;
                };
                let state = view.judge_of(seen.key.key().service(), seen.value, seen.stamp);
                visit(Position { bucket: index, lane }, &seen, state);
            }
        }
    }
}

/// A writer is done in a few instructions, unless it was interrupted.
fn read_patiently<T>(mut read: impl FnMut() -> Option<T>) -> Option<T> {
    (0..100).find_map(|_| {
        let value = read();
        if value.is_none() {
            pause();
        }
        value
    })
}
