//! What is known beyond the file: health, weights, drains, and the slots' epochs.
//!
//! [`State`] takes changes and the time, and nothing else (D-9): no socket, no clock, no Tables.
//! Several changes given together are one change: what follows from them is decided once.

mod backend;
mod keys;
mod orders;
mod service;
mod slots;
mod who;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tables::{ServiceId, SlotEpochs};

pub use backend::Backend;
pub use orders::{BackendOrders, Orders, ServiceOrders};
pub use service::Service;
pub use who::Who;

use crate::model::{CheckTarget, Config};
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
    /// A file that is to come: what is new in it can be checked, and is a member of nothing.
    /// The next [`Change::Reload`] or [`Change::Announce`] ends it.
    Announce(Arc<Config>),
    /// First results are not waited for any longer.
    Release,
    /// What a check has found out. Of a backend that is not there any more it means nothing.
    Checked {
        /// Of whom.
        who: Who,
        /// What.
        finding: Finding,
    },
    /// Something about one backend.
    Backend {
        /// The service's name.
        service: String,
        /// `group/name`.
        backend: String,
        /// What.
        verb: Verb,
    },
    /// The operator drains a whole service, or undoes it (T-18).
    Service {
        /// Its name.
        service: String,
        /// Whether it is drained from now on.
        drained: bool,
    },
    /// The operator's orders that an earlier process has kept.
    Orders(Orders),
}

/// What a check has found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The verdict, thresholds passed.
    Health(bool),
    /// A weight from the response's header.
    Weight(u16),
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
    /// A file that is announced, and not in force yet.
    announced: Option<Arc<Config>>,
    clock: Clock,
    slots: Slots,
    services: BTreeMap<Arc<str>, Service>,
    orders: Orders,
}

impl State {
    /// The state of a process that has just read its first file.
    pub fn new(config: Arc<Config>, clock: Clock, now: Duration) -> Result<Self, Refused> {
        let mut state = Self::empty(&config, clock);
        state.apply(&[Change::Reload(config)], now)?;
        Ok(state)
    }

    /// The same, where what is checked has to give its first result before it is a member,
    /// until [`Change::Release`].
    pub fn awaiting(config: Arc<Config>, clock: Clock, now: Duration) -> Result<Self, Refused> {
        let mut state = Self::empty(&config, clock);
        state.take(&Change::Reload(config), now)?;
        let Self { config, services, .. } = &mut state;
        let asked = services.values_mut().filter(|s| is_asked(config, &s.config));
        asked.for_each(Service::await_first_results);
        state.settle(now);
        Ok(state)
    }

