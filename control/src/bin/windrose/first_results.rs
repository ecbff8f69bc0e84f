//! New backends serve from their first result on, or when that has been waited for long enough
//! at the start, and at a reload. Pure (D-9).

use std::time::Duration;

/// What waits for first results. `F` is a file that is valid, and not in force yet.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) enum FirstResults<F> {
    /// Nothing.
    #[default]
    Nothing,
    /// The appliance, which has just started.
    Start {
        /// Until when.
        until: Duration,
        /// A file that has come meanwhile: its turn is then.
        next: Option<F>,
    },
    /// A file.
    Reload {
        /// It.
        file: F,
        /// Since when one has waited, this one or one whose place it took.
        since: Duration,
        /// Until when.
        until: Duration,
    },
}

/// What has waited long enough.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Due<F> {
    /// The appliance serves; then it is the turn of this file.
    Start(Option<F>),
    /// This file comes into force.
    File(F),
}

impl<F> FirstResults<F> {
    /// At the start clients wait: long enough for a first packet that is lost to a neighbour not
    /// yet found and comes again after a second.
    const START: Duration = Duration::from_millis(1300);
    /// At a reload the old configuration serves meanwhile.
    const RELOAD: Duration = Duration::from_secs(5);
    /// Files that take each other's place again and again wait no longer than this in all.
    const LONGEST: Duration = Duration::from_secs(10);

    /// The appliance starts, and there are results to wait for or not.
    pub(crate) fn of_start(awaiting: bool, now: Duration) -> Self {
        match awaiting {
            true => Self::Start { until: now + Self::START, next: None },
            false => Self::Nothing,
        }
    }

    /// Whether it is the appliance that waits: a file has its turn after that.
    pub(crate) fn is_start(&self) -> bool {
        matches!(self, Self::Start { .. })
    }

    /// A valid file waits from now on. The newest one counts: the result is the one whose place it
    /// takes.
    pub(crate) fn wait_for(&mut self, new: F, now: Duration) -> Option<F> {
        match self {
            Self::Start { next, .. } => next.replace(new),
            Self::Nothing => {
                *self = Self::Reload { file: new, since: now, until: now + Self::RELOAD };
                None
            }
            Self::Reload { file, since, until } => {
                *until = (now + Self::RELOAD).min(*since + Self::LONGEST);
                Some(std::mem::replace(file, new))
            }
        }
    }

    /// What has waited long enough: until its time, or until no result is awaited any more.
    pub(crate) fn take(&mut self, awaiting: bool, now: Duration) -> Option<Due<F>> {
        if awaiting && self.until()? > now {
            return None;
        }
        match std::mem::take(self) {
            Self::Nothing => None,
            Self::Start { next, .. } => Some(Due::Start(next)),
            Self::Reload { file, .. } => Some(Due::File(file)),
        }
    }

    /// Until when it is waited, if it is.
    pub(crate) fn until(&self) -> Option<Duration> {
        match self {
            Self::Nothing => None,
            Self::Start { until, .. } | Self::Reload { until, .. } => Some(*until),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Files = FirstResults<&'static str>;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_start_waits_for_results_or_its_time_and_not_at_all_without_checks() {
        assert_eq!(Files::of_start(false, ms(0)), FirstResults::Nothing);
        let mut start = Files::of_start(true, ms(100));
        assert_eq!((start.take(true, ms(1399)), start.until()), (None, Some(ms(1400))));
        assert_eq!(start.take(true, ms(1400)), Some(Due::Start(None)));
        assert_eq!((start.take(false, ms(1401)), start.until()), (None, None));
        let mut answered = Files::of_start(true, ms(100));
        assert_eq!(answered.take(false, ms(101)), Some(Due::Start(None)));
    }

    #[test]
    fn a_file_that_comes_during_the_start_does_not_end_its_wait_and_the_newest_has_its_turn_then() {
        let mut start = Files::of_start(true, ms(0));
        assert_eq!(start.wait_for("a", ms(100)), None);
        assert_eq!(start.wait_for("b", ms(200)), Some("a"));
        assert!(start.is_start());
        assert_eq!((start.take(true, ms(1299)), start.until()), (None, Some(ms(1300))));
        assert_eq!(start.take(true, ms(1300)), Some(Due::Start(Some("b"))));
    }

    #[test]
    fn a_newer_file_takes_the_place_of_one_that_waits_and_has_time_of_its_own() {
        let mut waits = Files::default();
        assert_eq!(waits.wait_for("a", ms(1000)), None);
        assert_eq!((waits.take(true, ms(5999)), waits.until()), (None, Some(ms(6000))));
        assert_eq!(waits.wait_for("b", ms(4000)), Some("a"));
        assert_eq!((waits.take(true, ms(8999)), waits.until()), (None, Some(ms(9000))));
        assert_eq!(waits.take(false, ms(8999)), Some(Due::File("b")));
    }

    #[test]
    fn files_that_keep_coming_do_not_wait_for_ever() {
        let mut waits = Files::default();
        waits.wait_for("a", ms(0));
        for second in 1..10 {
            assert!(waits.wait_for("b", ms(1000 * second)).is_some());
        }
        assert_eq!(waits.take(true, ms(9999)), None);
        assert_eq!(waits.take(true, ms(10_000)), Some(Due::File("b")));
    }
}
