//! The appliance: DPDK, ports, workers, and the control loop that feeds them Tables.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use control::admin::request::{File, Stage};
use control::model::Config;
use control::plan::wiring::Wiring;
use control::reload::{Controller, Kept};
use control::state::{Change, Clock};
use dataplane::icmp::PathMtus;
use dataplane::probe::Probes;
use dpdk::Launched;
use tables::probes::ProbeSlots;
use tables::publish::Publisher;
use tables::{Counters, Tables, Tick};

use crate::admin::{Admin, Claimed, Surroundings};
use crate::background::Background;
use crate::beats::Beats;
use crate::checks::Checks;
use crate::claim::Claim;
use crate::counters::Summary;
use crate::ending::{self, Ending};
use crate::events::{Event, Events};
use crate::failure::Failure;
use crate::first_results::{Due, FirstResults};
use crate::host::Hosts;
use crate::lag::Lag;
use crate::logging::Log;
use crate::opening::Opening;
use crate::ports::{self, Ports};
use crate::quiet::Quiet;
use crate::rounds::Rounds;
use crate::routes::Routes;
use crate::service::{Manager, Stalled};
use crate::tunnel_errors::TunnelErrors;
use crate::watch::Watch;
use crate::{admin, say, workers};

/// A running appliance.
pub(crate) struct Appliance {
    controller: Controller,
    publisher: Publisher<Tables>,
    /// The Tables that say what the state is, published or not.
    newest: Arc<Tables>,
    /// Tables that the publisher could not take yet: the newest ones only.
    waiting: Option<Arc<Tables>>,
    admin: Admin,
    lag: Lag,
    rounds: Rounds,
    counters: Arc<Counters>,
    start: Instant,
    stop: Arc<AtomicBool>,
    workers: Vec<Launched<()>>,
    hosts: Hosts,
    beats: Beats,
    routes: Routes,
    tunnels: TunnelErrors,
    checks: Checks,
    opening: Opening,
    first_results: FirstResults,
    watch: Watch,
    background: Background,
    manager: Manager,
    _quiet: Quiet,
    _claims: Vec<Claim>,
}

impl Appliance {
    /// So many old Tables may wait for their last reader.
    const RETIRED: usize = 16;
    /// How soon it tries again when a worker has not let go of old Tables.
    const RETRY: Duration = Duration::from_millis(10);

