//! Notices a worker that keeps old Tables in use for too long (D-5), and says so once.

use std::time::Duration;

use tables::publish::HeldBack;

/// For how long the same old Tables have been in use.
#[derive(Debug, Default)]
pub(crate) struct Lag {
    /// The oldest Tables still in use, since when, and whether that was said.
    behind: Option<(u64, Duration, bool)>,
}

/// What is worth a line in the log.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    /// These workers have not taken new Tables for as long as this.
    Behind(String, Duration),
    /// They have now.
    CaughtUp,
}

impl Lag {
    /// A worker takes new Tables once a burst: in microseconds, unless its driver blocks it.
    const PATIENCE: Duration = Duration::from_secs(1);

    /// Takes note of what is held back at the moment `now`.
    pub(crate) fn observe(&mut self, held: Option<HeldBack>, now: Duration) -> Option<Notice> {
        let said_before = self.behind.is_some_and(|(_, _, said)| said);
        let Some(held) = held else {
            self.behind = None;
            return said_before.then_some(Notice::CaughtUp);
        };
        match &mut self.behind {
            Some((publication, since, said)) if *publication == held.publication => {
                let late = now.saturating_sub(*since);
                let news = !*said && late >= Self::PATIENCE;
                *said |= news;
                news.then(|| Notice::Behind(held.readers.join(", "), late))
            }
            behind => {
                *behind = Some((held.publication, now, false));
                said_before.then_some(Notice::CaughtUp)
            }
        }
    }
}

impl Notice {
    pub(crate) fn log(&self) {
        match self {
            Self::Behind(workers, late) => {
                let seconds = late.as_secs_f32();
                tracing::warn!(workers, seconds, "still on old Tables: {workers}");
            }
            Self::CaughtUp => tracing::info!("all workers are on new Tables again"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_that_stays_behind_is_named_once_and_so_is_its_return() {
        let held = |publication| Some(HeldBack { publication, readers: vec!["worker 1".into()] });
        let at = Duration::from_millis;
        let behind = |late| Some(Notice::Behind("worker 1".into(), at(late)));
        let mut lag = Lag::default();
        for (ms, seen, expected) in [
            (0, None, None),
            (100, held(2), None),
            (900, held(3), None),
            (1_800, held(3), None),
            (2_000, held(3), behind(1_100)),
            (9_000, held(3), None),
            (9_100, held(7), Some(Notice::CaughtUp)),
            (10_200, held(7), behind(1_100)),
            (10_300, None, Some(Notice::CaughtUp)),
            (10_400, None, None),
        ] {
            assert_eq!(lag.observe(seen, at(ms)), expected, "at {ms} ms");
        }
    }
}
