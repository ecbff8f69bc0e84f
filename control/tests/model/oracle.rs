//! The model: sections 1 to 5, as they are written.

use std::collections::BTreeMap;
use std::time::Duration;

use control::model::{FailoverPolicy, Profile, Role, Service, ZonalAffinity};
use control::state::Verb;
use tables::maglev::Member;
use tables::{FieldSet, HashSeed, Maglev};

use crate::entries::{Entries, Entry, Key};
use crate::fields::{self, Packet};

/// A backend.
#[derive(Clone, Debug)]
pub(crate) struct Backend {
    pub(crate) path: String,
    role: Role,
    zone: String,
    in_file: bool,
    drained: bool,
    disabled: bool,
    passes: bool,
    weight: u16,
    /// When its entries end, once removed (T-13).
    deadline: Option<Duration>,
}

impl Backend {
    pub(crate) fn removed(&self) -> bool {
        !self.in_file || self.drained
    }

    fn healthy(&self) -> bool {
        self.passes && !self.disabled
    }
}

/// One service.
pub(crate) struct Oracle {
    config: Service,
    pub(crate) backends: Vec<Backend>,
    entries: Entries,
    last_pool: Option<Role>,
    /// Who is drained and who disabled, by name, in the file or not (T-18).
    orders: BTreeMap<String, (bool, bool)>,
    /// The keys before the last change of them, by kind of packet.
    before: Vec<(Packet, FieldSet, Duration)>,
}

/// What the model says of a packet.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) backend: Option<String>,
    pub(crate) why: &'static str,
    pub(crate) entry: &'static str,
}

/// A part of a change.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    Verb(usize, Verb),
    Reload(Box<Service>),
}

impl Oracle {
    pub(crate) fn new(config: &Service) -> Self {
        let mut oracle = Self {
            config: config.clone(),
            backends: Vec::new(),
            entries: Entries::default(),
            last_pool: None,
            orders: BTreeMap::new(),
            before: Vec::new(),
        };
        oracle.read(config, Duration::ZERO);
        oracle.decide();
        oracle
    }

    /// Draining deadlines that have come; says how many entries they end (T-13).
    pub(crate) fn let_time_pass(&mut self, now: Duration) -> usize {
        let mut ended = 0;
        while let Some(at) = self.backends.iter().filter_map(|b| b.deadline).min() {
            if at > now {
                break;
            }
            self.entries.expire(at, self.config.idle_timeout);
            ended += self.drain(at);
        }
        self.entries.expire(now, self.config.idle_timeout);
        ended
    }

    fn drain(&mut self, now: Duration) -> usize {
        let mut ended = 0;
        for backend in &mut self.backends {
            if backend.deadline.is_some_and(|at| at <= now) {
                backend.deadline = None;
                ended += self.entries.remove(|e| e.backend == backend.path);
            }
        }
        self.backends.retain(|b| b.in_file || b.deadline.is_some());
        ended
    }

    /// One change, of one or several parts; says how many entries it ends.
    pub(crate) fn change(&mut self, parts: &[Part], now: Duration) -> usize {
        let was: Vec<_> =
            self.backends.iter().map(|b| (b.path.clone(), b.removed(), b.healthy())).collect();
        for part in parts {
            match part {
                Part::Verb(index, verb) => self.tell(*index, *verb),
                Part::Reload(config) => self.read(config, now),
            }
        }
        let is_new = |b: &&mut Backend| !was.iter().any(|(path, ..)| *path == b.path);
        for backend in self.backends.iter_mut().filter(is_new).filter(|b| b.removed()) {
            backend.deadline = Some(now + self.config.draining_timeout);
        }
        let mut ended = 0;
        for (path, was_removed, was_healthy) in was {
            let Some(backend) = self.backends.iter_mut().find(|b| b.path == path) else { continue };
            match (was_removed, backend.removed()) {
                (false, true) => backend.deadline = Some(now + self.config.draining_timeout),
                (true, false) => backend.deadline = None,
                (false, false) if was_healthy && !backend.healthy() => {
                    ended += self.entries.remove(|e| e.backend == path && !e.persists);
                }
                _ => {}
            }
        }
        ended += self.drain(now);
        ended + self.decide()
    }

    fn tell(&mut self, index: usize, verb: Verb) {
        let backend = &mut self.backends[index];
        match verb {
            // T-13: health changes no longer touch a removed one.
            Verb::Health(_) if backend.removed() => {}
            Verb::Health(passes) => backend.passes = passes,
            Verb::Weight(weight) => backend.weight = weight,
            Verb::Drain => backend.drained = true,
            Verb::Disable => backend.disabled = true,
            Verb::Enable => (backend.drained, backend.disabled) = (false, false),
        }
        self.orders.insert(backend.path.clone(), (backend.drained, backend.disabled));
    }

