//! Notices workers that take no more steps: what is sent to them is lost, so that we must not ask
//! the segment for it. One that stays so is the end of the process ([`crate::service`]); this is
//! sooner. Pure: takes counts and the time (D-9).

use std::time::Duration;

/// Whether workers stand still.
#[derive(Debug, Default)]
pub(crate) struct Beats {
    workers: Vec<Worker>,
    looked: Duration,
    still: Vec<usize>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Worker {
    steps: u64,
    /// For how long it has been seen not to advance.
    stuck: Duration,
}

impl Beats {
    /// A machine that is short of processors may well keep a worker waiting for a second.
    const PATIENCE: Duration = Duration::from_secs(3);
    /// So much of the time between two looks counts: the whole process may have been stopped.
    const GAP: Duration = Duration::from_secs(1);

    /// Looks at how many steps each worker has taken, and logs who has stopped or goes on.
    pub(crate) fn look(&mut self, steps: impl IntoIterator<Item = u64>, now: Duration) {
        let gap = now.saturating_sub(self.looked).min(Self::GAP);
        self.looked = now;
        for (number, steps) in steps.into_iter().enumerate() {
            if self.workers.len() <= number {
                self.workers.push(Worker::default());
            }
            self.workers[number].look(steps, gap);
        }
        let workers = self.workers.iter().enumerate();
        let still = workers.filter(|(_, w)| w.stuck >= Self::PATIENCE).map(|(number, _)| number);
        let before = std::mem::replace(&mut self.still, still.collect());
        if self.still != before {
            self.log();
        }
    }

    fn log(&self) {
        if self.still.is_empty() {
            tracing::info!("all workers go on: VIPs are announced again");
        } else {
            tracing::error!(workers = ?self.still, "workers stand still: VIPs are announced no more");
        }
    }

    /// Whether any worker does.
    pub(crate) fn stand_still(&self) -> bool {
        !self.still.is_empty()
    }
}

impl Worker {
    fn look(&mut self, steps: u64, gap: Duration) {
        self.stuck = if steps == self.steps { self.stuck + gap } else { Duration::ZERO };
        self.steps = steps;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_worker_of_two_that_stands_still_is_enough_and_its_next_step_is_too() {
        let mut beats = Beats::default();
        let mut at = |seconds: u64, steps: [u64; 2]| {
            beats.look(steps, Duration::from_secs(seconds));
            beats.stand_still()
        };
        assert!(!at(1, [5, 5]));
        assert!(!at(2, [6, 5]));
        assert!(!at(60, [7, 5]), "of the time when nobody looked a second counts");
        assert!(at(61, [8, 5]));
        assert!(!at(62, [9, 6]));
        assert!(!at(63, [9, 6]));
    }
}