    /// Starts everything; what was started is stopped again if something fails.
    pub(crate) fn start(
        config: Config,
        file: &Path,
        events: &Events,
        background: Background,
    ) -> Result<Self, Failure> {
        let socket = Claimed::of(&config)?;
        let Ports { eal, pool, devices, macs, watch, claims } = ports::open(&config)?;
        let quiet = Quiet::under(&config);
        let start = Instant::now();
        // First, so that the first picture of the kernel has their routes.
        let (hosts, to_workers) = Hosts::start(&config, &macs, &watch.are_up())?;
        let routes = Routes::follow(&config, &background, events);
        let wiring = Wiring { macs: macs.clone(), kernel: routes.kernel(), ..Wiring::default() };
        let config = Arc::new(config);
        let clock = Clock { tick_length: Tick::LENGTH };
        let (mut controller, tables) =
            Controller::awaiting(Arc::clone(&config), wiring, clock, Duration::ZERO)?;
        let tables = admin::restore_orders(&mut controller).unwrap_or(Ok(tables))?;
        tracing::info!(generation = tables.generation, "tables published");
        routes.want(controller.state());
        let newest = Arc::new(tables);
        let publisher = Publisher::new(Arc::clone(&newest), Self::RETIRED);
        let stop = Arc::new(AtomicBool::new(false));
        let counters = Arc::new(Counters::new(eal.workers()));
        let connections = workers::connections(&config).map_err(Failure::Connections)?;
        let paths = Arc::new(PathMtus::new(Tick::LENGTH));
        let tunnels = TunnelErrors::new(Arc::clone(&paths));
        let probes = Arc::new(ProbeSlots::default());
        let on = (background.handle(), events.bell(Event::Health));
        let checks = Checks::start(&config, Arc::clone(&probes), Arc::clone(&paths), on, start);
        let crew = workers::Crew {
            eal: &eal,
            pool: &pool,
            hosts: &to_workers,
            counters: &counters,
            connections: Arc::clone(&connections),
            fragments: workers::fragments(),
            paths,
            probes: Probes::new(probes),
            limit: workers::limit(&config),
            idle: workers::idle(&config),
            start,
            stop: &stop,
        };
        let workers = crew.launch(devices, &publisher, events)?;
        let around = Surroundings {
            start,
            file,
            counters: &counters,
            connections: &connections,
            checks: &checks,
            state: controller.state(),
            tables: &newest,
        };
        let admin = Admin::start(socket, &around, events, &background).map_err(Failure::Serving)?;
        if !eal.huge() {
            tracing::warn!("no huge pages: packets and connections are in small ones, at a cost");
        }
        let manager = Manager::new(workers.len(), start.elapsed());
        let first_results = FirstResults::of_start(controller.state(), start.elapsed());
        Ok(Self {
            controller,
            publisher,
            newest,
            waiting: None,
            admin,
            lag: Lag::default(),
            rounds: Rounds::new(Arc::clone(&connections)),
            counters,
            start,
            stop,
            workers,
            hosts,
            beats: Beats::default(),
            routes,
            tunnels,
            checks,
            opening: Opening::new(start.elapsed()),
            first_results,
            watch,
            background,
            manager,
            _quiet: quiet,
            _claims: claims,
        })
    }

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
            if let Err(stalled) = self.advance() {
                break Ending::Stalled(stalled);
            }
            log.tell_repeats();
        };
        self.finish(ending, log)
    }

    /// Carries out what the control socket has brought.
    fn answer(&mut self, file: &Path, log: &Log) {
        let mut answered = self.admin.answer(&mut self.controller, self.start.elapsed());
        if let Some(tables) = answered.tables.take() {
            self.publish(Arc::new(tables));
            self.checks.watch(self.controller.state());
        }
        for stage in answered.reloads.drain(..) {
            match stage {
                Stage::Begins => self.manager.reloading(),
                Stage::Ends(reloaded) => {
                    log.reloaded(&reloaded, file);
                    self.manager.reloaded(reloaded.error.as_ref().map(|why| why as _));
                }
            }
        }
        for new in answered.files.drain(..) {
            self.announce(new);
        }
        answered.tell();
    }

    /// New Tables with the next hops that there are now.
    fn reroute(&mut self) {
        if let Err(kept) = self.apply(&[]) {
            tracing::error!(reason = %kept, "the old Tables go on");
        }
    }

    /// What is new in a valid file is checked before the file is in force.
    fn announce(&mut self, new: File) {
        // Files come into force in their order.
        let before = self.first_results.end();
        self.bring_into_force(before);
        let now = self.start.elapsed();
        let announcement = self.controller.announcement(&new.config, now);
        let announced = announcement.and_then(|change| match change {
            Some(change) => self.change(&[change]).map(drop),
            None => Ok(()),
        });
        match announced {
            Ok(()) => self.first_results = FirstResults::of_reload(new, now),
            Err(kept) => new.end(Arc::clone(self.controller.state()), Err(kept)),
        }
    }

    /// What the ways to backends have waited for, if it is time.
    fn begin_checks(&mut self) {
        let (routes, state) = (&self.routes, self.controller.state());
        if self.opening.is_due(|| routes.know_ways(state), self.start.elapsed()) {
            self.checks.watch(state);
        }
    }

    /// Brings into force what has waited long enough.
    fn serve_first_results(&mut self) {
        let due = self.first_results.take(self.controller.state(), self.start.elapsed());
        self.bring_into_force(due);
    }

    fn bring_into_force(&mut self, due: Option<Due>) {
        match due {
            None => {}
            Some(Due::Start) => {
                if let Err(kept) = self.change(&[Change::Release]) {
                    tracing::error!(reason = %kept, "the old Tables go on");
                }
            }
            Some(Due::File(new)) => {
                let before = Arc::clone(self.controller.state());
                let done = self.change(&[Change::Reload(Arc::new(new.config.clone()))]);
                new.end(before, done);
                self.hosts.set_addresses(self.controller.state().config());
            }
        }
    }

    /// What checks have found out.
    fn hear(&mut self) {
        let changes = self.checks.take();
        if changes.is_empty() {
            return;
        }
        if let Err(kept) = self.apply(&changes) {
            tracing::error!(reason = %kept, "the old Tables go on");
        }
    }

    /// Applies changes as one, publishes what follows, and asks what is to be asked then.
    fn change(&mut self, changes: &[Change]) -> Result<u64, Kept> {
        let generation = self.apply(changes)?;
        self.checks.watch(self.controller.state());
        Ok(generation)
    }

    /// The same for changes after which nobody else is to be asked.
    fn apply(&mut self, changes: &[Change]) -> Result<u64, Kept> {
        let tables = self.controller.apply(changes, self.start.elapsed())?;
        Ok(self.publish(Arc::new(tables)))
    }

    /// Lets time pass.
    fn advance(&mut self) -> Result<(), Stalled> {
        match self.controller.advance(self.start.elapsed()) {
            Ok(Some(tables)) => {
                self.publish(Arc::new(tables));
            }
            Ok(None) => self.publish_waiting(),
            Err(kept) => tracing::error!(reason = %kept, "the old Tables go on"),
        }
        self.look_after();
        let (tables, now) = (self.publisher.current(), self.start.elapsed());
        self.manager.look(&self.counters, self.controller.state(), tables.generation, now)
    }

    /// What the workers leave to the control thread: old Tables and dead entries.
    fn look_after(&mut self) {
        let now = self.start.elapsed();
        self.publisher.collect();
        let links = self.watch.look();
        self.hosts.follow(&links);
        self.checks.follow(&links);
        self.beats.look(self.counters.steps(), now);
        let (generation, able) = (self.publisher.current().generation, !self.beats.stand_still());
        self.hosts.announce(self.controller.state(), generation, able);
        if let Some(notice) = self.lag.observe(self.publisher.held_back(), now) {
            notice.log();
        }
        self.rounds.advance(&self.publisher.current(), now);
        self.tunnels.say(self.controller.state(), now);
        self.checks.take_hints(self.controller.state(), now);
        if self.admin.is_due(now) {
            self.show();
        }
    }

    /// Shows whoever asks how things stand.
    fn show(&self) {
        let lagging = self.publisher.held_back().map(|held| held.readers).unwrap_or_default();
        let (state, links) = (self.controller.state(), self.watch.links());
        self.admin.show(state, &self.newest, links, lagging, self.rounds.latest());
    }

    fn print(&self) {
        say::out(Summary { counters: &self.counters, losses: &self.watch });
        say::out(self.rounds.summary(self.start.elapsed()));
        say::out(self.watch.bonds());
        say::out(self.checks.summary());
    }

    /// Newer Tables replace those that still wait: changes merge (D-5).
    fn publish(&mut self, tables: Arc<Tables>) -> u64 {
        self.routes.want(self.controller.state());
        let generation = tables.generation;
        self.newest = Arc::clone(&tables);
        self.waiting = Some(tables);
        self.publish_waiting();
        self.show();
        generation
    }

    fn publish_waiting(&mut self) {
        if let Some(tables) = self.waiting.take() {
            let generation = tables.generation;
            match self.publisher.try_publish(tables) {
                Ok(()) => tracing::info!(generation, "tables published"),
                Err(refused) => self.waiting = Some(refused.value),
            }
        }
    }

    fn wait(&self) -> Duration {
        if self.waiting.is_some() {
            return Self::RETRY;
        }
        let now = self.start.elapsed();
        let round = self.rounds.wait(now).min(self.manager.wait(now));
        let due = self.controller.state().next_deadline();
        let due = due.into_iter().chain(self.first_results.until()).min();
        due.map_or(round, |at| at.saturating_sub(now).min(round))
    }

    fn finish(self, ending: Ending, log: &Log) -> Ending {
        self.manager.stopping(&ending.to_string());
        self.background.end();
        self.stop.store(true, Ordering::Relaxed);
        let ending = ending::join(self.workers, ending, log);
        drop(self.hosts);
        say::out(Summary { counters: &self.counters, losses: &self.watch });
        ending
    }
}
