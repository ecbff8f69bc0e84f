//! Packets and connections a second, over the last few seconds.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tables::counters::Event;
use tables::traffic::Load;
use tables::{Counters, Outcome, Traffic};

use super::answer::{Given, GivenRates, Rates};
use super::picture::Pictures;

/// Between two samples, and how many of them a rate is over.
const EVERY: Duration = Duration::from_secs(1);
const KEPT: usize = 6;

/// Received, forwarded, entries made, dropped: since the start.
type Whole = [u64; 4];

/// What is known; read by whoever asks.
#[derive(Clone, Default)]
pub struct Speed(Arc<Mutex<VecDeque<Sample>>>);

/// One reading of the counters.
struct Sample {
    at: Instant,
    whole: Whole,
    /// By slot: whose it was, and what it had been given.
    backends: Vec<Option<(Load, Given)>>,
}

impl Sample {
    fn of(&self, slot: usize, load: &Load) -> Option<(Instant, Given)> {
        let (of, given) = self.backends.get(slot)?.as_ref()?;
        of.is(load).then_some((self.at, *given))
    }
}

impl Speed {
    /// Takes samples for as long as somebody can ask.
    pub async fn watch(self, counters: Arc<Counters>, pictures: Pictures) {
        let mut timer = tokio::time::interval(EVERY);
        timer.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            timer.tick().await;
            let picture = pictures.newest();
            self.take(Instant::now(), whole(&counters), &picture.tables.traffic);
        }
    }

    fn take(&self, at: Instant, whole: Whole, traffic: &Traffic) {
        let read = |load: &Load| (load.clone(), load.read().into());
        let backends = traffic.loads().iter().map(|load| load.as_ref().map(read)).collect();
        let mut samples = self.0.lock();
        samples.push_back(Sample { at, whole, backends });
        if samples.len() > KEPT {
            samples.pop_front();
        }
    }

    /// The rates now; `None` in the first second.
    pub fn now(&self) -> Option<Rates> {
        let samples = self.0.lock();
        let (first, last) = (samples.front()?, samples.back()?);
        let seconds = last.at.duration_since(first.at).as_secs_f64();
        let rate = |at: usize| last.whole[at].wrapping_sub(first.whole[at]) as f64 / seconds;
        (seconds > 0.0).then(|| Rates {
            received: rate(0),
            forwarded: rate(1),
            new_connections: rate(2),
            dropped: rate(3),
        })
    }

    /// The same of each backend, by slot; `None` in its first second.
    pub fn of_backends(&self, traffic: &Traffic) -> Vec<Option<GivenRates>> {
        let samples = self.0.lock();
        let rates = |(slot, load): (usize, &Option<Load>)| {
            let load = load.as_ref()?;
            let mut known = samples.iter().filter_map(|sample| sample.of(slot, load));
            let ((first, old), (last, new)) = (known.next()?, known.next_back()?);
            Some(new.since(old, last.duration_since(first).as_secs_f64()))
        };
        traffic.loads().iter().enumerate().map(rates).collect()
    }
}

fn whole(counters: &Counters) -> Whole {
    let forwarded = counters.outcome(Outcome::Forwarded);
    let not_dropped = [Outcome::Forwarded, Outcome::Probe, Outcome::Host, Outcome::EchoAnswered];
    let ended_well: u64 = not_dropped.iter().map(|o| counters.outcome(*o)).sum();
    let made = counters.event(Event::EntryCreated) + counters.event(Event::EntryReplaced);
    let dropped = counters.ended().saturating_sub(ended_well);
    [counters.event(Event::Received), forwarded, made, dropped]
}

#[cfg(test)]
mod tests {
    use tables::SlotId;

    use super::*;

    #[test]
    fn a_rate_is_over_the_samples_that_are_kept() {
        let (speed, start) = (Speed::default(), Instant::now());
        assert_eq!(speed.now(), None);
        for second in 0..20_u64 {
            let whole = [second * second, 0, 7, second];
            speed.take(start + EVERY * second as u32, whole, &Traffic::default());
        }
        let rates = speed.now().expect("known");
        assert_eq!((rates.received, rates.dropped), (33.0, 1.0), "(19² - 14²) / 5");
        assert_eq!((rates.forwarded, rates.new_connections), (0.0, 0.0));
    }

    #[test]
    fn health_checks_and_what_is_for_the_host_are_not_dropped() {
        let counters = Counters::new(1);
        for outcome in Outcome::ALL {
            counters.worker(0).end(*outcome);
        }
        let [_, forwarded, _, dropped] = whole(&counters);
        assert_eq!((forwarded, dropped), (1, Outcome::COUNT as u64 - 4));
    }

    #[test]
    fn a_backend_has_its_own_rates_and_one_that_takes_its_slot_starts_anew() {
        let (speed, start) = (Speed::default(), Instant::now());
        let (first, second) = (Load::new(1), Load::new(1));
        let of = |load: &Load| [Some(load.clone())].into_iter().collect::<Traffic>();
        let slot = SlotId::new(0).expect("in range");
        let mut at = 0;
        let mut sample = |load: &Load, packets: u32| {
            let traffic = of(load);
            let by = traffic.by(0);
            let given = by.to(slot).expect("counts");
            (0..packets).for_each(|n| given.add(100, n == 0));
            speed.take(start + EVERY * at, [0; 4], &traffic);
            at += 1;
            speed.of_backends(&traffic)[0]
        };
        assert_eq!(sample(&first, 50), None, "one sample tells no rate");
        let rates = GivenRates { packets: 10.0, bytes: 1000.0, new_connections: 1.0 };
        assert_eq!(sample(&first, 10), Some(rates));
        assert_eq!(sample(&second, 1), None);
        assert_eq!(sample(&second, 10), Some(rates));
    }
}
