//! What is known of one service: its backends, and whom new connections go to.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tables::{Plan, ServiceId, Tick, ZoneId};

use super::backend::Backend;
use super::orders::Orders;
use super::slots::Slots;
use super::{Clock, keys};
use crate::model::{self, Persistence};
use crate::plan::matrix;
use crate::policy::Member;
use crate::policy::eligible::{self, Eligible};
use crate::policy::failover::{self, SwitchDetector};

/// `group/name` and address → index in [`Service::backends`].
type Places = HashMap<(Arc<str>, IpAddr), usize>;

/// One service; when the file does not name it any more it stays until its backends have drained.
#[derive(Clone, Debug)]
pub struct Service {
    /// Its id in the Tables.
    pub id: ServiceId,
    /// What the file says, or last said.
    pub config: Arc<model::Service>,
    /// The compiled matrix (D-1).
    pub plan: Plan,
    /// What was last seen at this moment or before has expired, whatever the timeout says now.
    pub idle_floor: Option<Tick>,
    /// Its backends, removed ones too.
    pub backends: Vec<Backend>,
    in_file: bool,
    drained: bool,
    /// What the file says that is announced, and not in force yet.
    next: Option<Arc<model::Service>>,
    switch: SwitchDetector,
    eligible: Eligible,
}

impl Service {
    /// A service without backends; [`Service::configure`] gives it some.
    pub fn new(id: ServiceId, config: Arc<model::Service>) -> Self {
        let plan = compile(&config);
        Self {
            id,
            config,
            plan,
            idle_floor: None,
            backends: Vec::new(),
            in_file: true,
            drained: false,
            next: None,
            switch: SwitchDetector::default(),
            eligible: Eligible::default(),
        }
    }

    /// A service of a file that is not in force yet.
    pub fn announced(id: ServiceId, config: Arc<model::Service>) -> Self {
        Self { in_file: false, ..Self::new(id, config) }
    }

    /// Takes what a file says that is not in force yet: its new backends get slots, so that they
    /// can be checked, and are members of nothing. `None` as in the file: none is awaited
    /// any more. The result is `None` when the slots do not suffice.
    pub fn announce(&mut self, next: Option<Arc<model::Service>>, slots: &mut Slots) -> Option<()> {
        self.backends.iter_mut().filter(|b| b.is_announced()).for_each(Backend::release);
        self.next = next;
        let Some(next) = self.next.clone() else { return Some(()) };
        let places = self.places();
        for (path, backend) in paths(&next) {
            match places.get(&(Arc::clone(&path), backend.address)) {
                Some(known) => self.backends.get_mut(*known)?.announce_again(),
                None => {
                    let (slot, healthy) = (slots.take()?, next.initially_healthy);
                    self.backends.push(Backend::announced(slot, path, backend.address, healthy));
                }
            }
        }
        Some(())
    }

    /// What holds for one of its backends: for an announced one, what the announced file says.
    pub fn config_of(&self, backend: &Backend) -> &Arc<model::Service> {
        let next = self.next.as_ref().filter(|_| backend.is_announced());
        next.unwrap_or(&self.config)
    }

    /// Lets none of its backends be a member before its first result.
    pub fn await_first_results(&mut self) {
        self.backends.iter_mut().for_each(Backend::await_first_result);
    }

    /// Takes what the file says of it now. `None` when the slots do not suffice.
    pub fn configure(
        &mut self,
        config: Arc<model::Service>,
        slots: &mut Slots,
        clock: Clock,
        now: Duration,
    ) -> Option<()> {
        self.in_file = true;
        self.next = None;
        self.idle_floor = self.idle_floor_before(config.idle_timeout, clock, now);
        let until = clock.tick(now).plus(clock.ticks(config.idle_timeout));
        self.plan = keys::follow(&self.plan, compile(&config), clock.tick(now), until);
        let before = std::mem::replace(&mut self.config, config);
        let persistence = before.persistence;
        self.configure_backends(slots)?;
        if before.health_check.is_some() && self.config.health_check.is_none() {
            let healthy = self.config.initially_healthy;
            self.backends.iter_mut().for_each(|b| b.forget_checks(healthy));
        }
        if persistence != Persistence::NeverPersist
            && self.config.persistence == Persistence::NeverPersist
        {
            self.backends.iter_mut().for_each(|b| b.stop_persisting(slots));
        }
        Some(())
    }

    fn configure_backends(&mut self, slots: &mut Slots) -> Option<()> {
        self.backends.iter_mut().for_each(Backend::leave_file);
        let config = Arc::clone(&self.config);
        let mut places = self.places();
        for group in &config.groups {
            for backend in &group.backends {
                let path = format!("{}/{}", group.name, backend.name).into();
                self.backend_or_new(path, backend, &mut places, slots)?.configure(group, backend);
            }
        }
        Some(())
    }

    /// Where each known backend is: looked up, not searched for, among thousands.
    fn places(&self) -> Places {
        let place = |(index, b): (usize, &Backend)| ((Arc::clone(&b.path), b.address), index);
        self.backends.iter().enumerate().map(place).collect()
    }