    fn read(&mut self, config: &Service, now: Duration) {
        self.remember_keys(config, now);
        self.config = config.clone();
        self.backends.iter_mut().for_each(|b| b.in_file = false);
        for group in &config.groups {
            for backend in &group.backends {
                let path = format!("{}/{}", group.name, backend.name);
                let (drained, disabled) = self.orders.get(&path).copied().unwrap_or_default();
                if !self.backends.iter().any(|b| b.path == path) {
                    self.backends.push(Backend {
                        path: path.clone(),
                        role: group.role,
                        zone: group.zone.as_deref().unwrap_or_default().to_owned(),
                        in_file: true,
                        drained,
                        disabled,
                        passes: config.initially_healthy,
                        weight: 1,
                        deadline: None,
                    });
                }
                let known = self.backends.iter_mut().filter(|b| b.path == path);
                known.for_each(|b| b.in_file = true);
            }
        }
    }

    /// R-3, for each kind of packet: the keys that it had, the latest first.
    fn remember_keys(&mut self, new: &Service, now: Duration) {
        let kinds = (0..9).flat_map(|what| [0, 9].map(|more| crate::world::packet(what + more, 0)));
        let mut before: Vec<(Packet, FieldSet, Duration)> = Vec::new();
        for kind in kinds {
            if before.iter().any(|(known, ..)| same_kind(*known, kind)) {
                continue;
            }
            let Some(key) = fields::tracking(new, kind) else { continue };
            let latest =
                fields::tracking(&self.config, kind).map(|k| (kind, k, now + new.idle_timeout));
            let known = self.before.iter().filter(|(k, old, until)| {
                same_kind(*k, kind) && *until > now && Some(*old) != latest.map(|l| l.1)
            });
            before
                .extend(latest.into_iter().chain(known.copied()).filter(|(_, old, _)| *old != key));
        }
        self.before = before;
    }

    /// T-10, T-14, T-17: whether the set has switched; then, without draining, all entries end.
    fn decide(&mut self) -> usize {
        let Some(pool) = self.eligible().first().map(|b| b.role) else { return 0 };
        let switched = self.last_pool.replace(pool).is_some_and(|last| last != pool);
        let draining = self.config.failover.is_none_or(|p| p.connection_draining_on_failover);
        if switched && !draining { self.entries.remove(|_| true) } else { 0 }
    }

    /// E-1 to E-7, before the zonal step.
    pub(crate) fn eligible(&self) -> Vec<&Backend> {
        let members: Vec<_> = self.backends.iter().filter(|b| !b.removed()).collect();
        let set = |primary: bool, healthy: bool, weighty: Option<bool>| -> Vec<&Backend> {
            let of_role = members.iter().filter(|b| (b.role == Role::Primary) == primary);
            let healthy = of_role.filter(|b| b.healthy() == healthy);
            healthy.filter(|b| weighty.is_none_or(|w| (b.weight > 0) == w)).copied().collect()
        };
        let first_of = |sets: &[Vec<&'_ Backend>]| -> Vec<String> {
            let found = sets.iter().find(|s| !s.is_empty());
            found.into_iter().flatten().map(|b| b.path.clone()).collect()
        };
        let any = |w: bool| Some(w);
        let chosen = match (self.config.failover, self.config.weighted) {
            (None, false) => {
                let healthy: Vec<_> = members.iter().filter(|b| b.healthy()).copied().collect();
                let all = if self.config.profile == Profile::Azure {
                    Vec::new()
                } else {
                    members.clone()
                };
                first_of(&[healthy, all])
            }
            (None, true) => first_of(&[
                set(true, true, any(true)),
                set(true, false, any(true)),
                set(true, true, any(false)),
                set(true, false, any(false)),
            ]),
            (Some(policy), weighted) => {
                let weighty = weighted.then_some(true);
                let (p, f) = (set(true, true, weighty), set(false, true, weighty));
                let primaries = members.iter().filter(|b| b.role == Role::Primary).count();
                if p.is_empty() && f.is_empty() {
                    self.nobody_healthy(policy, &first_of, &set)
                } else {
                    let enough = f.is_empty() || policy.ratio.is_met_by(p.len(), primaries);
                    if !p.is_empty() && enough { first_of(&[p]) } else { first_of(&[f, p]) }
                }
            }
        };
        members.into_iter().filter(|b| chosen.contains(&b.path)).collect()
    }

