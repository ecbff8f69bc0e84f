//! How connections are listed and counted: one walk through the table, in the background.

use std::collections::HashMap;
use std::net::IpAddr;
use std::ops::ControlFlow;
use std::time::Instant;

use ipnet::IpNet;
use tables::{FieldSet, ServiceId, SlotId, Tick};

use super::answer::{By, Connection, ConnectionCount, ConnectionList, ConnectionQuery, Counted};
use super::desk::Desk;
use super::picture::{Entry, Picture, Wanted};
use crate::state::{Refused, State};

/// Rows where no limit is given, and the most that may be asked for.
const ROWS: usize = 100;
const MOST_ROWS: usize = 10_000;

/// So many clients are counted apart; what others have is counted together.
const MOST_CLIENTS: usize = 100_000;

/// What cannot be asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unanswerable {
    /// No such service or backend.
    #[error(transparent)]
    Unknown(#[from] Refused),
    /// A backend's name alone says nothing: two services may have it.
    #[error("backend {0:?}: say of which service, too")]
    WhoseBackend(String),
    /// Not an address and not a prefix.
    #[error("{key} {value:?} is neither an address nor a prefix; for example 198.51.100.0/24")]
    Prefix {
        /// `client` or `vip`.
        key: &'static str,
        /// What was given.
        value: String,
    },
    /// Too many rows.
    #[error("limit {0} is more than {MOST_ROWS}")]
    Limit(usize),
}

/// A query that was understood.
pub struct Asked {
    wanted: Wanted,
    rows: usize,
}

/// Understands a query.
///
/// # Errors
/// It names what there is not, or asks for too much.
pub fn understand(query: &ConnectionQuery, state: &State) -> Result<Asked, Unanswerable> {
    let service = query.service.as_deref().map(|name| service_id(state, name)).transpose()?;
    let slot = match (&query.backend, &query.service) {
        (Some(path), Some(service)) => Some(slot_of(state, service, path)?),
        (Some(path), None) => return Err(Unanswerable::WhoseBackend(path.clone())),
        (None, _) => None,
    };
    let rows = query.limit.unwrap_or(ROWS);
    if rows > MOST_ROWS {
        return Err(Unanswerable::Limit(rows));
    }
    let clients = query.client.as_deref().map(|text| prefix("client", text)).transpose()?;
    let vips = query.vip.as_deref().map(|text| prefix("vip", text)).transpose()?;
    Ok(Asked { wanted: Wanted { service, slot, clients, vips }, rows })
}

/// Services that only drain have connections too.
fn service_id(state: &State, name: &str) -> Result<ServiceId, Refused> {
    let known = state.service(name).ok_or_else(|| Refused::NoService(name.to_owned()))?;
    Ok(known.id)
}

fn slot_of(state: &State, service: &str, path: &str) -> Result<SlotId, Refused> {
    let known = state.service(service).ok_or_else(|| Refused::NoService(service.to_owned()))?;
    let named = known.backends.iter().filter(|b| *b.path == *path);
    match named.max_by_key(|b| b.is_in_file()) {
        Some(backend) => Ok(backend.slot),
        None => Err(Refused::no_backend(known, path)),
    }
}

fn prefix(key: &'static str, text: &str) -> Result<IpNet, Unanswerable> {
    let address = || text.parse::<IpAddr>().ok().map(IpNet::from);
    let prefix = text.parse().ok().or_else(address);
    prefix.ok_or_else(|| Unanswerable::Prefix { key, value: text.to_owned() })
}

/// The names behind ids and slots.
struct Names(HashMap<SlotId, (String, String)>);

impl Names {
    fn of(state: &State) -> Self {
        let services = state.services();
        let backends = services.flat_map(|s| s.backends.iter().map(move |b| (s, b)));
        let named =
            backends.map(|(s, b)| (b.slot, (s.config.name.to_string(), b.path.to_string())));
        Self(named.collect())
    }

    fn of_slot(&self, slot: SlotId) -> (String, String) {
        self.0.get(&slot).cloned().unwrap_or_default()
    }
}

