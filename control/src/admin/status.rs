//! How the status is told: of one picture, so that it fits together.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tables::{SlotId, Tables, Tick};

use super::answer::{
    BackendStatus, GivenRates, Health, Live, PortStatus, RuleStatus, ServiceStatus, Status, Workers,
};
use super::desk::Desk;
use super::picture::{Link, Picture};
use crate::diff::ports;
use crate::explain::reasons;
use crate::health::Row;
use crate::model::written::Written;
use crate::model::{ForwardingRule, Port};
use crate::simulate::result::PoolName;
use crate::state::{Backend, Service, State, Who};

/// The status now.
pub fn status(desk: &Desk) -> Status {
    let picture = desk.pictures.newest();
    let moment = Moment::of(desk, &picture);
    let now = moment.now;
    let config = picture.state.config();
    let links = picture.links.iter().map(Some).chain(std::iter::repeat(None));
    Status {
        version: env!("CARGO_PKG_VERSION").into(),
        pid: std::process::id(),
        file: desk.file.display().to_string(),
        uptime_seconds: now.as_secs(),
        generation: picture.tables.generation,
        last_reload: desk.reloads.last(),
        workers: Workers {
            count: desk.counters.workers(),
            lagging: picture.lagging.iter().map(ToString::to_string).collect(),
        },
        rates: desk.speed.now(),
        connections: live(&picture, now),
        ports: config.ports.iter().zip(links).map(|(p, link)| port(p, link)).collect(),
        rules: config.rules.iter().map(rule).collect(),
        services: moment.services(),
        waiting_orders: waiting_orders(&picture.state),
    }
}

/// The services alone.
pub fn services(desk: &Desk) -> Vec<ServiceStatus> {
    Moment::of(desk, &desk.pictures.newest()).services()
}

/// What services are told by.
struct Moment<'a> {
    picture: &'a Picture,
    now: Duration,
    checks: HashMap<Who, Row>,
    /// By slot.
    rates: Vec<Option<GivenRates>>,
}

impl<'a> Moment<'a> {
    fn of(desk: &Desk, picture: &'a Picture) -> Self {
        let checks = (desk.checks)().into_iter().map(|row| (row.who.clone(), row)).collect();
        let rates = desk.speed.of_backends(&picture.tables.traffic);
        Self { picture, now: desk.start.elapsed(), checks, rates }
    }

    fn services(&self) -> Vec<ServiceStatus> {
        self.picture.state.services().map(|s| service(self, s)).collect()
    }

    fn rates(&self, slot: SlotId) -> Option<GivenRates> {
        self.rates.get(slot.get() as usize).copied().flatten()
    }

    fn check(&self, service: &Service, backend: &Backend) -> Option<&Row> {
        let (service, path) = (Arc::clone(&service.config.name), Arc::clone(&backend.path));
        self.checks.get(&Who { service, backend: path, address: backend.address })
    }
}

fn live(picture: &Picture, now: Duration) -> Option<Live> {
    let census = picture.census.as_ref()?;
    let (v4, v6, confirmed) = census.totals();
    let ticks = Tick::after(now, Tick::LENGTH).since(census.began());
    let age = Tick::LENGTH * ticks;
    Some(Live { v4, v6, confirmed, age_seconds: age.as_secs_f64().ceil() as u64 })
}

fn port(port: &Port, link: Option<&Link>) -> PortStatus {
    PortStatus {
        name: port.name.to_string(),
        device: port.device.clone(),
        up: link.and_then(|link| link.up),
        bond: link.and_then(|link| link.bond.clone()),
        addresses: port.addresses.iter().map(ToString::to_string).collect(),
        host_interface: Some(port.host_interface.clone()).filter(|name| !name.is_empty()),
    }
}

fn rule(rule: &ForwardingRule) -> RuleStatus {
    RuleStatus {
        name: rule.name.to_string(),
        address: reasons::address(rule),
        protocol: word(&rule.protocol),
        ports: ports(&rule.ports),
        service: rule.service.to_string(),
    }
}

/// A value as the file has it.
fn word(value: &impl Written) -> String {
    value.written().as_str().unwrap_or_default().to_owned()
}

