//! The appliance: DPDK, ports, workers, and the control loop that feeds them Tables.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use control::admin::request::Stage;
use control::model::Config;
use control::plan::wiring::Wiring;
use control::reload::Controller;
use control::state::Clock;
use dataplane::icmp::PathMtus;
use dpdk::Launched;
use tables::publish::Publisher;
use tables::{Counters, Tables, Tick};

use crate::admin::{Admin, Claimed, Surroundings};
use crate::background::Background;
use crate::beats::Beats;
use crate::claim::Claim;
use crate::counters::Summary;
use crate::ending::{self, Ending};
use crate::events::{Event, Events};
use crate::failure::Failure;
use crate::host::Hosts;
use crate::lag::Lag;
use crate::logging::Log;
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
        let (hosts, to_workers) = Hosts::start(&config, &macs)?;
        let routes = Routes::follow(&config, &background, events);
        let wiring = Wiring { macs: macs.clone(), kernel: routes.kernel(), ..Wiring::default() };
        let config = Arc::new(config);
        let clock = Clock { tick_length: Tick::LENGTH };
        let (mut controller, tables) =
            Controller::new(Arc::clone(&config), wiring, clock, Duration::ZERO)?;
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
        let crew = workers::Crew {
            eal: &eal,
            pool: &pool,
            hosts: &to_workers,
            counters: &counters,
            connections: Arc::clone(&connections),
            fragments: workers::fragments(),
            paths,
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
            state: controller.state(),
            tables: &newest,
        };
        let admin = Admin::start(socket, &around, events, &background).map_err(Failure::Serving)?;
        if !eal.huge() {
            tracing::warn!("no huge pages: packets and connections are in small ones, at a cost");
        }
        let manager = Manager::new(workers.len(), start.elapsed());
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
            watch,
            background,
            manager,
            _quiet: quiet,
            _claims: claims,
        })
    }

    /// Serves until it is told to stop, or a worker ends by itself or stalls.
    pub(crate) fn serve(mut self, file: &Path, events: &Events, log: &Log) -> Ending {
        let ending = loop {
            match events.next(self.wait()) {
                Event::Network => self.reroute(),
                Event::Reload => self.admin.reload(),
                Event::Print => self.print(),
                Event::Asked => self.answer(file, log),
                Event::Time => {}
                Event::Stop => break Ending::Asked,
                Event::WorkerEnded(number) => break Ending::WorkerEnded(number),
            }
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
            let before = Arc::clone(self.controller.state());
            let reloaded = self.controller.reload(&new.config, self.start.elapsed());
            new.end(before, reloaded.map(|tables| self.publish(Arc::new(tables))));
            self.hosts.set_addresses(self.controller.state().config());
        }
        answered.tell();
    }

    /// New Tables with the next hops that there are now.
    fn reroute(&mut self) {
        match self.controller.apply(&[], self.start.elapsed()) {
            Ok(tables) => {
                self.publish(Arc::new(tables));
            }
            Err(kept) => tracing::error!(reason = %kept, "the old Tables go on"),
        }
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
        self.hosts.announce_again(&self.watch.look());
        self.beats.look(self.counters.steps(), now);
        let (generation, able) = (self.publisher.current().generation, !self.beats.stand_still());
        self.hosts.announce(self.controller.state(), generation, able);
        if let Some(notice) = self.lag.observe(self.publisher.held_back(), now) {
            notice.log();
        }
        self.rounds.advance(&self.publisher.current(), now);
        self.tunnels.say(self.controller.state(), now);
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
        self.watch.states().iter().for_each(say::out);
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
