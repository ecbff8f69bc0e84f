//! The service manager: systemd, or whoever else listens at `NOTIFY_SOCKET`.

use std::time::Duration;

use control::state::State;
use sd_notify::NotifyState;
use tables::Counters;

use super::status;
use super::watchdog::{Stalled, Verdict, Watchdog};

/// What it was told, and what it will be.
#[derive(Debug)]
pub(crate) struct Manager {
    watchdog: Watchdog,
    ready: bool,
    /// Of which generation the state was told.
    status: Option<u64>,
    /// Why the last reload was refused, in a line.
    refused: Option<String>,
    next: Duration,
}

impl Manager {
    /// How often it looks: often enough for a watchdog of two seconds.
    const EVERY: Duration = Duration::from_millis(100);

    /// Says nothing yet.
    pub(crate) fn new(workers: usize, now: Duration) -> Self {
        let watchdog = Watchdog::new(workers, sd_notify::watchdog_enabled(), now);
        Self { watchdog, ready: false, status: None, refused: None, next: now }
    }

    /// Looks after the workers, if it is time: says that all of them run, that they still do, and
    /// what the state is.
    ///
    /// # Errors
    /// A worker is stalled: the process is to end.
    pub(crate) fn look(
        &mut self,
        counters: &Counters,
        state: &State,
        generation: u64,
        now: Duration,
    ) -> Result<(), Stalled> {
        if now < self.next {
            return Ok(());
        }
        self.next = now + Self::EVERY;
        match self.watchdog.look(counters.steps(), now) {
            Verdict::Wait => {}
            Verdict::Alive => tell(&[NotifyState::Watchdog]),
            Verdict::Stalled(stalled) => return Err(stalled),
        }
        if !self.ready && self.watchdog.all_run() && !state.is_starting() {
            self.ready = true;
            tracing::info!(workers = counters.steps().count(), "running");
            tell(&[NotifyState::Ready]);
        }
        self.tell_status(state, generation);
        Ok(())
    }

    /// How long until it looks again.
    pub(crate) fn wait(&self, now: Duration) -> Duration {
        self.next.saturating_sub(now)
    }

    /// A reload begins. Until [`Manager::reloaded`] `systemctl reload` waits.
    pub(crate) fn reloading(&self) {
        match NotifyState::monotonic_usec_now() {
            Ok(now) => tell(&[NotifyState::Reloading, now]),
            Err(error) => tracing::warn!(reason = %error, "no monotonic clock to tell systemd"),
        }
    }

    /// It is over; `refused`: nothing was changed, and why.
    pub(crate) fn reloaded(&mut self, refused: Option<&dyn std::fmt::Display>) {
        let first_line = |why: &dyn std::fmt::Display| {
            why.to_string().lines().next().unwrap_or_default().to_owned()
        };
        self.refused = refused.map(first_line);
        self.status = None;
        if self.ready {
            tell(&[NotifyState::Ready]);
        }
    }

    /// The process ends, for this reason if it is no good one.
    pub(crate) fn stopping(&self, why: &str) {
        tell(&[NotifyState::Stopping, NotifyState::Status(why)]);
    }

    /// Every change of the state is a generation of the Tables.
    fn tell_status(&mut self, state: &State, generation: u64) {
        if self.ready && self.status.replace(generation) != Some(generation) {
            let line = status::line(state, generation, self.refused.as_deref());
            tell(&[NotifyState::Status(&line)]);
        }
    }
}

/// Nobody may listen; who should and does not is a matter of the log, not of the packets (D-12).
fn tell(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::warn!(reason = %error, "the service manager does not listen");
    }
}
