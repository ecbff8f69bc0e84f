//! Controller and desk under a virtual clock.

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tables::{EpochAge, Key, PortId, Tables};

use super::desk::{Desk, LiveEntry, Report};
use super::frame::frame;
use super::result::{self, ChangeResult, EventResult, PacketResult};
use super::scenario::{Event, Packet, Place, Step, What};
use super::setting::{self, CLOCK};
use crate::config::restart_needed;
use crate::model::Config;
use crate::reload::{Controller, Kept};
use crate::state::{Change, Clock, State};

/// A process in miniature: one worker, one control thread, no clock but the events'.
pub struct Simulator<D> {
    desk: D,
    controller: Controller,
    /// The file in force, as it was written.
    file: Arc<Config>,
    /// Packets that are held, in the order of their arrival.
    held: Vec<Held>,
    clock: Clock,
}

/// A fragment that waits for its first one.
struct Held {
    event: usize,
    at: String,
    datagram: (IpAddr, IpAddr, u32),
}

/// Why a simulation cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum Stop {
    /// An event names what there is not.
    #[error("{place}: event {event}: {message}")]
    Event {
        /// Where the event is.
        place: Place,
        /// Its number.
        event: usize,
        /// What is wrong with it.
        message: String,
    },
    /// The configuration is too large for the Tables.
    #[error(transparent)]
    Kept(#[from] Kept),
    /// A packet arrives at a port that there is not.
    #[error(transparent)]
    NoPort(#[from] NoPort),
}

/// A packet arrives at a port that there is not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no port {0:?}")]
pub struct NoPort(pub String);

/// Reads a configuration that a scenario names; `Err` says why it cannot be had.
pub type Load<'l> = &'l dyn Fn(&Path) -> Result<Config, String>;

impl<D: Desk> Simulator<D> {
    /// A process that has just read its first file, at time zero.
    ///
    /// # Errors
    /// The configuration is too large for the Tables.
    pub fn new(file: Config, desk: D) -> Result<Self, Stop> {
        let config = Arc::new(setting::completed(&file));
        let wiring = setting::wiring(&config);
        let (controller, tables) = Controller::new(config, wiring, CLOCK, Duration::ZERO)?;
        let mut new =
            Self { desk, controller, file: Arc::new(file), held: Vec::new(), clock: CLOCK };
        new.desk.publish(tables);
        Ok(new)
    }

    /// A process that goes on from what another knows, with that one's clock.
    ///
    /// # Errors
    /// The configuration is too large for the Tables.
    pub fn resume(state: State, desk: D, now: Duration) -> Result<Self, Stop> {
        let (file, clock) = (Arc::clone(state.config()), state.clock());
        let config = Arc::new(setting::completed(&file));
        let wiring = setting::wiring(&config);
        let state = state.after(&[Change::Reload(config)], now).map_err(Kept::from)?;
        let (controller, tables) = Controller::resume(state, wiring)?;
        let mut new = Self { desk, controller, file, held: Vec::new(), clock };
        new.desk.publish(tables);
        Ok(new)
    }

    /// Takes a connection of the process that it goes on from as known here.
    pub fn adopt(&mut self, key: &Key, entry: LiveEntry, now: Duration) {
        self.desk.adopt(key, entry, self.clock.tick(now));
    }

    /// What is known of the backends.
    pub fn state(&self) -> &State {
        self.controller.state()
    }

    /// The Tables in force.
    pub fn tables(&mut self) -> &Tables {
        self.desk.tables()
    }

    /// Runs one event. Nothing of an event that names something unknown is applied.
    ///
    /// # Errors
    /// The event names a backend, a service or a port that there is not.
    pub fn run(&mut self, event: &Event, load: Load<'_>) -> Result<EventResult, Stop> {
        let ended = self.let_time_pass(event.at)?;
        match &event.what {
            What::Packet(packet) => self.packet(event, packet, ended),
            What::Change(steps) => self.change(event, steps, load, ended),
            What::Nothing => Ok(self.changed(event, ended, None)),
        }
    }

    /// Applies a change at a moment; says how many entries it ended.
    ///
    /// # Errors
    /// It names a backend or a service that there is not.
    pub fn apply(&mut self, changes: &[Change], now: Duration) -> Result<usize, Stop> {
        let tables = self.controller.apply(changes, now)?;
        Ok(self.publish(tables, now))
    }

    /// Takes one packet through the worker.
    ///
    /// # Errors
    /// It arrives at a port that there is not.
    pub fn step(&mut self, packet: &Packet, now: Duration) -> Result<Option<Report>, NoPort> {
        let ports = &self.state().config().ports;
        let named = |name: &String| ports.iter().position(|p| *p.name == **name);
        let index = match &packet.port {
            Some(name) => named(name).ok_or_else(|| NoPort(name.clone()))?,
            None => 0,
        };
        let port = PortId(index as u8);
        let vlan = ports.get(index).map_or(0, |p| p.vlan);
        let bytes = frame(packet, setting::mac(port), vlan);
        Ok(self.desk.step(port, &bytes, self.clock.tick(now)))
    }

    /// What a packet's report says, with the names of the configuration; `None`: it is held.
    pub fn describe(&mut self, report: Option<&Report>) -> PacketResult {
        result::packet(report, self.controller.state(), self.desk.tables())
    }

    /// Draining deadlines that have come, each at its own time (T-13).
    fn let_time_pass(&mut self, until: Duration) -> Result<usize, Stop> {
        let mut ended = 0;
        while let Some(deadline) = self.state().next_deadline().filter(|d| *d <= until) {
            if let Some(tables) = self.controller.advance(deadline)? {
                ended += self.publish(tables, deadline);
            }
        }
        Ok(ended)
    }

    /// Publishes new Tables; says how many entries that were live end by it.
    fn publish(&mut self, tables: Tables, now: Duration) -> usize {
        let age = |e: &LiveEntry| tables.slots.age(e.slot, e.lifetime, e.epoch);
        let live = self.desk.live(self.clock.tick(now));
        let ended = live.iter().filter(|e| age(e) != EpochAge::Current).count();
        self.desk.publish(tables);
        ended
    }

    fn packet(
        &mut self,
        event: &Event,
        packet: &Packet,
        ended: usize,
    ) -> Result<EventResult, Stop> {
        let report = self.step(packet, event.at).map_err(|e| stop(event, e.to_string()))?;
        let mut result = self.describe(report.as_ref());
        result.event = event.number;
        result.at.clone_from(&event.at_text);
        result.entries_removed = ended;
        result.released = self.released();
        if report.is_none() {
            self.hold(event, packet);
        }
        Ok(EventResult::Packet(Box::new(result)))
    }

    fn hold(&mut self, event: &Event, packet: &Packet) {
        let id = packet.fragment.map_or(0, |(_, id)| id);
        let datagram = (packet.tuple.src, packet.tuple.dst, id);
        self.held.push(Held { event: event.number, at: event.at_text.clone(), datagram });
    }

    /// What is no longer held. Fragments of one datagram leave in the order of their arrival.
    fn released(&mut self) -> Vec<PacketResult> {
        let reports = self.desk.released();
        reports.iter().map(|report| self.released_one(report)).collect()
    }

    fn released_one(&mut self, report: &Report) -> PacketResult {
        let mut result = self.describe(Some(report));
        let datagram = (report.flow.src(), report.flow.dst(), report.fragment_id);
        if let Some(place) = self.held.iter().position(|held| held.datagram == datagram) {
            let held = self.held.remove(place);
            (result.event, result.at) = (held.event, held.at);
        }
        result
    }

    fn change(
        &mut self,
        event: &Event,
        steps: &[Step],
        load: Load<'_>,
        ended: usize,
    ) -> Result<EventResult, Stop> {
        let (changes, file) = match self.changes(steps, load) {
            Ok(changes) => changes,
            Err(refused) => return Ok(self.changed(event, ended, Some(refused))),
        };
        let ended = match self.apply(&changes, event.at) {
            Ok(by_change) => ended + by_change,
            Err(stopped) => return Err(stop(event, stopped.to_string())),
        };
        self.file = file;
        Ok(self.changed(event, ended, None))
    }

    /// The changes, and the file in force behind them; or why a new file is not taken.
    fn changes(
        &self,
        steps: &[Step],
        load: Load<'_>,
    ) -> Result<(Vec<Change>, Arc<Config>), String> {
        let mut file = Arc::clone(&self.file);
        let mut changes = Vec::new();
        for step in steps {
            changes.push(match step {
                Step::Backend { service, backend, verb } => Change::Backend {
                    service: service.clone(),
                    backend: backend.clone(),
                    verb: *verb,
                },
                Step::Reload(path) => {
                    let new = load(path)?;
                    let restart = restart_needed(&file, &new);
                    if !restart.is_empty() {
                        return Err(format!("needs a restart (R-5): {}", restart.join("; ")));
                    }
                    let change = Change::Reload(Arc::new(setting::completed(&new)));
                    file = Arc::new(new);
                    change
                }
            });
        }
        Ok((changes, file))
    }

    fn changed(&self, event: &Event, ended: usize, refused: Option<String>) -> EventResult {
        EventResult::Change(ChangeResult {
            event: event.number,
            at: event.at_text.clone(),
            eligible: result::eligible_sets(self.state()),
            entries_removed: ended,
            refused,
        })
    }
}

fn stop(event: &Event, message: String) -> Stop {
    Stop::Event { place: event.place, event: event.number, message }
}
