//! What a worker does when nothing arrives.

use std::time::Duration;

/// `idle` of the configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Idle {
    /// Never sleep: a packet never waits for a timer.
    Spin,
    /// Sleep, a little longer each time, when queues stay empty.
    #[default]
    Adaptive,
}

/// Decides how long to sleep; takes no time and does no sleeping itself.
#[derive(Clone, Debug)]
pub struct Sleeper {
    idle: Idle,
    empty: u32,
}

impl Sleeper {
    /// So many empty polls in a row are no pause yet: a gap within a burst of traffic.
    const PATIENCE: u32 = 256;
    const SHORTEST: Duration = Duration::from_micros(50);
    /// Bounds what sleeping can add to a packet's way.
    const LONGEST: Duration = Duration::from_millis(1);

    /// A worker that has just begun.
    pub fn new(idle: Idle) -> Self {
        Self { idle, empty: 0 }
    }

    /// How long to sleep after a step that had this many packets; `None`: poll again at once.
    pub fn after(&mut self, packets: usize) -> Option<Duration> {
        if packets > 0 {
            self.empty = 0;
            return None;
        }
        self.empty = self.empty.saturating_add(1);
        let beyond = self.empty.checked_sub(Self::PATIENCE)?;
        (self.idle == Idle::Adaptive)
            .then(|| (Self::SHORTEST * (1 << beyond.min(5))).min(Self::LONGEST))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sleeps(idle: Idle, polls: u32) -> Option<Duration> {
        let mut sleeper = Sleeper::new(idle);
        (0..polls).map(|_| sleeper.after(0)).last().flatten()
    }

    #[test]
    fn an_adaptive_worker_sleeps_longer_and_longer_up_to_a_bound() {
        assert_eq!(sleeps(Idle::Adaptive, 255), None);
        assert_eq!(sleeps(Idle::Adaptive, 256), Some(Duration::from_micros(50)));
        assert_eq!(sleeps(Idle::Adaptive, 257), Some(Duration::from_micros(100)));
        assert_eq!(sleeps(Idle::Adaptive, 100_000), Some(Duration::from_millis(1)));
    }

    #[test]
    fn a_packet_wakes_it_and_a_spinning_worker_never_sleeps() {
        let mut sleeper = Sleeper::new(Idle::Adaptive);
        for _ in 0..1000 {
            sleeper.after(0);
        }
        assert_eq!(sleeper.after(1), None);
        assert_eq!(sleeper.after(0), None);
        assert_eq!(sleeps(Idle::Spin, 100_000), None);
    }
}
