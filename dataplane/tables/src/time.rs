//! The coarse clock of the connection table.

use std::time::Duration;

/// A moment on the coarse clock, in ticks since an arbitrary start; wraps at 2^31 (an entry keeps
/// 31 bits of it). How long a tick is, is the clock's choice: [`Tick::LENGTH`] in a running
/// process, one millisecond in a simulation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tick(pub u32);

impl Tick {
    /// A tick of the running process (T-8 allows at most 250 ms).
    pub const LENGTH: Duration = Duration::from_millis(125);

    const MASK: u32 = u32::MAX >> 1;

    /// The tick that is `elapsed` after the clock's start, with ticks of `length`.
    #[inline]
    pub fn after(elapsed: Duration, length: Duration) -> Self {
        Self((elapsed.as_nanos() / length.as_nanos()) as u32 & Self::MASK)
    }

    /// Ticks from `earlier` to `self`. A moment that another worker's clock put slightly ahead
    /// counts as no age at all.
    #[inline]
    pub fn since(self, earlier: Self) -> u32 {
        let age = self.0.wrapping_sub(earlier.0) & Self::MASK;
        if age > Self::MASK / 2 { 0 } else { age }
    }

    /// `ticks` later.
    #[inline]
    pub fn plus(self, ticks: u32) -> Self {
        Self(self.0.wrapping_add(ticks) & Self::MASK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn age_survives_the_wrap_and_a_clock_slightly_behind() {
        assert_eq!(Tick(5).since(Tick(2)), 3);
        assert_eq!(Tick(1).since(Tick(Tick::MASK)), 2);
        assert_eq!(Tick(7).since(Tick(8)), 0);
        assert_eq!(Tick(Tick::MASK).plus(2), Tick(1));
    }
}
