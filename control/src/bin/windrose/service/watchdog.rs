//! Whether every worker goes on. Pure: takes counts and the time, returns what to do (D-9).
//!
//! A worker advances when it has taken a step since the last look: with packets or without, so an
//! idle one advances too, and one that naps does when it wakes, after a millisecond at most. Not
//! advancing is being inside one step all the time, in a driver that blocks or a loop that does not
//! end. Time in which nobody looked does not count against it: the whole process may have been
//! stopped, or its machine.

use std::time::Duration;

/// Looks after workers.
#[derive(Debug)]
pub(crate) struct Watchdog {
    patience: Duration,
    every: Duration,
    workers: Vec<Worker>,
    looked: Duration,
    passed: Duration,
}

#[derive(Clone, Copy, Debug, Default)]
struct Worker {
    steps: u64,
    /// For how long it has been seen not to advance.
    stuck: Duration,
    /// Since the last sign of life that was given for all.
    advanced: bool,
}

/// What is to be done.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing now.
    Wait,
    /// All have advanced: give a sign of life.
    Alive,
    /// End.
    Stalled(Stalled),
}

/// A worker that has not advanced for so long that it will not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("worker {worker} is stalled: it has not advanced for {} s", .stuck.as_secs())]
pub(crate) struct Stalled {
    pub worker: usize,
    pub stuck: Duration,
}

impl Watchdog {
    /// For how long a worker may be stuck where no service manager says it. A driver may block one
    /// for a moment (D-5), and a machine that is short of processors too.
    pub(crate) const PATIENCE: Duration = Duration::from_secs(15);
    /// So much of the time between two looks counts.
    const GAP: Duration = Duration::from_secs(1);

    /// For a manager that ends us when it hears nothing for `interval`. We are the first to end,
    /// so that the log has the reason.
    pub(crate) fn new(workers: usize, interval: Option<Duration>, now: Duration) -> Self {
        let patience = interval.map_or(Self::PATIENCE, |interval| interval / 2);
        let workers = vec![Worker::default(); workers];
        Self { patience, every: patience / 2, workers, looked: now, passed: now }
    }

    /// Looks at how many steps each worker has taken.
    pub(crate) fn look(&mut self, steps: impl IntoIterator<Item = u64>, now: Duration) -> Verdict {
        let gap = now.saturating_sub(self.looked).min(Self::GAP);
        self.looked = now;
        for (worker, steps) in self.workers.iter_mut().zip(steps) {
            worker.look(steps, gap);
        }
        let stuck = self.workers.iter().position(|w| w.stuck >= self.patience);
        if let Some(worker) = stuck {
            let stuck = self.workers.get(worker).map_or(Duration::ZERO, |w| w.stuck);
            return Verdict::Stalled(Stalled { worker, stuck });
        }
        self.pass(now)
    }

    /// Whether every worker has taken a first step.
    pub(crate) fn all_run(&self) -> bool {
        self.workers.iter().all(|w| w.steps > 0)
    }

    fn pass(&mut self, now: Duration) -> Verdict {
        let due = now.saturating_sub(self.passed) >= self.every;
        if !due || !self.workers.iter().all(|w| w.advanced) {
            return Verdict::Wait;
        }
        self.passed = now;
        self.workers.iter_mut().for_each(|w| w.advanced = false);
        Verdict::Alive
    }
}

impl Worker {
    fn look(&mut self, steps: u64, gap: Duration) {
        if steps == self.steps {
            self.stuck += gap;
        } else {
            *self = Self { steps, stuck: Duration::ZERO, advanced: true };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(workers: usize) -> Watchdog {
        // Patience 10 s, a sign of life every 5 s.
        Watchdog::new(workers, Some(Duration::from_secs(20)), Duration::ZERO)
    }

    fn stalled(worker: usize, stuck: u64) -> Verdict {
        Verdict::Stalled(Stalled { worker, stuck: Duration::from_secs(stuck) })
    }

    /// Looks once a second, from second 1 on; what was to be done in each that was not nothing.
    fn verdicts(
        dog: &mut Watchdog,
        rows: impl IntoIterator<Item = Vec<u64>>,
    ) -> Vec<(u64, Verdict)> {
        let looks = (1..).zip(rows);
        let looks = looks.map(|(at, steps)| (at, dog.look(steps, Duration::from_secs(at))));
        looks.filter(|(_, verdict)| *verdict != Verdict::Wait).collect()
    }

    #[test]
    fn while_all_advance_it_gives_a_sign_of_life_at_its_pace() {
        let looks = verdicts(&mut watch(2), (1..=12).map(|at| vec![at, 7 * at]));
        assert_eq!(looks, [(5, Verdict::Alive), (10, Verdict::Alive)]);
    }

    #[test]
    fn one_that_stops_stops_the_signs_at_once_and_ends_us_before_the_manager_would() {
        // Worker 1 takes its last step in second 6.
        let looks = verdicts(&mut watch(2), (1..=16).map(|at| vec![at, at.min(6)]));
        let last = [(5, Verdict::Alive), (10, Verdict::Alive), (16, stalled(1, 10))];
        assert_eq!(looks, last, "in second 10 it had advanced since second 5; in 15 not since 10");
    }

    #[test]
    fn a_step_in_time_is_enough() {
        let looks = verdicts(&mut watch(1), (1..=40).map(|at| vec![1 + at / 9]));
        assert!(looks.iter().all(|(_, v)| *v == Verdict::Alive), "{looks:?}");
        assert_eq!(looks.len(), 5);
    }

    #[test]
    fn one_that_never_begins_is_stalled_too() {
        let looks = verdicts(&mut watch(3), (1..=10).map(|at| vec![at, 0, at]));
        assert_eq!(looks, [(10, stalled(1, 10))]);
    }

    #[test]
    fn a_process_that_was_stopped_for_an_hour_is_not_stalled() {
        let mut dog = watch(1);
        assert_eq!(dog.look([5], Duration::from_secs(5)), Verdict::Alive);
        let back = Duration::from_secs(3_605);
        assert_eq!(dog.look([5], back), Verdict::Wait, "the worker has not run yet either");
        assert_eq!(dog.look([6], back + Duration::from_millis(100)), Verdict::Alive);
    }

    #[test]
    fn the_first_steps_of_all_make_it_ready() {
        let mut dog = watch(2);
        for (steps, all) in [([0, 0], false), ([3, 0], false), ([4, 1], true)] {
            dog.look(steps, Duration::from_secs(1));
            assert_eq!(dog.all_run(), all, "{steps:?}");
        }
    }
}
