//! What the workers share with each other and with the control side.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use control::model::Config;
use control::netlink::Kernel;
use dataplane::icmp::PathMtus;
use dataplane::io::host::WorkerSide;
use dataplane::probe::Probes;
use dataplane::track::ConnectionTable;
use dpdk::{Eal, Launched, Mempool};
use tables::probes::ProbeSlots;
use tables::{Counters, Tick};

use super::publication::Publication;
use crate::admin::Surroundings;
use crate::background::Background;
use crate::checks::Checks;
use crate::events::{Event, Events};
use crate::failure::Failure;
use crate::ports::OpenDevice;
use crate::workers;

/// All of it; the time begins with it.
pub(super) struct Shared {
    start: Instant,
    pub(super) counters: Arc<Counters>,
    pub(super) connections: Arc<ConnectionTable>,
    pub(super) paths: Arc<PathMtus>,
    probes: Arc<ProbeSlots>,
    /// Set when the workers are to stop.
    pub(super) stop: Arc<AtomicBool>,
}

/// What workers are launched on.
pub(super) struct Ground<'a> {
    pub(super) eal: &'a Eal,
    pub(super) pool: &'a Mempool,
    pub(super) devices: Vec<OpenDevice>,
    /// The ways to the host, by port.
    pub(super) hosts: &'a [Option<WorkerSide>],
}

impl Shared {
    /// Maps the connection table.
    pub(super) fn new(config: &Config, eal: &Eal) -> Result<Self, Failure> {
        Ok(Self {
            start: Instant::now(),
            counters: Arc::new(Counters::new(eal.workers())),
            connections: workers::connections(config).map_err(Failure::Connections)?,
            paths: Arc::new(PathMtus::new(Tick::LENGTH)),
            probes: Arc::default(),
            stop: Arc::default(),
        })
    }

    /// The appliance's clock.
    pub(super) fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// What asks the backends.
    pub(super) fn checks(
        &self,
        config: &Arc<Config>,
        kernel: Option<Arc<Kernel>>,
        background: &Background,
        events: &Events,
    ) -> Checks {
        let on = (background.handle(), events.bell(Event::Health));
        let of = (Arc::clone(&self.probes), Arc::clone(&self.paths));
        Checks::start(config, kernel, of, on, self.start)
    }

    /// Launches the workers.
    pub(super) fn launch(
        &self,
        config: &Config,
        ground: Ground<'_>,
        publication: &Publication,
        events: &Events,
    ) -> Result<Vec<Launched<()>>, dpdk::Error> {
        let crew = workers::Crew {
            eal: ground.eal,
            pool: ground.pool,
            hosts: ground.hosts,
            counters: &self.counters,
            connections: Arc::clone(&self.connections),
            fragments: workers::fragments(),
            paths: Arc::clone(&self.paths),
            probes: Probes::new(Arc::clone(&self.probes)),
            limit: workers::limit(config),
            idle: workers::idle(config),
            start: self.start,
            stop: &self.stop,
        };
        crew.launch(ground.devices, &publication.publisher, events)
    }

    /// What whoever asks at the control socket has to know of.
    pub(super) fn around<'a>(
        &'a self,
        file: &'a Path,
        checks: &'a Checks,
        publication: &'a Publication,
    ) -> Surroundings<'a> {
        Surroundings {
            start: self.start,
            file,
            counters: &self.counters,
            connections: &self.connections,
            checks,
            state: publication.state(),
            tables: publication.newest(),
        }
    }
}
