//! `windrose counters`

use std::collections::BTreeMap;

use comfy_table::Cell;

use super::{Look, table};
use crate::admin::answer::{BackendCounts, CountersNow, Counts, Given, GivenRates, ServiceCounts};

/// What is shown of the counters.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shown<'a> {
    /// Those that are zero too.
    pub all: bool,
    /// A column for each worker.
    pub by_worker: bool,
    /// Rates since an earlier reading, so many seconds ago.
    pub since: Option<(&'a CountersNow, f64)>,
}

/// The counters as a table: how packets ended, what else was counted, what ports lost.
pub fn counters(now: &CountersNow, shown: Shown<'_>, look: Look) -> String {
    let columns = Columns { now, shown };
    let mut text = columns.section("OUTCOME", look, |counts| &counts.outcomes);
    text += "\n";
    text += &columns.section("EVENT", look, |counts| &counts.events);
    let received: u64 = now.total.outcomes.values().sum::<u64>() + now.total.held;
    text += &format!("\n{received} received = outcomes + {} held\n", now.total.held);
    text += &losses(now, shown.all, look);
    text + &given(now, shown, look)
}

/// What each service's backends were given.
fn given(now: &CountersNow, shown: Shown<'_>, look: Look) -> String {
    let mut head = vec!["SERVICE", "BACKEND"];
    for what in ["PACKETS", "BYTES", "NEW CONNECTIONS"] {
        head.push(what);
        head.extend(shown.since.map(|_| "A SECOND"));
    }
    let rows: Vec<_> = now.services.iter().flat_map(|service| of_service(service, shown)).collect();
    if rows.is_empty() {
        return String::new();
    }
    let numbers: Vec<_> = (2..head.len()).collect();
    format!("\n{}", table(look, &head, &numbers, rows))
}

/// A service, and then each of its backends.
fn of_service(service: &ServiceCounts, shown: Shown<'_>) -> Vec<Vec<Cell>> {
    let earlier = |(before, seconds): (&CountersNow, f64)| {
        (before.services.iter().find(|s| s.name == service.name).cloned(), seconds)
    };
    let earlier = shown.since.map(earlier);
    let row = |name: &str, given: Given, of: &dyn Fn(&ServiceCounts) -> Option<Given>| {
        let before = earlier
            .as_ref()
            .map(|(before, seconds)| (before.as_ref().and_then(of).unwrap_or_default(), *seconds));
        (shown.all || given != Given::default()).then(|| cells(&service.name, name, given, before))
    };
    let all = row("(all)", service.given, &|before| Some(before.given));
    let backends = service.backends.iter().filter_map(|now| {
        row(&now.backend, now.given, &|before| {
            let same =
                |b: &&BackendCounts| (&b.backend, &b.address) == (&now.backend, &now.address);
            Some(before.backends.iter().find(same)?.given)
        })
    });
    all.into_iter().chain(backends).collect()
}

fn cells(service: &str, backend: &str, given: Given, before: Option<(Given, f64)>) -> Vec<Cell> {
    let rates = before.map(|(before, seconds)| given.since(before, seconds));
    let mut row = vec![Cell::new(service), Cell::new(backend)];
    let mut add = |count: u64, rate: fn(&GivenRates) -> f64| {
        row.push(Cell::new(count));
        row.extend(rates.as_ref().map(|rates| Cell::new(format!("{:.1}", rate(rates)))));
    };
    add(given.packets, |rates| rates.packets);
    add(given.bytes, |rates| rates.bytes);
    add(given.new_connections, |rates| rates.new_connections);
    row
}

struct Columns<'a> {
    now: &'a CountersNow,
    shown: Shown<'a>,
}

impl Columns<'_> {
    fn section(
        &self,
        title: &str,
        look: Look,
        part: impl Fn(&Counts) -> &BTreeMap<String, u64>,
    ) -> String {
        let workers: &[Counts] = if self.shown.by_worker { &self.now.workers } else { &[] };
        let mut head = vec![title.to_owned(), "TOTAL".to_owned()];
        head.extend(self.shown.since.map(|_| "A SECOND".to_owned()));
        head.extend((0..workers.len()).map(|number| format!("WORKER {number}")));
        let totals = part(&self.now.total).iter().filter(|(_, n)| self.shown.all || **n > 0);
        let rows = totals.map(|(name, total)| {
            let mut row = vec![Cell::new(name), Cell::new(total)];
            row.extend(self.shown.since.map(|(before, seconds)| {
                let before = part(&before.total).get(name).copied().unwrap_or(0);
                Cell::new(format!("{:.1}", total.saturating_sub(before) as f64 / seconds))
            }));
            row.extend(workers.iter().map(|w| Cell::new(part(w).get(name).unwrap_or(&0))));
            row
        });
        let numbers: Vec<_> = (1..head.len()).collect();
        let head: Vec<_> = head.iter().map(String::as_str).collect();
        table(look, &head, &numbers, rows.collect())
    }
}

fn losses(now: &CountersNow, all: bool, look: Look) -> String {
    let lost = now.ports.iter().flat_map(|p| p.losses.iter().map(move |(what, n)| (p, what, *n)));
    let rows: Vec<Vec<_>> = lost
        .filter(|(_, _, n)| all || *n > 0)
        .map(|(port, what, n)| vec![Cell::new(&port.name), Cell::new(what), Cell::new(n)])
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    format!("\n{}", table(look, &["PORT", "LOST", "TOTAL"], &[2], rows))
}
