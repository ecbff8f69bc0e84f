//! What the control thread waits for: signals, and workers that end.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;

use crate::failure::Failure;

/// One of them, the most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Event {
    /// Stop.
    Stop,
    /// This worker has ended; nobody told it to, unless the appliance is stopping.
    WorkerEnded(usize),
    /// Print the counters.
    Print,
    /// The ways to backends have changed.
    Network,
    /// Read the file again.
    Reload,
    /// The control socket has brought something.
    Asked,
    /// A health check has news.
    Health,
    /// The time that was waited for has come.
    Time,
}

/// Where they arrive.
pub(crate) struct Events {
    sender: Sender<Event>,
    receiver: Receiver<Event>,
    /// What has arrived and is not served yet. Equal ones are one: a hundred SIGHUPs during a
    /// reload ask for one more, and SIGTERM does not queue behind them.
    waiting: RefCell<BTreeSet<Event>>,
}

impl Events {
    /// Takes over the process's signals.
    pub(crate) fn new() -> Result<Self, Failure> {
        let (sender, receiver) = channel();
        let mut signals =
            Signals::new([SIGHUP, SIGINT, SIGTERM, SIGUSR1]).map_err(Failure::Signals)?;
        let to = sender.clone();
        let thread = std::thread::Builder::new().name("signals".into());
        let pass_on = move || {
            signals.forever().map(event).try_for_each(|event| to.send(event)).unwrap_or_default();
        };
        thread.spawn(pass_on).map_err(Failure::Signals)?;
        Ok(Self { sender, receiver, waiting: RefCell::default() })
    }

    /// Something that reports the end of a worker when it is dropped, by a panic too.
    pub(crate) fn end_of_worker(&self, number: usize) -> impl Send + use<> {
        EndOfWorker { number, sender: self.sender.clone() }
    }

    /// What another thread rings when it has put something into an inbox of its own.
    pub(crate) fn bell(&self, event: Event) -> Bell {
        Bell { event, sender: self.sender.clone() }
    }

    /// The most urgent one; [`Event::Time`] after `wait` at the latest.
    pub(crate) fn next(&self, wait: Duration) -> Event {
        let mut waiting = self.waiting.borrow_mut();
        waiting.extend(self.receiver.try_iter());
        match waiting.pop_first() {
            Some(event) => event,
            None => self.arrival(wait),
        }
    }

    fn arrival(&self, wait: Duration) -> Event {
        match self.receiver.recv_timeout(wait) {
            Ok(event) => event,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Event::Time,
        }
    }
}

fn event(signal: i32) -> Event {
    match signal {
        SIGHUP => Event::Reload,
        SIGUSR1 => Event::Print,
        _ => Event::Stop,
    }
}

/// Wakes the control thread for one event. What the event is about waits where its sender put it;
/// rings in quick succession are one.
#[derive(Clone, Debug)]
pub(crate) struct Bell {
    event: Event,
    sender: Sender<Event>,
}

impl Bell {
    pub(crate) fn ring(&self) {
        // Nobody listens any more once the appliance has stopped.
        let _ = self.sender.send(self.event);
    }
}

struct EndOfWorker {
    number: usize,
    sender: Sender<Event>,
}

impl Drop for EndOfWorker {
    fn drop(&mut self) {
        // Nobody listens any more once the appliance has stopped.
        let _ = self.sender.send(Event::WorkerEnded(self.number));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrived(arrived: &[Event]) -> Vec<Event> {
        let (sender, receiver) = channel();
        let events = Events { sender, receiver, waiting: RefCell::default() };
        arrived.iter().for_each(|event| events.sender.send(*event).expect("somebody listens"));
        std::iter::from_fn(|| Some(events.next(Duration::ZERO)))
            .take_while(|event| *event != Event::Time)
            .collect()
    }

    #[test]
    fn many_reloads_asked_for_during_one_are_one_more() {
        assert_eq!(arrived(&[Event::Reload; 1000]), [Event::Reload]);
    }

    #[test]
    fn a_worker_that_panics_is_reported_as_ended_and_is_more_urgent_than_a_reload() {
        let (sender, receiver) = channel();
        let events = Events { sender, receiver, waiting: RefCell::default() };
        let end = events.end_of_worker(3);
        let worker = std::thread::spawn(move || {
            let _end = end;
            panic!("a fault");
        });
        assert!(worker.join().is_err());
        events.bell(Event::Reload).ring();
        assert_eq!(events.next(Duration::ZERO), Event::WorkerEnded(3));
    }

    #[test]
    fn to_stop_waits_for_no_reload() {
        let events = [Event::Reload, Event::Print, Event::Reload, Event::Stop];
        assert_eq!(arrived(&events), [Event::Stop, Event::Print, Event::Reload]);
    }
}
