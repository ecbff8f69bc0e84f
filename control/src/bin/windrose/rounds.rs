//! The control loop's rounds through the connection table: dead entries are freed, live ones
//! counted, a slice at a time.

use std::sync::Arc;
use std::time::Duration;

use dataplane::track::{Census, ConnectionTable, Upkeep};
use tables::{Tables, Tick};

/// Goes round the connection table, never long at a time.
pub(crate) struct Rounds {
    table: Arc<ConnectionTable>,
    upkeep: Upkeep,
    /// Buckets at a time.
    slice: usize,
    due: Duration,
}

impl Rounds {
    const PAUSE: Duration = Duration::from_millis(250);
    /// A round of this many slices takes half a minute,
    const SLICES: usize = 120;
    /// unless the table has more than 50 million entries: reading so many buckets takes a fiftieth
    /// of a second.
    const MOST: usize = 16_384;

    pub(crate) fn new(table: Arc<ConnectionTable>) -> Self {
        let slice = table.buckets().div_ceil(Self::SLICES).clamp(1, Self::MOST);
        Self { table, upkeep: Upkeep::default(), slice, due: Duration::ZERO }
    }

    /// Does a slice if one is due.
    pub(crate) fn advance(&mut self, tables: &Tables, now: Duration) {
        if now >= self.due {
            self.due = now + Self::PAUSE;
            let tick = Tick::after(now, Tick::LENGTH);
            self.upkeep.step(&self.table, tables, tick, self.slice);
        }
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

    fn rounds(entries: u32) -> Rounds {
        let table = ConnectionTable::new(entries, 1_000, Pages::Off, TableKey::fixed(1));
        Rounds::new(Arc::new(table.expect("maps")))
    }

    #[test]
    fn a_round_is_done_in_half_a_minute_and_says_how_old_its_figures_are() {
        let mut rounds = rounds(100_000);
        let tables = Tables::default();
        let mut now = Duration::ZERO;
        while rounds.upkeep.latest().is_none() {
            assert!(rounds.summary(now).contains("not done"));
            rounds.advance(&tables, now);
            rounds.advance(&tables, now);
            now += rounds.wait(now);
        }
        assert!((29..=30).contains(&now.as_secs()), "{now:?}");
        let expected = "connections: 0 IPv4, 0 IPv6; 0 have seen more than one packet (counted up to 30 s ago)\n";
        assert_eq!(rounds.summary(Duration::from_secs(30)), expected);
    }

    #[test]
    fn a_slice_is_never_empty_and_never_long() {
        assert_eq!(rounds(1_000).slice, 1);
        assert!(rounds(3_000_000).slice <= Rounds::MOST);
    }
}
