//! What the control thread waits for: signals, and workers that end.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;

use crate::failure::Failure;

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// Read the file again.
    Reload,
    /// Print the counters.
    Print,
    /// Stop.
    Stop,
    /// This worker has ended; nobody told it to, unless the appliance is stopping.
    WorkerEnded(usize),
    /// The time that was waited for has come.
    Time,
}

/// Where they arrive.
pub(crate) struct Events {
    sender: Sender<Event>,
    receiver: Receiver<Event>,
}

impl Events {
    /// Takes over the process's signals.
    pub(crate) fn new() -> Result<Self, Failure> {
        let (sender, receiver) = channel();
        let mut signals =
            Signals::new([SIGHUP, SIGINT, SIGTERM, SIGUSR1]).map_err(Failure::Signals)?;
        let to = sender.clone();
        std::thread::spawn(move || {
            signals.forever().map(event).try_for_each(|event| to.send(event))
        });
        Ok(Self { sender, receiver })
    }

    /// Something that reports the end of a worker when it is dropped, by a panic too.
    pub(crate) fn end_of_worker(&self, number: usize) -> impl Send + use<> {
        EndOfWorker { number, sender: self.sender.clone() }
    }

    /// The next one; [`Event::Time`] after `wait` at the latest.
    pub(crate) fn next(&self, wait: Duration) -> Event {
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
