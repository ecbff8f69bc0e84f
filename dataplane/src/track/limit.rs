//! How many entries a worker may make (D-4).

use std::time::Duration;

use tables::Tick;

/// A worker's allowance of new entries, so that a flood of new flows costs a bounded share of its
/// time. It never concerns a key that already has an entry.
#[derive(Clone, Copy, Debug, Default)]
pub struct InsertLimit {
    per_tick: u32,
    tick: Tick,
    used: u32,
}

impl InsertLimit {
    /// At most this many new entries a tick; 0: as many as come.
    pub fn per_tick(per_tick: u32) -> Self {
        Self { per_tick, ..Self::default() }
    }

    /// At most this many new entries a second, in ticks of `length`, each with its share of them
    /// (at least one); 0: as many as come.
    pub fn per_second(rate: u32, length: Duration) -> Self {
        let share = (u128::from(rate) * length.as_nanos()).div_ceil(1_000_000_000);
        Self::per_tick(u32::try_from(share).unwrap_or(u32::MAX))
    }

    /// Whether any of this tick's allowance is left.
    pub fn is_left(&mut self, now: Tick) -> bool {
        if self.tick != now {
            (self.tick, self.used) = (now, 0);
        }
        self.per_tick == 0 || self.used < self.per_tick
    }

    /// Takes one of this tick's allowance, if any is left.
    pub fn take(&mut self, now: Tick) -> bool {
        let allowed = self.is_left(now);
        self.used = self.used.saturating_add(u32::from(allowed));
        allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tick_has_its_own_allowance() {
        let mut limit = InsertLimit::per_tick(2);
        let taken: Vec<_> = [1, 1, 1, 2, 2, 2].map(|t| limit.take(Tick(t))).into();
        assert_eq!(taken, [true, true, false, true, true, false]);
    }

    #[test]
    fn a_rate_is_shared_out_over_the_ticks_of_a_second() {
        for (rate, expected) in [(1_000_000, 125_000), (8, 1), (1, 1), (0, 0), (9, 2)] {
            let limit = InsertLimit::per_second(rate, Tick::LENGTH);
            assert_eq!(limit.per_tick, expected, "{rate} a second");
        }
        let most = InsertLimit::per_second(u32::MAX, Duration::from_secs(60));
        assert_eq!(most.per_tick, u32::MAX);
    }

    #[test]
    fn zero_is_no_limit() {
        let mut limit = InsertLimit::per_tick(0);
        assert!((0..10_000).all(|_| limit.take(Tick(0))));
    }
}
