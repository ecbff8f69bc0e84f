//! When each question is asked.
//!
//! A new one at once, as far as the bound on probes at a time allows. The second time comes after
//! between half an interval and a whole one, later ones after between nine tenths and a whole one:
//! so 10,000 that began together do not stay together, and none waits longer than its interval.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

/// A question's number; never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProbeId(pub u64);

/// The questions' times.
#[derive(Debug)]
pub struct Schedule {
    /// Probes at a time.
    most: usize,
    times: HashMap<ProbeId, Times>,
    due: BTreeSet<(Duration, ProbeId)>,
    running: BTreeSet<ProbeId>,
    dice: u64,
}

#[derive(Clone, Copy, Debug)]
struct Times {
    interval: Duration,
    due: Duration,
    /// When it was asked last.
    asked: Option<Duration>,
}

impl Schedule {
    /// A question that something else hints at is asked early, but not more often than this.
    const HURRY: Duration = Duration::from_secs(1);

    /// At most `most` probes at a time; `seed` is where the jitter begins.
    pub fn new(most: usize, seed: u64) -> Self {
        let most = most.max(1);
        Self {
            most,
            times: HashMap::new(),
            due: BTreeSet::new(),
            running: BTreeSet::new(),
            dice: seed,
        }
    }

    /// A new question.
    pub fn add(&mut self, id: ProbeId, interval: Duration, now: Duration) {
        self.times.insert(id, Times { interval, due: now, asked: None });
        self.due.insert((now, id));
    }

    /// One that nobody wants the answer of any more. If it is being asked, it keeps its place until
    /// [`Schedule::end`].
    pub fn remove(&mut self, id: ProbeId) {
        if let Some(times) = self.times.remove(&id) {
            self.due.remove(&(times.due, id));
        }
    }

    /// Those to be asked now; each is running until [`Schedule::end`].
    pub fn begin(&mut self, now: Duration) -> Vec<ProbeId> {
        let room = self.most.saturating_sub(self.running.len());
        let ready = self.due.iter().take_while(|(due, _)| *due <= now);
        // One that still runs comes again as soon as it ends.
        let free = ready.filter(|(_, id)| !self.running.contains(id));
        let begun: Vec<_> = free.take(room).copied().collect();
        for (due, id) in &begun {
            self.due.remove(&(*due, *id));
            self.plan_next(*id, now);
            self.running.insert(*id);
        }
        begun.into_iter().map(|(_, id)| id).collect()
    }

    /// A probe has ended, whatever came of it.
    pub fn end(&mut self, id: ProbeId) {
        self.running.remove(&id);
    }

    /// Something hints that the answer may be another now: asks at once, or, if it was just asked, a
    /// moment later: what is hinted at may have happened since.
    pub fn hurry(&mut self, id: ProbeId, now: Duration) {
        let Some(times) = self.times.get(&id).copied() else { return };
        let soonest = times.asked.map_or(now, |asked| now.max(asked + Self::HURRY));
        if soonest < times.due {
            self.move_to(id, soonest);
        }
    }

    /// When [`Schedule::begin`] has something to do; `None`: not before a probe ends.
    pub fn next(&self) -> Option<Duration> {
        if self.running.len() >= self.most {
            return None;
        }
        let mut waiting = self.due.iter().filter(|(_, id)| !self.running.contains(id));
        waiting.next().map(|(due, _)| *due)
    }

    /// How many run now.
    pub fn running(&self) -> usize {
        self.running.len()
    }

    fn plan_next(&mut self, id: ProbeId, now: Duration) {
        let chance = self.roll();
        let Some(times) = self.times.get_mut(&id) else { return };
        let spread = if times.asked.is_none() { times.interval / 2 } else { times.interval / 10 };
        times.asked = Some(now);
        times.due = now + times.interval - spread.mul_f64(chance);
        self.due.insert((times.due, id));
    }

    fn move_to(&mut self, id: ProbeId, due: Duration) {
        let Some(times) = self.times.get_mut(&id) else { return };
        self.due.remove(&(std::mem::replace(&mut times.due, due), id));
        self.due.insert((due, id));
    }