    /// E-4, E-6
    fn nobody_healthy<'b>(
        &self,
        policy: FailoverPolicy,
        first_of: &dyn Fn(&[Vec<&'b Backend>]) -> Vec<String>,
        set: &dyn Fn(bool, bool, Option<bool>) -> Vec<&'b Backend>,
    ) -> Vec<String> {
        match (policy.drop_traffic_if_unhealthy, self.config.weighted) {
            (true, _) => Vec::new(),
            (false, false) => first_of(&[set(true, false, None)]),
            (false, true) => first_of(&[
                set(true, false, Some(true)),
                set(false, false, Some(true)),
                set(true, true, Some(false)),
                set(false, true, Some(false)),
                set(true, false, Some(false)),
                set(false, false, Some(false)),
            ]),
        }
    }

    /// Z-1 to Z-4
    fn eligible_for(&self, client: u8) -> Vec<&Backend> {
        let whole = self.eligible();
        let zone = match client {
            1 => "a",
            2 => "b",
            _ => return whole,
        };
        let within: Vec<_> = whole.iter().filter(|b| b.zone == zone).copied().collect();
        if within.is_empty() {
            return whole;
        }
        match self.config.zonal_affinity {
            ZonalAffinity::Disabled => whole,
            ZonalAffinity::StayWithinZone => within,
            ZonalAffinity::SpillCrossZone(ratio) => {
                let pool = within[0].role;
                let counted: Vec<_> = self
                    .backends
                    .iter()
                    .filter(|b| !b.removed() && b.zone == zone && b.role == pool)
                    .collect();
                let healthy = counted.iter().filter(|b| b.healthy()).count();
                if ratio.is_met_by(healthy, counted.len()) { within } else { whole }
            }
        }
    }

    /// S-1, S-2: Maglev and the hash are production's.
    fn select(&self, packet: Packet, other: bool, seed: &HashSeed) -> Option<String> {
        let mut eligible = self.eligible_for(packet.client);
        eligible.sort_by(|a, b| a.path.cmp(&b.path));
        let weight = |b: &Backend| if self.config.weighted { u32::from(b.weight) } else { 1 };
        let members: Vec<_> =
            eligible.iter().map(|b| Member { name: &b.path, weight: weight(b) }).collect();
        let maglev = Maglev::build(&members, self.config.maglev_table_size, seed).ok()?;
        let fields = fields::selection(&self.config, packet);
        let index = maglev.lookup(packet.flow(other).selection_hash(fields, seed))?;
        Some(eligible[index].path.clone())
    }

    /// T-1 to T-3, R-3
    pub(crate) fn packet(
        &mut self,
        packet: Packet,
        other: bool,
        now: Duration,
        seed: &HashSeed,
    ) -> Answer {
        let key = fields::tracking(&self.config, packet).map(|fields| Key::of(packet, fields));
        let new = fields::is_new(&self.config, packet);
        if let Some(key) = key.filter(|_| !new) {
            if let Some(entry) = self.entries.find(key) {
                entry.seen = now;
                let backend = Some(entry.backend.clone());
                return Answer { backend, why: "tracked", entry: "hit" };
            }
            if let Some(found) = self.under_the_old_key(packet, now) {
                let backend = Some(found.backend.clone());
                self.entries.enter(Entry { key, seen: now, ..found });
                return Answer { backend, why: "tracked", entry: "hit" };
            }
        }
        let Some(backend) = self.select(packet, other, seed) else {
            return Answer { backend: None, why: "no_eligible_backend", entry: "none" };
        };
        let entry = key.map_or("none", |key| {
            let persists = fields::persists(&self.config, packet);
            let entry = Entry { key, backend: backend.clone(), persists, seen: now };
            if self.entries.enter(entry) { "replaced" } else { "created" }
        });
        Answer { backend: Some(backend), why: "selected", entry }
    }

    fn under_the_old_key(&mut self, packet: Packet, now: Duration) -> Option<Entry> {
        let known =
            self.before.iter().filter(|(kind, _, until)| same_kind(*kind, packet) && now < *until);
        let keys: Vec<_> = known.map(|(_, fields, _)| Key::of(packet, *fields)).collect();
        keys.into_iter().find_map(|key| self.entries.find(key).cloned())
    }
}

/// Of the same protocol and fragmentation.
fn same_kind(a: Packet, b: Packet) -> bool {
    (a.protocol, a.fragment) == (b.protocol, b.fragment)
}
