//! The control loop's rounds through the connection table: dead entries are freed, live ones
//! counted, a slice at a time.

use std::sync::Arc;
use std::time::Duration;

use dataplane::track::{Census, ConnectionTable, Upkeep};
use tables::{Tables, Tick};

use crate::listing::Counted;

/// Goes round the connection table, never long at a time.
pub(crate) struct Rounds {
    table: Arc<ConnectionTable>,
    upkeep: Upkeep,
    /// Buckets at a time.
    slice: usize,
    due: Duration,
    latest: Option<Arc<Counted>>,
}

impl Rounds {
    const PAUSE: Duration = Duration::from_millis(250);
    /// A round takes half a minute,
    const SLICES: usize = 120;
    /// less where a millisecond a slice is enough for that,
    const LEAST: usize = 1_024;
    /// and more with over 50 million entries: so many buckets take a fiftieth of a second.
    const MOST: usize = 16_384;

    pub(crate) fn new(table: Arc<ConnectionTable>) -> Self {
        let slice = Self::slice_of(table.buckets());
        Self { table, upkeep: Upkeep::default(), slice, due: Duration::ZERO, latest: None }
    }

    fn slice_of(buckets: usize) -> usize {
        buckets.div_ceil(Self::SLICES).clamp(Self::LEAST, Self::MOST)
    }

    /// Does a slice if one is due.
    pub(crate) fn advance(&mut self, tables: &Tables, now: Duration) {
        if now >= self.due {
            self.due = now + Self::PAUSE;
            let tick = Tick::after(now, Tick::LENGTH);
            if self.upkeep.step(&self.table, tables, tick, self.slice) {
                self.latest = self.upkeep.latest().cloned().map(|census| Arc::new(Counted(census)));
            }
        }
    }

    /// What the last whole round counted.
    pub(crate) fn latest(&self) -> Option<&Arc<Counted>> {
        self.latest.as_ref()
    }

    /// How long until one is due.
    pub(crate) fn wait(&self, now: Duration) -> Duration {
        self.due.saturating_sub(now)
    }

    /// What the last round counted, in words.
    pub(crate) fn summary(&self, now: Duration) -> String {
        let Some(census) = self.upkeep.latest() else {
            return "connections: the first count is not done\n".into();
        };
        let age = Tick::LENGTH * census.age(Tick::after(now, Tick::LENGTH));
        let Census { v4, v6, confirmed, .. } = census;
        format!(
            "connections: {v4} IPv4, {v6} IPv6; {confirmed} have seen more than one packet (counted up to {} s ago)\n",
            age.as_secs_f32().ceil()
        )
    }
}

#[cfg(test)]
mod tests {
    use dataplane::track::{Pages, TableKey};

    use super::*;

    #[test]
    fn a_round_is_done_a_slice_at_a_time_and_says_how_old_its_figures_are() {
        let table = ConnectionTable::new(100_000, 1_000, Pages::Off, TableKey::fixed(1));
        let mut rounds = Rounds::new(Arc::new(table.expect("maps")));
        let tables = Tables::default();
        let mut now = Duration::ZERO;
        while rounds.upkeep.latest().is_none() {
            assert!(rounds.summary(now).contains("not done"));
            rounds.advance(&tables, now);
            rounds.advance(&tables, now);
            now += rounds.wait(now);
        }
        assert_eq!(now, 4 * Rounds::PAUSE, "3,552 buckets");
        let expected = "connections: 0 IPv4, 0 IPv6; 0 have seen more than one packet (counted up to 30 s ago)\n";
        assert_eq!(rounds.summary(Duration::from_secs(30)), expected);
    }

    #[test]
    fn a_round_takes_half_a_minute_at_most_unless_the_table_is_huge() {
        for (entries, slices) in
            [(1_000, 1), (1_000_000, 35), (50_000_000, 120), (100_000_000, 215)]
        {
            let buckets = entries * 9_usize / 8 / 32;
            assert_eq!(buckets.div_ceil(Rounds::slice_of(buckets)), slices, "{entries} entries");
        }
    }
}
