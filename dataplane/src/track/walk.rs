//! Reading the whole table from the side: for counting and listing, never for a packet.

use tables::{Key, Tables, Tick};

use super::bucket::{LANES, lanes};
use super::entry::Snapshot;
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

impl ConnectionTable {
    /// Calls `visit` for each entry that is live by these Tables at `now`, IPv4 first. Workers go
    /// on meanwhile: an entry that is written at that very moment may be missed.
    pub fn for_each_live(&self, tables: &Tables, now: Tick, mut visit: impl FnMut(EntryView)) {
        let view = View { tables, now };
        self.v4.for_each(view, |_, seen, state| visit_live(seen, state, &mut visit));
        self.v6.for_each(view, |_, seen, state| visit_live(seen, state, &mut visit));
    }

    /// How many entries are live by these Tables at `now`.
    pub fn count_live(&self, tables: &Tables, now: Tick) -> usize {
        let mut count = 0;
        self.for_each_live(tables, now, |_| count += 1);
        count
    }

    /// Frees the lanes of dead entries and says how many; workers reuse those by themselves, but
    /// a table that is swept now and then saves them the search.
    pub fn sweep(&self, tables: &Tables, now: Tick) -> usize {
        let view = View { tables, now };
        self.v4.sweep(view) + self.v6.sweep(view)
    }
}

fn visit_live<const W: usize>(seen: &Snapshot<W>, state: State, visit: &mut impl FnMut(EntryView))
where
    [u64; W]: KeyWords,
{
    if let (State::Live, Some(value)) = (state, seen.value) {
        visit(EntryView {
            key: seen.key.key(),
            value,
            last_seen: seen.stamp.seen(),
            confirmed: seen.stamp.confirmed(),
        });
    }
}

impl<const W: usize> Region<W>
where
    [u64; W]: KeyWords,
{
    fn sweep(&self, view: View<'_>) -> usize {
        let mut swept = 0;
        self.for_each(view, |at, seen, state| {
            if state == State::Dead {
                self.kill(at, seen.sequence);
                swept += 1;
            }
        });
        swept
    }

    fn for_each(&self, view: View<'_>, mut visit: impl FnMut(Position, &Snapshot<W>, State)) {
        for (index, bucket) in (0..).zip(self.buckets()) {
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