    /// The next of a sequence that looks random, from 0 up to 1 (splitmix64).
    fn roll(&mut self) -> f64 {
        self.dice = self.dice.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.dice;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_secs(10);

    fn schedule(questions: u64, most: usize) -> Schedule {
        let mut schedule = Schedule::new(most, 7);
        (0..questions).for_each(|id| schedule.add(ProbeId(id), INTERVAL, Duration::ZERO));
        schedule
    }

    /// Runs it for `seconds`; every probe takes no time. When each was asked.
    fn asked(schedule: &mut Schedule, seconds: u64) -> Vec<(Duration, ProbeId)> {
        let mut asked = Vec::new();
        while let Some(now) = schedule.next().filter(|at| at.as_secs() < seconds) {
            for id in schedule.begin(now) {
                schedule.end(id);
                asked.push((now, id));
            }
        }
        asked
    }

    #[test]
    fn ten_thousand_checks_do_not_fire_together_twice() {
        let mut schedule = schedule(10_000, 10_000);
        let asked = asked(&mut schedule, 60);
        assert_eq!(asked.iter().filter(|(at, _)| at.is_zero()).count(), 10_000);
        for window in (5..59).step_by(2) {
            let within = |at: &Duration| (window..window + 2).contains(&at.as_secs());
            let fired = asked.iter().filter(|(at, _)| within(at)).count();
            assert!(fired < 6_000, "{fired} within two seconds from {window} s on");
        }
    }

    #[test]
    fn no_check_waits_longer_than_its_interval_and_none_is_asked_much_more_often() {
        let mut schedule = schedule(100, 100);
        let all = asked(&mut schedule, 1000);
        for id in (0..100).map(ProbeId) {
            let times: Vec<_> = all.iter().filter(|(_, i)| *i == id).map(|(at, _)| *at).collect();
            assert!(times.windows(2).all(|w| w[1] - w[0] <= INTERVAL));
            assert!(times[1..].windows(2).all(|w| w[1] - w[0] >= INTERVAL.mul_f64(0.9)));
            assert!(times[1] >= INTERVAL / 2);
        }
    }

    #[test]
    fn no_more_run_at_a_time_than_allowed_and_the_others_follow_as_they_end() {
        let mut schedule = schedule(5, 2);
        assert_eq!(schedule.begin(Duration::ZERO), [ProbeId(0), ProbeId(1)]);
        assert_eq!((schedule.begin(Duration::ZERO), schedule.next()), (vec![], None));
        schedule.end(ProbeId(1));
        assert_eq!(schedule.next(), Some(Duration::ZERO));
        assert_eq!(schedule.begin(Duration::ZERO), [ProbeId(2)]);
    }

    #[test]
    fn a_probe_that_still_runs_when_it_is_due_again_comes_when_it_has_ended() {
        let mut schedule = schedule(1, 10);
        schedule.begin(Duration::ZERO);
        assert!(schedule.begin(INTERVAL).is_empty());
        schedule.end(ProbeId(0));
        assert_eq!(schedule.begin(INTERVAL), [ProbeId(0)]);
    }

    #[test]
    fn a_removed_one_is_not_asked_again_and_its_place_is_free_when_it_ends() {
        let mut schedule = schedule(2, 1);
        schedule.begin(Duration::ZERO);
        schedule.remove(ProbeId(0));
        assert!(schedule.begin(INTERVAL).is_empty());
        schedule.end(ProbeId(0));
        assert_eq!(schedule.begin(INTERVAL), [ProbeId(1)]);
        schedule.end(ProbeId(1));
        assert!(schedule.begin(INTERVAL).is_empty());
    }

    #[test]
    fn a_hint_brings_the_next_probe_forward_but_not_to_right_after_another() {
        let mut schedule = schedule(1, 1);
        let at = Duration::from_millis;
        schedule.begin(at(0));
        schedule.end(ProbeId(0));
        schedule.hurry(ProbeId(0), at(1500));
        assert_eq!(schedule.begin(at(1500)), [ProbeId(0)]);
        schedule.end(ProbeId(0));
        schedule.hurry(ProbeId(0), at(2000));
        assert!(schedule.begin(at(2000)).is_empty());
        assert_eq!(schedule.begin(at(2500)), [ProbeId(0)]);
    }
}
