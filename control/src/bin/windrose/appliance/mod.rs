//! The appliance: DPDK, ports, workers, and the control loop that feeds them Tables.
//!
//! [`Appliance::serve`] is the loop: one event at a time, and then what is due. `begin` is how it
//! starts; `changes` is what changes the state, and with it the Tables: `publication`. `shared` is
//! what the workers share, `tended` what is looked after beside them.

mod begin;
mod changes;
mod publication;
mod shared;
mod tended;

use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use control::admin::request::File;
use dpdk::Launched;

use crate::admin::Admin;
use crate::background::Background;
use crate::checks::Checks;
use crate::claim::Claim;
use crate::counters::Summary;
use crate::ending::{self, Ending};
use crate::events::{Event, Events};
use crate::first_results::FirstResults;
use crate::host::Hosts;
use crate::logging::Log;
use crate::opening::Opening;
use crate::quiet::Quiet;
use crate::routes::Routes;
use crate::say;
use crate::service::{Manager, Stalled};
use crate::watch::Watch;
use publication::Publication;
use shared::Shared;
use tended::Tended;

/// A running appliance.
pub(crate) struct Appliance {
    publication: Publication,
    shared: Shared,
    admin: Admin,
    tended: Tended,
    workers: Vec<Launched<()>>,
    hosts: Hosts,
    routes: Routes,
    checks: Checks,
    opening: Opening,
    first_results: FirstResults<File>,
    watch: Watch,
    background: Background,
    manager: Manager,
    /// What holds for as long as it runs.
    _kept: (Quiet, Vec<Claim>),
}

impl Appliance {
    /// How soon it tries again when a worker has not let go of old Tables.
    const RETRY: Duration = Duration::from_millis(10);

    /// Serves until it is told to stop, or a worker ends by itself or stalls.
    pub(crate) fn serve(mut self, file: &Path, events: &Events, log: &Log) -> Ending {
        self.begin_checks();
        let ending = loop {
            match events.next(self.wait()) {
                Event::Network => self.reroute(),
                Event::Reload => self.admin.reload(),
                Event::Print => self.print(),
                Event::Asked => self.answer(file, log),
                Event::Health => self.hear(),
                Event::Time => {}
                Event::Stop => break Ending::Asked,
                Event::WorkerEnded(number) => break Ending::WorkerEnded(number),
            }
            self.begin_checks();
            self.serve_first_results();
            // Whatever keeps coming: time passes too.
            self.let_time_pass();
            if let Err(stalled) = self.look_after() {
                break Ending::Stalled(stalled);
            }
            log.tell_repeats();
        };
        self.finish(ending, log)
    }

    /// What the workers leave to the control thread.
    fn look_after(&mut self) -> Result<(), Stalled> {
        let now = self.shared.now();
        self.publication.publisher.collect();
        let links = self.watch.look();
        self.hosts.follow(&links);
        self.checks.follow(&links);
        self.tended.look(&self.shared, &self.publication, now);
        let able = !self.tended.beats.stand_still();
        let generation = self.publication.publisher.current().generation;
        let state = self.publication.state();
        self.hosts.announce(state, generation, able);
        self.checks.take_hints(state, now);
        self.checks.keep_ways(now);
        if self.admin.is_due(now) {
            self.show();
        }
        let (state, now) = (self.publication.state(), self.shared.now());
        self.manager.look(&self.shared.counters, state, generation, now)
    }

    /// Shows whoever asks how things stand.
    fn show(&self) {
        let (state, tables) = (self.publication.state(), self.publication.newest());
        let (links, lagging) = (self.watch.links(), self.publication.lagging());
        self.admin.show(state, tables, links, lagging, self.tended.rounds.latest());
    }

    fn print(&self) {
        say::out(Summary { counters: &self.shared.counters, losses: &self.watch });
        say::out(self.tended.rounds.summary(self.shared.now()));
        say::out(self.watch.bonds());
        say::out(self.checks.summary());
    }

    /// Until something is due, if nothing comes before.
    fn wait(&self) -> Duration {
        if self.publication.is_waiting() {
            return Self::RETRY;
        }
        let now = self.shared.now();
        let round = self.tended.rounds.wait(now).min(self.manager.wait(now));
        let due = self.publication.state().next_deadline();
        let due = due.into_iter().chain(self.first_results.until()).min();
        due.map_or(round, |at| at.saturating_sub(now).min(round))
    }

    fn finish(self, ending: Ending, log: &Log) -> Ending {
        self.manager.stopping(&ending.to_string());
        self.background.end();
        self.shared.stop.store(true, Ordering::Relaxed);
        let ending = ending::join(self.workers, ending, log);
        drop(self.hosts);
        say::out(Summary { counters: &self.shared.counters, losses: &self.watch });
        ending
    }
}
