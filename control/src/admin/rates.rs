//! Packets and connections a second, over the last few seconds.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tables::counters::Event;
use tables::{Counters, Outcome};

use super::answer::Rates;

/// Between two samples, and how many of them a rate is over.
const EVERY: Duration = Duration::from_secs(1);
const KEPT: usize = 6;

/// Received, forwarded, entries made, dropped: since the start.
type Sample = [u64; 4];

/// What is known; read by whoever asks.
#[derive(Clone, Default)]
pub struct Speed(Arc<Mutex<Samples>>);

type Samples = VecDeque<(Instant, Sample)>;

impl Speed {
    /// Takes samples for as long as somebody can ask.
    pub async fn watch(self, counters: Arc<Counters>) {
        let mut timer = tokio::time::interval(EVERY);
        timer.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            timer.tick().await;
            self.take(Instant::now(), sample(&counters));
        }
    }

    fn take(&self, now: Instant, sample: Sample) {
        let mut samples = self.0.lock();
        samples.push_back((now, sample));
        if samples.len() > KEPT {
            samples.pop_front();
        }
    }

    /// The rates now; `None` in the first second.
    pub fn now(&self) -> Option<Rates> {
        let samples = self.0.lock();
        let ((first, old), (last, new)) = (samples.front()?, samples.back()?);
        let seconds = last.duration_since(*first).as_secs_f64();
        let rate = |at: usize| new[at].wrapping_sub(old[at]) as f64 / seconds;
        (seconds > 0.0).then(|| Rates {
            received: rate(0),
            forwarded: rate(1),
            new_connections: rate(2),
            dropped: rate(3),
        })
    }
}

fn sample(counters: &Counters) -> Sample {
    let forwarded = counters.outcome(Outcome::Forwarded);
    let not_dropped = [Outcome::Forwarded, Outcome::Host, Outcome::EchoAnswered];
    let ended_well: u64 = not_dropped.iter().map(|o| counters.outcome(*o)).sum();
    let made = counters.event(Event::EntryCreated) + counters.event(Event::EntryReplaced);
    let dropped = counters.ended().saturating_sub(ended_well);
    [counters.event(Event::Received), forwarded, made, dropped]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_over_the_samples_that_are_kept() {
        let (speed, start) = (Speed::default(), Instant::now());
        assert_eq!(speed.now(), None);
        for second in 0..20_u64 {
            speed.take(start + EVERY * second as u32, [second * second, 0, 7, second]);
        }
        let rates = speed.now().expect("known");
        assert_eq!((rates.received, rates.dropped), (33.0, 1.0), "(19² - 14²) / 5");
        assert_eq!((rates.forwarded, rates.new_connections), (0.0, 0.0));
    }
}