    fn empty(config: &Arc<Config>, clock: Clock) -> Self {
        Self {
            config: Arc::clone(config),
            announced: None,
            clock,
            slots: Slots::default(),
            services: BTreeMap::new(),
            orders: Orders::default(),
        }
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

    /// The file that holds for a service: one that is only announced has rules there.
    pub fn config_of(&self, service: &Service) -> &Arc<Config> {
        let announced = self.announced.as_ref().filter(|_| !service.is_in_file());
        announced.unwrap_or(&self.config)
    }

    /// Whether first results are awaited that have not come.
    pub fn is_awaiting(&self) -> bool {
        self.services.values().flat_map(|s| &s.backends).any(Backend::is_awaited)
    }

    /// Whether the process has just started, and nobody serves before first results.
    pub fn is_starting(&self) -> bool {
        self.services.values().any(Service::is_starting)
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

    /// The operator's orders that are in force.
    pub fn orders(&self) -> &Orders {
        &self.orders
    }

    /// Every slot's epochs, by slot number.
    pub fn epochs(&self) -> &[SlotEpochs] {
        self.slots.epochs()
    }

    fn take(&mut self, change: &Change, now: Duration) -> Result<(), Refused> {
        self.understands(change)?;
        match change {
            Change::Reload(config) => self.reload(config, now).ok_or(Refused::Exhausted)?,
            Change::Announce(config) => self.announce(config).ok_or(Refused::Exhausted)?,
            Change::Release => {
                let backends = self.services.values_mut().flat_map(|s| &mut s.backends);
                backends.filter(|b| b.is_in_file()).for_each(Backend::release);
            }
            Change::Checked { who, finding } => self.find_out(who, *finding),
            Change::Backend { service, backend, verb } => self.tell(service, backend, *verb),
            Change::Service { service, drained } => self.drain_service(service, *drained),
            Change::Orders(orders) => {
                self.orders = orders.clone();
                self.obey();
            }
        }
        Ok(())
    }

    /// Whether there is this backend.
    ///
    /// # Errors
    /// There is no such service, or it has no such backend.
    pub fn has(&self, service: &str, path: &str) -> Result<(), Refused> {
        let found = self.services.get(service).filter(|s| s.is_in_file());
        let service = found.ok_or_else(|| Refused::NoService(service.to_owned()))?;
        let known = service.backends.iter().any(|b| *b.path == *path);
        if known { Ok(()) } else { Err(Refused::no_backend(service, path)) }
    }

    /// Whether an order of the operator's names what there is, or undoes what was ordered.
    ///
    /// # Errors
    /// It names a service or a backend that there is not.
    pub fn understands(&self, order: &Change) -> Result<(), Refused> {
        match order {
            Change::Backend { service, backend, verb } => {
                let orders = self.orders.of_backend(service, backend);
                let undoes = *verb == Verb::Enable && orders != BackendOrders::default();
                if undoes { Ok(()) } else { self.has(service, backend) }
            }
            Change::Service { service, drained } => {
                let undoes = !drained && self.orders.drains(service);
                let known = self.services.get(&**service).is_some_and(Service::is_in_file);
                let refused = || Refused::NoService(service.clone());
                if undoes || known { Ok(()) } else { Err(refused()) }
            }
            _ => Ok(()),
        }
    }

    fn tell(&mut self, service: &str, path: &str, verb: Verb) {
        let change: fn(&mut BackendOrders) = match verb {
            Verb::Health(passes) => return self.judge(service, path, |b| b.set_passes(passes)),
            Verb::Weight(w) => return self.judge(service, path, |b| b.set_header_weight(w)),
            Verb::Drain => |orders| orders.drained = true,
            Verb::Disable => |orders| orders.disabled = true,
            Verb::Enable => |orders| *orders = BackendOrders::default(),
        };
        self.orders.change_backend(service, path, change);
        self.obey();
    }

    /// What a check says of a backend.
    fn judge(&mut self, service: &str, path: &str, change: impl FnOnce(&mut Backend)) {
        let found = self.services.get_mut(service);
        if let Some(backend) = found.and_then(|s| s.backend_mut(path)) {
            change(backend);
        }
    }

    fn drain_service(&mut self, service: &str, drained: bool) {
        self.orders.drain_service(service, drained);
        self.obey();
    }

    /// Brings every backend under the orders that are in force.
    fn obey(&mut self) {
        self.services.values_mut().for_each(|service| service.obey(&self.orders));
    }

    fn find_out(&mut self, who: &Who, finding: Finding) {
        let service = self.services.get_mut(&who.service);
        let backend = service.and_then(|s| s.checked_mut(&who.backend, who.address));
        match (backend, finding) {
            (Some(backend), Finding::Health(passes)) => backend.set_passes(passes),
            (Some(backend), Finding::Weight(weight)) => backend.set_header_weight(weight),
            (None, _) => {}
        }
    }

    fn announce(&mut self, config: &Arc<Config>) -> Option<()> {
        self.announced = Some(Arc::clone(config));
        self.services.values_mut().try_for_each(|s| s.announce(None, &mut self.slots))?;
        let mut unused = self.unused_ids();
        for service in config.services.iter().filter(|s| is_asked(config, s)) {
            let service = Arc::new(service.clone());
            let entry = match self.services.entry(Arc::clone(&service.name)) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => {
                    new.insert(Service::announced(unused.next()?, Arc::clone(&service)))
                }
            };
            entry.announce(Some(service), &mut self.slots)?;
        }
        Some(())
    }

    fn reload(&mut self, config: &Arc<Config>, now: Duration) -> Option<()> {
        self.config = Arc::clone(config);
        self.announced = None;
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
        self.obey();
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

/// Whether a service's backends are asked anything: it has a check, and something to ask for.
fn is_asked(config: &Config, service: &crate::model::Service) -> bool {
    let mut vips = crate::health::wanted::vips(config, &service.name);
    service.health_check.as_ref().is_some_and(|check| match check.target {
        CheckTarget::Address => true,
        CheckTarget::Vip => vips.next().is_some(),
    })
}

impl Refused {
    /// A service has no such backend.
    pub(crate) fn no_backend(service: &Service, path: &str) -> Self {
        let known: Vec<_> = service.backends.iter().map(|b| &*b.path).collect();
        Self::NoBackend {
            service: service.config.name.to_string(),
            backend: path.to_owned(),
            known: known.join(", "),
        }
    }
}

#[cfg(test)]
mod tests;
