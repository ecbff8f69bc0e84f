//! How many answers a worker sends (N-3).

use tables::Tick;

/// One port's answers in the second that has begun with the first of them. A second later all are
/// allowed again.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Limit {
    begun: Tick,
    sent: u32,
}

impl Limit {
    /// Takes one of `rate` answers in `second` ticks, if any is left.
    pub(super) fn take(&mut self, rate: u32, second: u32, now: Tick) -> bool {
        if self.sent == 0 || now.since(self.begun) >= second {
            (self.begun, self.sent) = (now, 0);
        }
        let allowed = self.sent < rate;
        self.sent += u32::from(allowed);
        allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_second_has_its_own_answers() {
        let mut limit = Limit::default();
        let taken = [5, 5, 5, 12, 13, 13, 13].map(|tick| limit.take(2, 8, Tick(tick)));
        assert_eq!(taken, [true, true, false, false, true, true, false]);
    }

    #[test]
    fn a_rate_of_zero_allows_none() {
        assert!(!(0..100).any(|tick| Limit::default().take(0, 8, Tick(tick))));
    }

    #[test]
    fn a_lower_rate_counts_at_once() {
        let mut limit = Limit::default();
        assert!(limit.take(9, 8, Tick(1)) && limit.take(9, 8, Tick(1)));
        assert!(!limit.take(2, 8, Tick(1)));
    }
}
