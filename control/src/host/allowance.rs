//! How many frames are taken from the workers, so that a flood to the host costs them little: a
//! worker copies a frame only into a free buffer, and none is free while we leave the full ones
//! where they are.

use std::time::Duration;

/// A number of frames a second. What is not used in a moment is there in the next, up to a
/// hundredth of a second's.
#[derive(Clone, Debug)]
pub(super) struct Allowance {
    rate: u32,
    /// Billionths of a frame.
    saved: u64,
    last: Duration,
}

const FRAME: u64 = 1_000_000_000;

impl Allowance {
    pub(super) fn per_second(rate: u32) -> Self {
        Self { rate, saved: Self::most(rate), last: Duration::ZERO }
    }

    fn most(rate: u32) -> u64 {
        (u64::from(rate) * FRAME / 100).max(FRAME)
    }

    /// How many frames may be taken at the moment `now`.
    pub(super) fn at(&mut self, now: Duration) -> usize {
        let passed = now.saturating_sub(self.last).min(Duration::from_secs(1));
        self.last = self.last.max(now);
        let earned = passed.as_nanos() as u64 * u64::from(self.rate);
        self.saved = (self.saved + earned).min(Self::most(self.rate));
        (self.saved / FRAME) as usize
    }

    /// Says that so many were.
    pub(super) fn took(&mut self, frames: usize) {
        self.saved = self.saved.saturating_sub(frames as u64 * FRAME);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes all that is allowed, every millisecond of a second.
    fn taken(rate: u32) -> usize {
        let mut allowance = Allowance::per_second(rate);
        let mut take = |ms| {
            let frames = allowance.at(Duration::from_millis(ms));
            allowance.took(frames);
            frames
        };
        (0..=1000).map(&mut take).sum()
    }

    #[test]
    fn a_second_has_its_rate_and_at_most_a_hundredth_more_from_before() {
        assert_eq!(taken(50_000), 50_500);
        assert_eq!(taken(1_000), 1_010);
        assert_eq!(taken(3), 3, "one at first, and nothing is saved beyond one");
    }

    #[test]
    fn nothing_is_saved_up_for_long() {
        let mut allowance = Allowance::per_second(10_000);
        allowance.took(100);
        assert_eq!(allowance.at(Duration::ZERO), 0);
        assert_eq!(allowance.at(Duration::from_secs(60)), 100);
    }
}
