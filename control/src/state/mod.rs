//! What is known beyond the file: health, weights, drains, and the slots' epochs.
//!
//! [`State`] takes changes and the time, and nothing else (D-9): no socket, no clock, no Tables.
//! Several changes given together are one change: what follows from them is decided once.

mod backend;
mod keys;
mod service;
mod slots;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tables::{ServiceId, SlotEpochs};

pub use backend::Backend;
pub use service::Service;

use crate::model::Config;
use slots::Slots;

/// How long a tick of the connection table is.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// The length.
    pub tick_length: Duration,
}

/// Something that happens to the state.
#[derive(Clone, Debug)]
pub enum Change {
    /// A new file.
    Reload(Arc<Config>),
    /// Something about one backend.
    Backend {
        /// The service's name.
        service: String,
        /// `group/name`.
        backend: String,
        /// What.
        verb: Verb,
    },
}

/// What happens to a backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// The checker's verdict, thresholds passed.
    Health(bool),
    /// A weight from the check's header.
    Weight(u16),
    /// The operator's verbs (T-18).
    Drain,
    /// A change to unhealthy.
    Disable,
    /// Undoes both.
    Enable,
}

/// Why a change was refused; nothing of it was applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// No such service.
    #[error("there is no service \"{0}\"")]
    NoService(String),
    /// No such backend.
    #[error("service \"{service}\" has no backend \"{backend}\"; it has {known}")]
    NoBackend {
        /// The service.
        service: String,
        /// The backend asked for.
        backend: String,
        /// Those that there are.
        known: String,
    },
    /// Too many services or backends, draining ones included.
    #[error("too many services or backends, those that still drain included; wait for the drains")]
    Exhausted,
}

/// Everything that is known.
#[derive(Clone, Debug)]
pub struct State {
    config: Arc<Config>,
    clock: Clock,
    slots: Slots,
    services: BTreeMap<Arc<str>, Service>,
}

impl State {
    /// The state of a process that has just read its first file.
    pub fn new(config: Arc<Config>, clock: Clock, now: Duration) -> Result<Self, Refused> {
        let slots = Slots::default();
        let mut state =
            Self { config: Arc::clone(&config), clock, slots, services: BTreeMap::new() };
        state.apply(&[Change::Reload(config)], now)?;
        Ok(state)
    }

    /// What the state would be after all of `changes`, taken as one change.
    pub fn after(&self, changes: &[Change], now: Duration) -> Result<Self, Refused> {
        let mut next = self.clone();
        for change in changes {
            next.take(change, now)?;
        }
        next.settle(now);
        Ok(next)
    }

    /// Applies all of `changes` as one change, or none of them.
    pub fn apply(&mut self, changes: &[Change], now: Duration) -> Result<(), Refused> {
        *self = self.after(changes, now)?;
        Ok(())
    }

    /// Lets time pass: drains whose deadline has come end (T-13).
    pub fn advance(&mut self, now: Duration) {
        self.settle(now);
    }

    /// When [`State::advance`] will have something to do.
    pub fn next_deadline(&self) -> Option<Duration> {
        self.services.values().filter_map(Service::next_deadline).min()
    }

    /// The file in force.
    pub fn config(&self) -> &Arc<Config> {
        &self.config
    }

    /// The clock of the connection table.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Every service, those that only drain included, by name.
    pub fn services(&self) -> impl Iterator<Item = &Service> {
        self.services.values()
    }

    /// One service.
    pub fn service(&self, name: &str) -> Option<&Service> {
        self.services.get(name)
    }

    /// Every slot's epochs, by slot number.
    pub fn epochs(&self) -> &[SlotEpochs] {
        self.slots.epochs()
    }

    fn take(&mut self, change: &Change, now: Duration) -> Result<(), Refused> {
        match change {
            Change::Reload(config) => self.reload(config, now).ok_or(Refused::Exhausted),
            Change::Backend { service, backend, verb } => self.tell(service, backend, *verb),
        }
    }

    /// Whether there is this backend.
    ///
    /// # Errors
    /// There is no such service, or it has no such backend.
    pub fn has(&self, service: &str, path: &str) -> Result<(), Refused> {
        let found = self.services.get(service).filter(|s| s.is_in_file());
        let service = found.ok_or_else(|| Refused::NoService(service.to_owned()))?;
        let known = service.backends.iter().any(|b| *b.path == *path);
        if known { Ok(()) } else { Err(no_backend(service, path)) }
    }

    fn tell(&mut self, service: &str, path: &str, verb: Verb) -> Result<(), Refused> {
        let found = self.services.get_mut(service).filter(|s| s.is_in_file());
        let service = found.ok_or_else(|| Refused::NoService(service.to_owned()))?;
        let refused = no_backend(service, path);
        let backend = service.backend_mut(path).ok_or(refused)?;
        match verb {
            Verb::Health(passes) => backend.set_passes(passes),
            Verb::Weight(weight) => backend.set_header_weight(weight),
            Verb::Drain => backend.drain(),
            Verb::Disable => backend.disable(),
            Verb::Enable => backend.enable(),
        }
        Ok(())
    }

    fn reload(&mut self, config: &Arc<Config>, now: Duration) -> Option<()> {
        self.config = Arc::clone(config);
        self.services.values_mut().for_each(Service::leave_file);
        let mut unused = self.unused_ids();
        for service in &config.services {
            let service = Arc::new(service.clone());
            let entry = match self.services.entry(Arc::clone(&service.name)) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => {
                    new.insert(Service::new(unused.next()?, Arc::clone(&service)))
                }
            };
            entry.configure(service, &mut self.slots, self.clock, now)?;
        }
        Some(())
    }

    /// The ids that no service has, those that only drain included.
    fn unused_ids(&self) -> impl Iterator<Item = ServiceId> + use<> {
        let used: HashSet<_> = self.services.values().map(|s| s.id).collect();
        (0..=u16::MAX).map(ServiceId).filter(move |id| !used.contains(id))
    }

    fn settle(&mut self, now: Duration) {
        for service in self.services.values_mut() {
            service.settle(&mut self.slots, now);
        }
        self.services.retain(|_, s| !s.is_gone());
    }
}

fn no_backend(service: &Service, path: &str) -> Refused {
    let known: Vec<_> = service.backends.iter().map(|b| &*b.path).collect();
    Refused::NoBackend {
        service: service.config.name.to_string(),
        backend: path.to_owned(),
        known: known.join(", "),
    }
}

#[cfg(test)]
mod tests;
