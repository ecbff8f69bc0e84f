//! What the state in force wants to know, of whom.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::Arc;

use tables::SlotId;

use super::question::{Ask, At, Question, Tunnel};
use crate::model::{self, CheckTarget, GreKey, HealthCheck, Profile};
use crate::policy::health::Thresholds;
use crate::policy::weights;
use crate::state::{Backend, Service, State, Who};

/// So many VIPs of a service are asked for, each with a connection of its own.
pub const MOST_VIPS: usize = 16;

/// One backend of one service, and the check that its service has.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    /// Who.
    pub who: Who,
    /// Its slot, through which VIPs are reached on it.
    pub slot: SlotId,
    /// What to ask.
    pub question: Question,
    /// How it stands now.
    pub healthy: bool,
    /// How many results decide.
    pub thresholds: Thresholds,
    /// Whether the response's weight header counts (W-6).
    pub weighted: bool,
}

/// Everything that is to be asked now. Removed backends are not: their health stays as it was
/// (T-13, T-15).
pub fn wanted(state: &State) -> Vec<Wanted> {
    // One look at the rules for all services, as there may be thousands of both. Of each file: what
    // an announced one asks goes by its own rules.
    let mut known: Vec<(&model::Config, Vips<'_>)> = Vec::new();
    let mut all = Vec::new();
    for service in state.services() {
        let config: &model::Config = state.config_of(service);
        if !known.iter().any(|(of, _)| std::ptr::eq(*of, config)) {
            known.push((config, by_service(config)));
        }
        let vips = known.iter().find(|(of, _)| std::ptr::eq(*of, config));
        let vips = vips.and_then(|(_, vips)| vips.get(&*service.config.name));
        all.extend(of_service(service, vips.map(Vec::as_slice).unwrap_or_default()));
    }
    all
}

fn of_service(service: &Service, vips: &[IpAddr]) -> Vec<Wanted> {
    let asked = service.backends.iter().filter(|b| b.is_checked());
    asked.filter_map(|backend| one(service.config_of(backend), backend, vips)).collect()
}

/// The VIPs that are asked for, by service.
type Vips<'c> = HashMap<&'c str, Vec<IpAddr>>;

fn by_service(config: &model::Config) -> Vips<'_> {
    let mut vips = Vips::new();
    let mut seen = HashSet::new();
    for (service, vip) in config.rules.iter().filter_map(|r| Some((&*r.service, single(r)?))) {
        let known = vips.entry(service).or_default();
        if known.len() < MOST_VIPS && seen.insert((service, vip)) {
            known.push(vip);
        }
    }
    vips
}

/// A service's VIPs, each once, in the order of the file; a prefix is none.
pub fn vips<'c>(config: &'c model::Config, service: &'c str) -> impl Iterator<Item = IpAddr> + 'c {
    let rules = config.rules.iter().filter(move |r| &*r.service == service);
    let mut seen = HashSet::new();
    rules.filter_map(single).filter(move |vip| seen.insert(*vip))
}

fn single(rule: &model::ForwardingRule) -> Option<IpAddr> {
    let net = rule.address;
    (net.prefix_len() == net.max_prefix_len()).then(|| net.addr())
}

fn one(config: &model::Service, backend: &Backend, vips: &[IpAddr]) -> Option<Wanted> {
    let check = config.health_check.as_ref()?;
    let counts = weights::header_counts(config.profile, check.protocol);
    Some(Wanted {
        who: Who {
            service: Arc::clone(&config.name),
            backend: Arc::clone(&backend.path),
            address: backend.address,
        },
        slot: backend.slot,
        question: Question {
            at: match check.target {
                CheckTarget::Address => At::Address(backend.address),
                // No rule leads to it yet: there is nothing that could be asked for.
                CheckTarget::Vip if vips.is_empty() => return None,
                CheckTarget::Vip => through(config, backend.address, vips),
            },
            port: check.port,
            ask: ask(config.profile, check),
            interval: check.interval,
            timeout: check.timeout.min(check.interval),
        },
        healthy: backend.passes(),
        thresholds: Thresholds {
            healthy: check.healthy_threshold,
            unhealthy: check.unhealthy_threshold,
        },
        weighted: config.weighted && counts,
    })
}

fn through(config: &model::Service, backend: IpAddr, vips: &[IpAddr]) -> At {
    let encapsulation = config.encapsulation.clone();
    let named = encapsulation.gre_key == GreKey::Service;
    let service = named.then(|| Arc::clone(&config.name));
    At::Vips { vips: vips.into(), backend, tunnel: Tunnel { encapsulation, service } }
}

fn ask(profile: Profile, check: &HealthCheck) -> Ask {
    Ask {
        protocol: check.protocol,
        tls: check.tls,
        tls_ca: check.tls_ca.clone(),
        path: check.request_path.clone(),
        host: check.host.clone(),
        send: check.send.clone(),
        expect: check.expect.clone(),
        grpc_service: check.grpc_service.clone(),
        only_200: profile != Profile::Native,
    }
}
