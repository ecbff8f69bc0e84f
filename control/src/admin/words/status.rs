//! `windrose status`

use std::fmt::Write;

use comfy_table::Cell;

use super::bond::bonds;
use super::{Look, bad, brief, counted, good, odd, or_unknown, span, table};
use crate::admin::answer::{
    BackendStatus, GivenRates, Health, PortStatus, RuleStatus, ServiceStatus, Status, Workers,
};

/// The whole status; with a service's name that service alone.
pub fn status(status: &Status, service: Option<&str>, look: Look) -> String {
    let mut text = String::new();
    if service.is_none() {
        text += &head(status);
        text += &ports(&status.ports, look);
        text += &rules(&status.rules, look);
    }
    let shown = status.services.iter().filter(|s| service.is_none_or(|name| name == s.name));
    shown.for_each(|s| text += &of_service(s, look));
    if service.is_none() && !status.waiting_orders.is_empty() {
        text.push_str("\nOrders about what the file does not name:\n");
        for order in &status.waiting_orders {
            let _ = writeln!(text, "  {order}");
        }
    }
    text
}

fn head(status: &Status) -> String {
    let Status { version, pid, file, generation, .. } = status;
    let up = span(status.uptime_seconds);
    let mut text =
        format!("windrose {version}, process {pid}, up {up}, generation {generation} of {file}\n");
    if let Some(last) = &status.last_reload {
        let what = match &last.error {
            None => "applied".to_owned(),
            Some(why) => format!("REFUSED: {why}"),
        };
        let _ = writeln!(text, "last reload {} ago: {what}", span(last.seconds_ago));
    }
    text += &workers(&status.workers);
    if let Some(rates) = status.rates {
        let _ = writeln!(
            text,
            "a second: {:.0} packets received, {:.0} forwarded, {:.0} dropped; {:.0} new connections",
            rates.received, rates.forwarded, rates.dropped, rates.new_connections
        );
    }
    let _ = match &status.connections {
        None => writeln!(text, "connections: the first count is not done"),
        Some(live) => writeln!(
            text,
            "connections: {} IPv4, {} IPv6; {} have seen more than one packet (counted up to {} ago)",
            live.v4,
            live.v6,
            live.confirmed,
            span(live.age_seconds)
        ),
    };
    text
}

fn workers(workers: &Workers) -> String {
    let count = counted(workers.count, "worker");
    match workers.lagging.is_empty() {
        true => format!("{count}\n"),
        false => format!("{count}; STILL ON OLD TABLES: {}\n", workers.lagging.join(", ")),
    }
}

fn ports(ports: &[PortStatus], look: Look) -> String {
    let row = |port: &PortStatus| {
        let link = match port.up {
            Some(true) => good("up"),
            Some(false) => bad("DOWN"),
            None => Cell::new("-"),
        };
        let text = [port.addresses.join(", "), or_unknown(port.host_interface.as_ref())];
        let [addresses, host] = text.map(Cell::new);
        vec![Cell::new(&port.name), link, addresses, host, Cell::new(&port.device)]
    };
    let head = ["PORT", "LINK", "ADDRESSES", "HOST INTERFACE", "DEVICE"];
    let mut text = format!("\n{}", table(look, &head, &[], ports.iter().map(row).collect()));
    text += &bonds(ports);
    text
}

fn rules(rules: &[RuleStatus], look: Look) -> String {
    let row = |rule: &RuleStatus| {
        let RuleStatus { name, address, protocol, ports, service } = rule;
        [name, address, protocol, ports, service].map(Cell::new).into()
    };
    let head = ["RULE", "ADDRESS", "PROTOCOL", "PORTS", "SERVICE"];
    format!("\n{}", table(look, &head, &[], rules.iter().map(row).collect()))
}

fn of_service(service: &ServiceStatus, look: Look) -> String {
    let ServiceStatus { name, profile, pool, eligible, why, .. } = service;
    let of = counted(service.backends.len(), "backend");
    let state = match (service.in_file, service.drained) {
        (false, _) => ", NOT IN THE FILE ANY MORE, draining",
        (true, true) => ", DRAINED by the operator",
        (true, false) => "",
    };
    let set = match pool.as_str() {
        "none" => format!("nobody is eligible: {why}"),
        pool => format!("{eligible} of {of} eligible, {pool}: {why}"),
    };
    let live = service.connections.map(|count| format!("; {count} connections"));
    let rates = service.rates.map(a_second).unwrap_or_default();
    let rows = service.backends.iter().map(row).collect();
    let backends = table(look, &HEAD, &[4, 5, 6, 7, 8, 9], rows);
    let live = live.unwrap_or_default();
    format!("\nSERVICE {name} ({profile}){state}: {set}{live}{rates}\n{}", indented(&backends))
}

const HEAD: [&str; 11] = [
    "BACKEND",
    "ADDRESS",
    "ZONE",
    "HEALTH",
    "WEIGHT",
    "SHARE",
    "CONNECTIONS",
    "NEW/S",
    "PACKETS/S",
    "BYTES/S",
    "WHY",
];

fn a_second(rates: GivenRates) -> String {
    let [new, packets, bytes] = [rates.new_connections, rates.packets, rates.bytes].map(brief);
    format!("; a second: {new} new connections, {packets} packets, {bytes} bytes")
}

fn row(backend: &BackendStatus) -> Vec<Cell> {
    let rate = |of: fn(&GivenRates) -> f64| {
        Cell::new(or_unknown(backend.rates.as_ref().map(of).map(brief)))
    };
    vec![
        Cell::new(&backend.backend),
        Cell::new(&backend.address),
        Cell::new(or_unknown(backend.zone.as_ref())),
        health(backend),
        Cell::new(backend.weight),
        Cell::new(format!("{:.1} %", backend.share * 100.0)),
        Cell::new(or_unknown(backend.connections)),
        rate(|rates| rates.new_connections),
        rate(|rates| rates.packets),
        rate(|rates| rates.bytes),
        Cell::new(why(backend)),
    ]
}

pub(super) fn health(backend: &BackendStatus) -> Cell {
    match (backend.health, backend.disabled, backend.drained) {
        (_, _, true) => odd("drained"),
        (_, true, _) => odd("disabled"),
        (Health::Healthy, ..) => good("healthy"),
        (Health::Unhealthy, ..) => bad("unhealthy"),
    }
}

fn why(backend: &BackendStatus) -> String {
    let mut why = backend.why.clone();
    if let Some(reason) = &backend.reason {
        let _ = write!(why, "; {reason}");
    }
    if let Some(left) = backend.drains_for_seconds {
        let _ = write!(why, "; its connections end in {}", span(left));
    }
    why
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}