    /// a backend is its name within its group, at its address.
    fn backend_or_new(
        &mut self,
        path: Arc<str>,
        backend: &model::Backend,
        places: &mut Places,
        slots: &mut Slots,
    ) -> Option<&mut Backend> {
        let index = match places.entry((path, backend.address)) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(unknown) => {
                let path = Arc::clone(&unknown.key().0);
                let healthy = self.config.initially_healthy;
                let new = Backend::new(slots.take()?, path, backend.address, healthy);
                self.backends.push(new);
                *unknown.insert(self.backends.len() - 1)
            }
        };
        self.backends.get_mut(index)
    }

    /// A longer timeout brings no expired entry back (T-8): where the one that ends now had got to.
    fn idle_floor_before(&self, idle: Duration, clock: Clock, now: Duration) -> Option<Tick> {
        let was = clock.ticks(self.config.idle_timeout);
        if clock.ticks(idle) <= was {
            return self.idle_floor;
        }
        let reached = clock.tick(now).0.checked_sub(was).map(Tick);
        match (reached, self.idle_floor) {
            (Some(reached), Some(before)) if before.since(reached) > 0 => Some(before),
            (reached, before) => reached.or(before),
        }
    }

    /// The file does not name it any more: all of its backends are removed.
    pub fn leave_file(&mut self) {
        self.in_file = false;
        self.next = None;
        self.backends.iter_mut().for_each(Backend::leave_file);
    }

    /// Brings its backends under the operator's orders (T-18).
    pub(super) fn obey(&mut self, orders: &Orders) {
        let name = Arc::clone(&self.config.name);
        self.drained = orders.drains(&name);
        for backend in &mut self.backends {
            backend.obey(orders.of_backend(&name, &backend.path), self.drained);
        }
    }

    /// Whether the operator drains all of it.
    pub fn is_drained(&self) -> bool {
        self.drained
    }

    /// Whether the file names it.
    pub fn is_in_file(&self) -> bool {
        self.in_file
    }

    /// The process has just started, and until first results are there it serves nobody.
    pub fn is_starting(&self) -> bool {
        self.backends.iter().any(Backend::is_starting)
    }

    /// Whether nothing is left of it.
    pub fn is_gone(&self) -> bool {
        !self.in_file && self.backends.is_empty()
    }

    /// The backend of this `group/name` that is in the file, or else one that is draining.
    pub fn backend_mut(&mut self, path: &str) -> Option<&mut Backend> {
        // The one in the file need not be the youngest: an address may change and change back.
        let named = self.backends.iter_mut().filter(|b| &*b.path == path);
        named.max_by_key(|b| b.is_in_file())
    }

    /// The backend of this `group/name` at this address.
    pub fn checked_mut(&mut self, path: &str, address: IpAddr) -> Option<&mut Backend> {
        self.backends.iter_mut().find(|b| &*b.path == path && b.address == address)
    }

    /// Those that are not removed: what the policy judges (T-13).
    pub fn current(&self) -> Vec<&Backend> {
        self.backends.iter().filter(|b| !b.is_removed()).collect()
    }

    /// [`Service::current`] as the policy sees it.
    pub fn members(&self, zone: impl Fn(&str) -> Option<ZoneId>) -> Vec<Member> {
        let member = |b: &Backend| Member {
            role: b.role,
            healthy: b.is_healthy(),
            weight: b.weight(),
            zone: b.zone.as_deref().and_then(&zone),
        };
        self.current().into_iter().map(member).collect()
    }

    /// The eligible set, before the zonal step; members are indices into [`Service::current`].
    pub fn eligible(&self) -> &Eligible {
        &self.eligible
    }

    /// Draws the consequences of what has changed, once for all of it.
    pub fn settle(&mut self, slots: &mut Slots, now: Duration) {
        for backend in &mut self.backends {
            backend.settle(slots, &self.config, now);
        }
        self.drop_gone(slots);
        self.eligible = eligible::eligible(self.policy(), &self.members(|_| None));
        let switched = self.switch.observe(self.eligible.pool);
        if switched && failover::switch_ends_entries(self.config.failover) {
            // T-10: all of the service's entries, those of draining backends too.
            self.backends.iter().for_each(|b| slots.end_all(b.slot));
        }
    }

    /// When something will happen by itself.
    pub fn next_deadline(&self) -> Option<Duration> {
        self.backends.iter().filter_map(Backend::deadline).min()
    }

    fn drop_gone(&mut self, slots: &mut Slots) {
        self.backends.retain(|b| {
            if b.is_gone() {
                slots.give_back(b.slot);
            }
            !b.is_gone()
        });
    }

    fn policy(&self) -> eligible::Policy {
        let model::Service { profile, weighted, failover, .. } = *self.config;
        eligible::Policy { profile, weighted, failover }
    }
}

/// Every backend of a service in the file, with its `group/name`.
fn paths(config: &model::Service) -> impl Iterator<Item = (Arc<str>, &model::Backend)> {
    let of = |group: &'_ model::Group, backend: &model::Backend| -> Arc<str> {
        format!("{}/{}", group.name, backend.name).into()
    };
    let groups = config.groups.iter();
    groups.flat_map(move |group| group.backends.iter().map(move |b| (of(group, b), b)))
}

fn compile(config: &model::Service) -> Plan {
    matrix::compile(config.profile, config.affinity, config.tracking_mode, config.persistence)
}

impl Clock {
    /// The tick of a moment.
    pub fn tick(self, now: Duration) -> Tick {
        Tick::after(now, self.tick_length)
    }

    /// A span in ticks, rounded up, at least one.
    pub fn ticks(self, span: Duration) -> u32 {
        let ticks = span.as_nanos().div_ceil(self.tick_length.as_nanos().max(1));
        u32::try_from(ticks).unwrap_or(u32::MAX >> 2).max(1)
    }
}
