//! `windrose explain --state-from-running`, in the process that runs: its own state and entries, and
//! a worker of the desk's.

use std::time::Duration;

use control::admin::answer::Question;
use control::admin::picture::Picture;
use control::config::{self, Environment};
use control::explain::{self, Explanation};
use control::simulate::Simulator;
use control::simulate::desk::LiveEntry;
use control::simulate::scenario::Tuple;
use control::state::{Change, State};
use dataplane::track::ConnectionTable;
use tables::{Flow, Key, Match, PacketClass, Tables, Tick};

use crate::desk::WorkerDesk;

/// What becomes of a packet now; with a file, what would become of it after a reload of that.
pub(crate) fn explain(
    running: &ConnectionTable,
    picture: &Picture,
    question: &Question,
    now: Duration,
) -> Result<Explanation, String> {
    let packet = explain::parse(&question.packet).map_err(|e| e.to_string())?;
    let state = match &question.file {
        None => (*picture.state).clone(),
        Some(text) => reloaded(&picture.state, text, now)?,
    };
    let config = std::sync::Arc::clone(state.config());
    let desk = WorkerDesk::new(&config, 1).map_err(|e| format!("no connection table: {e}"))?;
    let mut simulator = Simulator::resume(state, desk, now).map_err(|e| e.to_string())?;
    let tick = Tick::after(now, Tick::LENGTH);
    for (key, entry) in entries(running, &picture.tables, &packet.tuple, tick) {
        simulator.adopt(&key, entry, now);
    }
    explain::explain(&mut simulator, &packet, now).map_err(|e| e.to_string())
}

fn reloaded(state: &State, text: &str, now: Duration) -> Result<State, String> {
    let loaded = config::parse("the file", text, &Environment::detect());
    let config = loaded.map_err(|errors| errors.render(false))?.config;
    let change = Change::Reload(std::sync::Arc::new(config));
    state.after(&[change], now).map_err(|refused| refused.to_string())
}

/// The live entries that a packet could be known by: under the key in force, and earlier ones.
fn entries(
    running: &ConnectionTable,
    tables: &Tables,
    tuple: &Tuple,
    now: Tick,
) -> Vec<(Key, LiveEntry)> {
    let Some(flow) = flow(tuple) else { return Vec::new() };
    let Match::Rule(id) = tables.rules.look_up(&flow, Some(tuple.dport)) else { return Vec::new() };
    let Some(rule) = tables.rules.rule(id) else { return Vec::new() };
    let Some(service) = tables.service(rule.service) else { return Vec::new() };
    let plan = service.plan.class(class(tuple.protocol));
    let fields = plan.track.into_iter().chain(plan.track_before.at(now));
    let known = fields.filter_map(|fields| {
        let key = flow.key(fields, rule.service);
        let value = running.peek(&key, tables, now)?;
        let (slot, lifetime, epoch) = (value.slot(), value.lifetime(), value.epoch());
        Some((key, LiveEntry { slot, lifetime, epoch }))
    });
    known.collect()
}

fn flow(tuple: &Tuple) -> Option<Flow> {
    use std::net::IpAddr::{V4, V6};
    let Tuple { protocol, src, dst, sport, dport } = *tuple;
    match (src, dst) {
        (V4(src), V4(dst)) => Some(Flow::v4(src.octets(), dst.octets(), protocol, sport, dport)),
        (V6(src), V6(dst)) => Some(Flow::v6(src.octets(), dst.octets(), protocol, sport, dport)),
        _ => None,
    }
}

fn class(protocol: u8) -> PacketClass {
    match protocol {
        6 => PacketClass::Tcp,
        17 => PacketClass::Udp,
        50 => PacketClass::Esp,
        47 => PacketClass::Gre,
        1 | 58 => PacketClass::Icmp,
        _ => PacketClass::Other,
    }
}
