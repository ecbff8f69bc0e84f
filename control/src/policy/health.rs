//! The checks' results → healthy or not (W-4).

/// How many consecutive results change a verdict; each at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thresholds {
    /// Successes to healthy.
    pub healthy: u32,
    /// Failures to unhealthy.
    pub unhealthy: u32,
}

/// A verdict that has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It may serve.
    BecameHealthy,
    /// It may not (T-11).
    BecameUnhealthy,
}

/// What one backend's checks have said so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Health {
    healthy: bool,
    decided: bool,
    /// Results in a row that contradict the verdict.
    against: u32,
}

impl Health {
    /// Before the first result: as `initial_health` says, or as it was when its backend left
    /// (T-15).
    pub fn starting(healthy: bool) -> Self {
        Self { healthy, decided: false, against: 0 }
    }

    /// The verdict.
    pub fn is_healthy(&self) -> bool {
        self.healthy
    }

    /// Whether there has been a result, so that the verdict is no longer the initial one.
    pub fn is_decided(&self) -> bool {
        self.decided
    }

    /// Results in a row that contradict the verdict.
    pub fn against(&self) -> u32 {
        self.against
    }

    /// Takes a result. The first decides at once; a later one changes the verdict when it
    /// completes a threshold's run. Thresholds may differ from call to call: a reload.
    pub fn observe(&mut self, success: bool, thresholds: Thresholds) -> Option<Change> {
        let needed = match (self.decided, success) {
            (false, _) => 1,
            (true, true) => thresholds.healthy,
            (true, false) => thresholds.unhealthy,
        };
        self.decided = true;
        if success == self.healthy {
            self.against = 0;
            return None;
        }
        self.against = self.against.saturating_add(1);
        (self.against >= needed).then(|| self.turn(success))
    }

    fn turn(&mut self, healthy: bool) -> Change {
        self.healthy = healthy;
        self.against = 0;
        if healthy { Change::BecameHealthy } else { Change::BecameUnhealthy }
    }
}

#[cfg(test)]
mod tests {
    use super::Change::{BecameHealthy as Up, BecameUnhealthy as Down};
    use super::*;

    /// One character a result: `+` success, `-` failure. The changes, by the result's position.
    fn changes(initially: bool, thresholds: (u32, u32), results: &str) -> Vec<(usize, Change)> {
        let mut health = Health::starting(initially);
        let thresholds = Thresholds { healthy: thresholds.0, unhealthy: thresholds.1 };
        let all = results.chars().map(|c| health.observe(c == '+', thresholds));
        all.enumerate().filter_map(|(i, change)| Some((i, change?))).collect()
    }

    #[test]
    fn the_first_result_decides_at_once() {
        assert_eq!(changes(false, (3, 3), "+"), [(0, Up)]);
        assert_eq!(changes(true, (3, 3), "-"), [(0, Down)]);
        assert_eq!(changes(true, (3, 3), "+"), []);
        assert_eq!(changes(false, (3, 3), "-"), []);
    }

    #[test]
    fn the_second_result_decides_nothing_by_itself() {
        assert_eq!(changes(false, (3, 2), "-+"), []);
        assert_eq!(changes(true, (2, 3), "+-"), []);
    }

    #[test]
    fn later_results_count_only_in_a_row() {
        assert_eq!(changes(false, (2, 3), "+--+--+---"), [(0, Up), (9, Down)]);
        assert_eq!(changes(false, (2, 3), "-+-+-++"), [(6, Up)]);
    }

    #[test]
    fn a_run_starts_anew_after_each_change() {
        assert_eq!(changes(true, (2, 2), "----++++--"), [(0, Down), (5, Up), (9, Down)]);
        assert_eq!(changes(true, (1, 1), "-+-+"), [(0, Down), (1, Up), (2, Down), (3, Up)]);
    }

    #[test]
    fn a_lower_threshold_after_a_reload_holds_from_the_next_result_on() {
        let mut health = Health::starting(true);
        let with = |unhealthy| Thresholds { healthy: 1, unhealthy };
        assert_eq!(health.observe(true, with(9)), None);
        for _ in 0..5 {
            assert_eq!(health.observe(false, with(9)), None);
        }
        assert_eq!(health.observe(false, with(2)), Some(Down));
    }

    #[test]
    fn an_initial_verdict_is_undecided_until_the_first_result() {
        let mut health = Health::starting(true);
        assert!(!health.is_decided() && health.is_healthy());
        health.observe(true, Thresholds { healthy: 2, unhealthy: 2 });
        assert!(health.is_decided() && health.is_healthy());
        assert!(!Health::starting(false).is_healthy());
    }
}
