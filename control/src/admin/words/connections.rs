//! `windrose connections`

use std::fmt::Write;

use comfy_table::Cell;

use super::{Look, or_unknown, table};
use crate::admin::answer::{By, Connection, ConnectionCount, ConnectionList, Counted};

/// A list, and how much of the whole it is.
pub fn list(list: &ConnectionList, look: Look) -> String {
    let shown = list.connections.len() as u64;
    let mut text = match list.connections.is_empty() {
        true => String::new(),
        false => rows(&list.connections, look),
    };
    let cut = match list.matched > shown {
        true => format!("; the first {shown} are shown (--limit)"),
        false => String::new(),
    };
    let _ = writeln!(text, "{}{cut}{}", total(list.matched), walked(list.took_seconds));
    text
}

fn rows(connections: &[Connection], look: Look) -> String {
    let row = |c: &Connection| {
        let client = end(Some(&c.client), c.client_port);
        let idle = format!("{:.1} s", c.idle_seconds);
        let packets = if c.confirmed { "several" } else { "one" };
        let text = [client, end(c.vip.as_ref(), c.vip_port), idle, packets.into()];
        let [client, vip, idle, packets] = text.map(Cell::new);
        let protocol = Cell::new(or_unknown(c.protocol.as_ref()));
        let (service, backend) = (Cell::new(&c.service), Cell::new(&c.backend));
        vec![protocol, client, vip, service, backend, idle, packets]
    };
    let head = ["PROTOCOL", "CLIENT", "VIP", "SERVICE", "BACKEND", "IDLE", "PACKETS"];
    table(look, &head, &[5], connections.iter().map(row).collect())
}

fn end(address: Option<&String>, port: Option<u16>) -> String {
    match (address, port) {
        (None, _) => "-".into(),
        (Some(address), None) => address.clone(),
        (Some(address), Some(port)) if address.contains(':') => format!("[{address}]:{port}"),
        (Some(address), Some(port)) => format!("{address}:{port}"),
    }
}

/// Counts, and what they do not show.
pub fn count(count: &ConnectionCount, look: Look) -> String {
    let (head, numbers): (&[&str], &[usize]) = match count.by {
        By::Backend => (&["SERVICE", "BACKEND", "CONNECTIONS"], &[2]),
        By::Client => (&["CLIENT", "CONNECTIONS"], &[1]),
        By::Service => (&["SERVICE", "CONNECTIONS"], &[1]),
    };
    let row = |c: &Counted| {
        let names = [&c.service, &c.backend, &c.client].into_iter().flatten().map(Cell::new);
        names.chain([Cell::new(c.connections)]).collect()
    };
    let mut text = match count.counts.is_empty() {
        true => String::new(),
        false => table(look, head, numbers, count.counts.iter().map(row).collect()),
    };
    let others = match count.others {
        0 => String::new(),
        others => format!("; {others} of them of others, not shown (--limit)"),
    };
    let _ = writeln!(text, "{}{others}{}", total(count.matched), walked(count.took_seconds));
    text
}

fn total(matched: u64) -> String {
    match matched {
        1 => "1 connection".into(),
        matched => format!("{matched} connections"),
    }
}

/// How exact it is.
fn walked(seconds: f64) -> String {
    format!(
        "; the table was walked through in {seconds:.1} s: what came or went meanwhile may be missing"
    )
}
