//! Holds back what is said again and again, and counts it. Takes no time itself (D-9).

use std::collections::HashMap;
use std::time::Duration;

use tracing::Level;

/// What was said lately.
#[derive(Debug, Default)]
pub(super) struct Repeats(HashMap<String, Said>);

#[derive(Debug)]
struct Said {
    level: Level,
    /// When it was first said in this period.
    since: Duration,
    written: u32,
    held: u64,
}

/// What was held back in a period that is over.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Summary {
    pub what: String,
    pub level: Level,
    pub count: u64,
}

impl Repeats {
    /// So often the same may be said,
    const MOST: u32 = 10;
    /// in as long as this.
    const PERIOD: Duration = Duration::from_secs(60);
    /// So many different things are remembered; those beyond share one place.
    const ROOM: usize = 4_096;
    const BEYOND: &str = "more different events than are told apart";

    /// Whether this may be written now.
    pub(super) fn admit(&mut self, what: String, level: Level, now: Duration) -> bool {
        let new = !self.0.contains_key(&what);
        let place = if new && self.0.len() >= Self::ROOM { Self::BEYOND.to_owned() } else { what };
        let new = Said { level, since: now, written: 0, held: 0 };
        let said = self.0.entry(place).or_insert(new);
        let may = said.written < Self::MOST;
        said.written += u32::from(may);
        said.held += u64::from(!may);
        may
    }

    /// Forgets what was said a period ago, and tells what of it was held back.
    pub(super) fn over(&mut self, now: Duration) -> Vec<Summary> {
        let over = self.0.extract_if(|_, said| now.saturating_sub(said.since) >= Self::PERIOD);
        let held = over.filter(|(_, said)| said.held > 0);
        held.map(|(what, said)| Summary { what, level: said.level, count: said.held }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn say(repeats: &mut Repeats, what: &str, times: u32, now: Duration) -> usize {
        (0..times).filter(|_| repeats.admit(what.into(), Level::WARN, now)).count()
    }

    #[test]
    fn the_same_is_written_ten_times_a_minute_and_what_was_held_back_is_counted_once() {
        let mut repeats = Repeats::default();
        assert_eq!(say(&mut repeats, "a1 flaps", 1_000, at(0)), 10);
        assert_eq!(say(&mut repeats, "another thing", 3, at(30)), 3);
        assert_eq!(repeats.over(at(59)), []);
        let summary = Summary { what: "a1 flaps".into(), level: Level::WARN, count: 990 };
        assert_eq!(repeats.over(at(60)), [summary]);
        assert_eq!(repeats.over(at(120)), [], "three of a kind were all written");
        assert_eq!(say(&mut repeats, "a1 flaps", 11, at(120)), 10);
    }

    #[test]
    fn memory_is_bounded_and_what_finds_no_place_is_still_counted() {
        let mut repeats = Repeats::default();
        let written =
            (0..10_000).filter(|n| repeats.admit(n.to_string(), Level::INFO, at(0))).count();
        assert_eq!(written, Repeats::ROOM + 10);
        assert!(repeats.0.len() <= Repeats::ROOM + 1);
        let [summary] = &repeats.over(at(60))[..] else { panic!("one place") };
        assert_eq!((&*summary.what, summary.count), (Repeats::BEYOND, 10_000 - 4_096 - 10));
        assert!(repeats.0.is_empty());
    }
}
