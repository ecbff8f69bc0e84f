//! When checks begin.
//!
//! At the start the kernel's routes and neighbours are not known yet. A probe that leaves before has its
//! first packet dropped, and the next one comes after a second: longer than many a check's timeout, so
//! that a start would find every backend unhealthy.

use std::time::Duration;

/// Checks that have not begun.
pub(crate) struct Opening {
    /// When they begin in any case; `None`: they have begun.
    until: Option<Duration>,
}

impl Opening {
    /// A backend without a way must not keep the others waiting; the kernel finds a neighbour that is
    /// there in a few milliseconds.
    const PATIENCE: Duration = Duration::from_millis(300);

    /// The appliance starts.
    pub(crate) fn new(now: Duration) -> Self {
        Self { until: Some(now + Self::PATIENCE) }
    }

    /// Whether checks are to begin now: once. `known`: there is a way to every backend.
    pub(crate) fn is_due(&mut self, known: impl FnOnce() -> bool, now: Duration) -> bool {
        let due = self.until.is_some_and(|until| now >= until || known());
        if due {
            self.until = None;
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_begin_once_when_every_way_is_known_or_the_wait_is_over() {
        let at = Duration::from_millis;
        for (known, begin) in [(50, 50), (250, 250), (9_000, 300)] {
            let mut opening = Opening::new(at(0));
            let due: Vec<_> = (0..20)
                .map(|n| n * 50)
                .filter(|ms| opening.is_due(|| *ms >= known, at(*ms)))
                .collect();
            assert_eq!(due, [begin], "known after {known} ms");
        }
    }
}
