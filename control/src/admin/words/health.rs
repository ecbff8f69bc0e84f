//! `windrose health`

use comfy_table::Cell;

use super::status::health as verdict;
use super::{Look, or_unknown, span, table};
use crate::admin::answer::{BackendStatus, Health, ServiceStatus};

/// Every backend's health; with `failing` only of those that do not serve as they should.
pub fn health(services: &[ServiceStatus], failing: bool, look: Look) -> String {
    let backends = services.iter().flat_map(|s| s.backends.iter().map(move |b| (s, b)));
    let shown = backends.filter(|(_, b)| !failing || fails(b));
    let rows: Vec<_> = shown.map(|(s, b)| row(s, b)).collect();
    if rows.is_empty() {
        let nobody = if failing { "Every backend is healthy.\n" } else { "There is no backend.\n" };
        return nobody.into();
    }
    let head = ["SERVICE", "BACKEND", "ADDRESS", "HEALTH", "SINCE", "WEIGHT", "LAST CHECK"];
    table(look, &head, &[5], rows)
}

fn fails(backend: &BackendStatus) -> bool {
    backend.health == Health::Unhealthy || backend.drained
}

fn row(service: &ServiceStatus, backend: &BackendStatus) -> Vec<Cell> {
    vec![
        Cell::new(&service.name),
        Cell::new(&backend.backend),
        Cell::new(&backend.address),
        verdict(backend),
        Cell::new(or_unknown(backend.since_seconds.map(span))),
        Cell::new(backend.weight),
        Cell::new(or_unknown(backend.reason.as_ref())),
    ]
}