fn service(moment: &Moment<'_>, service: &Service) -> ServiceStatus {
    let picture = moment.picture;
    let eligible = service.eligible();
    let current = service.current();
    let members: Vec<SlotId> =
        eligible.members.iter().filter_map(|at| Some(current.get(*at)?.slot)).collect();
    let shares = shares(&picture.tables, service);
    let pool = PoolName::from(eligible.pool);
    let mut known = service.backends.iter().filter_map(|b| moment.rates(b.slot)).peekable();
    let backend = |b: &Backend| {
        let can = members.contains(&b.slot);
        let share = shares.get(&b.slot).copied().unwrap_or(0.0);
        BackendStatus { share, ..backend(moment, service, b, can) }
    };
    ServiceStatus {
        name: service.config.name.to_string(),
        profile: word(&service.config.profile),
        in_file: service.is_in_file(),
        drained: service.is_drained(),
        pool: serde_json::to_value(pool)
            .ok()
            .and_then(|p| Some(p.as_str()?.into()))
            .unwrap_or_default(),
        last_resort: eligible.last_resort,
        eligible: members.len(),
        why: reasons::set(service),
        connections: picture.census.as_ref().map(|census| census.of_service(service.id)),
        rates: known.peek().is_some().then(|| known.sum()),
        backends: service.backends.iter().map(backend).collect(),
    }
}

fn backend(moment: &Moment<'_>, service: &Service, backend: &Backend, can: bool) -> BackendStatus {
    let Moment { picture, now, .. } = *moment;
    let check = moment.check(service, backend);
    let orders = backend.orders();
    let left = |at: Duration| at.saturating_sub(now).as_secs_f64().ceil() as u64;
    BackendStatus {
        backend: backend.path.to_string(),
        address: backend.address.to_string(),
        role: word(&backend.role),
        zone: backend.zone.as_deref().map(str::to_owned),
        health: if backend.is_healthy() { Health::Healthy } else { Health::Unhealthy },
        check: check.map(|row| row.question.clone()),
        reason: check.and_then(|row| row.answer.clone()).map(|(Ok(said) | Err(said))| said),
        since_seconds: check.and_then(|row| Some(now.saturating_sub(row.since?).as_secs())),
        weight: backend.weight(),
        eligible: can,
        why: match can {
            true => reasons::eligible(backend, service, service.eligible().last_resort),
            false => reasons::not_eligible(backend, service, false),
        },
        share: 0.0,
        connections: picture.census.as_ref().map(|census| census.of_slot(backend.slot)),
        rates: moment.rates(backend.slot),
        drained: orders.drained || backend.is_drained_with_service(),
        disabled: orders.disabled,
        drains_for_seconds: backend.deadline().map(left),
    }
}

/// Each member's share of the slots of the service's Maglev table.
fn shares(tables: &Tables, service: &Service) -> HashMap<SlotId, f64> {
    let Some(pool) = tables.service(service.id).map(|s| &s.pool) else { return HashMap::new() };
    let size = pool.maglev.size().max(1) as f64;
    let shares = pool.maglev.shares(pool.members.len());
    pool.members.iter().zip(shares).map(|(slot, slots)| (*slot, f64::from(slots) / size)).collect()
}

/// Orders about what the file does not name.
fn waiting_orders(state: &State) -> Vec<String> {
    let mut waiting = Vec::new();
    for (name, orders) in state.orders().services() {
        let service = state.service(name).filter(|s| s.is_in_file());
        if orders.drained && service.is_none() {
            waiting.push(format!("service {name}: drained"));
        }
        let named = |path: &str| {
            let backends = service.iter().flat_map(|s| &s.backends);
            backends.filter(|b| b.is_in_file()).any(|b| *b.path == *path)
        };
        for (path, order) in &orders.backends {
            if !named(path) {
                let what = [(order.drained, "drained"), (order.disabled, "disabled")];
                let what: Vec<_> =
                    what.iter().filter(|(is, _)| *is).map(|(_, word)| *word).collect();
                waiting.push(format!("backend {name} {path}: {}", what.join(", ")));
            }
        }
    }
    waiting
}