/// Lists them.
pub fn list(desk: &Desk, picture: &Picture, asked: &Asked) -> ConnectionList {
    let (names, now) = (Names::of(&picture.state), desk.tick());
    let (mut connections, mut matched) = (Vec::new(), 0);
    let took = walk(desk, picture, asked, |entry| {
        matched += 1;
        if connections.len() < asked.rows {
            connections.push(row(entry, &names, now));
        }
    });
    ConnectionList { connections, matched, took_seconds: took }
}

fn walk(desk: &Desk, picture: &Picture, asked: &Asked, mut each: impl FnMut(&Entry)) -> f64 {
    let started = Instant::now();
    let view = (&*picture.tables, desk.tick());
    desk.connections.walk(&asked.wanted, view, &mut |entry| {
        each(entry);
        ControlFlow::Continue(())
    });
    started.elapsed().as_secs_f64()
}

fn row(entry: &Entry, names: &Names, now: Tick) -> Connection {
    let (fields, flow) = (entry.key.fields(), entry.key.flow());
    let ports = fields.contains(FieldSet::FIVE_TUPLE);
    let (service, backend) = names.of_slot(entry.slot);
    Connection {
        service,
        backend,
        protocol: fields.contains(FieldSet::PROTO).then(|| protocol(flow.proto())),
        client: flow.src().to_string(),
        client_port: ports.then(|| flow.sport()),
        vip: entry.vip().map(|vip| vip.to_string()),
        vip_port: ports.then(|| flow.dport()),
        idle_seconds: (Tick::LENGTH * now.since(entry.last_seen)).as_secs_f64(),
        confirmed: entry.confirmed,
    }
}

fn protocol(number: u8) -> String {
    crate::simulate::scenario::protocol_name(number)
}

/// Counts them.
pub fn count(desk: &Desk, picture: &Picture, asked: &Asked, by: By) -> ConnectionCount {
    match by {
        By::Client => by_client(desk, picture, asked),
        By::Backend | By::Service => by_name(desk, picture, asked, by),
    }
}

fn by_client(desk: &Desk, picture: &Picture, asked: &Asked) -> ConnectionCount {
    let mut clients: HashMap<IpAddr, u64> = HashMap::new();
    let (mut beyond, mut matched) = (0, 0);
    let took = walk(desk, picture, asked, |entry| {
        matched += 1;
        let client = entry.key.flow().src();
        if clients.len() < MOST_CLIENTS || clients.contains_key(&client) {
            *clients.entry(client).or_default() += 1;
        } else {
            beyond += 1;
        }
    });
    let counted = clients.into_iter().map(|(client, connections)| Counted {
        service: None,
        backend: None,
        client: Some(client.to_string()),
        connections,
    });
    let (counts, others) = most(counted.collect(), asked.rows);
    ConnectionCount { by: By::Client, counts, others: others + beyond, matched, took_seconds: took }
}

fn by_name(desk: &Desk, picture: &Picture, asked: &Asked, by: By) -> ConnectionCount {
    let names = Names::of(&picture.state);
    let (mut slots, mut matched): (HashMap<SlotId, u64>, u64) = (HashMap::new(), 0);
    let took = walk(desk, picture, asked, |entry| {
        matched += 1;
        *slots.entry(entry.slot).or_default() += 1;
    });
    let mut named: HashMap<(String, Option<String>), u64> = HashMap::new();
    for (slot, connections) in slots {
        let (service, backend) = names.of_slot(slot);
        let backend = (by == By::Backend).then_some(backend);
        *named.entry((service, backend)).or_default() += connections;
    }
    let counted = named.into_iter().map(|((service, backend), connections)| Counted {
        service: Some(service),
        backend,
        client: None,
        connections,
    });
    let (counts, others) = most(counted.collect(), asked.rows);
    ConnectionCount { by, counts, others, matched, took_seconds: took }
}

/// The first `rows`, the most frequent first, and what all others have.
fn most(mut counts: Vec<Counted>, rows: usize) -> (Vec<Counted>, u64) {
    let names = |c: &Counted| (c.service.clone(), c.backend.clone(), c.client.clone());
    counts.sort_by_key(|c| (std::cmp::Reverse(c.connections), names(c)));
    let others = counts.iter().skip(rows).map(|c| c.connections).sum();
    counts.truncate(rows);
    (counts, others)
}
