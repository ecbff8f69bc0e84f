//! How counters are told.

use tables::counters::Event;
use tables::traffic::Load;
use tables::{Counters, Outcome, Tables, WorkerCounters};

use super::answer::{BackendCounts, CountersNow, Counts, Given, PortCounts, ServiceCounts};
use super::picture::Picture;
use crate::state::{Backend, Service};

/// Every counter now.
pub fn counters(counters: &Counters, picture: &Picture) -> CountersNow {
    let workers: Vec<_> = (0..counters.workers()).map(|n| of_worker(counters.worker(n))).collect();
    let ports = picture.state.config().ports.iter().zip(&picture.links);
    let port = |(port, link): (&crate::model::Port, &super::picture::Link)| PortCounts {
        name: port.name.to_string(),
        losses: link.losses.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect(),
    };
    let services = picture.state.services().map(|service| of_service(service, &picture.tables));
    CountersNow {
        total: total(&workers),
        workers,
        ports: ports.map(port).collect(),
        services: services.collect(),
    }
}

fn of_service(service: &Service, tables: &Tables) -> ServiceCounts {
    let load = |b: &Backend| tables.traffic.load(b.slot).map(Load::read).unwrap_or_default();
    let backend = |b: &Backend| BackendCounts {
        backend: b.path.to_string(),
        address: b.address.to_string(),
        given: load(b).into(),
    };
    let backends: Vec<_> = service.backends.iter().map(backend).collect();
    ServiceCounts {
        name: service.config.name.to_string(),
        given: backends.iter().map(|b| b.given).sum::<Given>(),
        backends,
    }
}

fn of_worker(worker: &WorkerCounters) -> Counts {
    let outcome = |o: &Outcome| (o.name().to_owned(), worker.outcome(*o));
    let event = |e: &Event| (e.name().to_owned(), worker.event(*e));
    Counts {
        outcomes: Outcome::ALL.iter().map(outcome).collect(),
        events: Event::ALL.iter().map(event).collect(),
        held: worker.held(),
    }
}

/// The sum of what was just read, so that it is the sum of what is shown beside it.
fn total(workers: &[Counts]) -> Counts {
    let mut total = Counts::default();
    for worker in workers {
        for (name, count) in &worker.outcomes {
            *total.outcomes.entry(name.clone()).or_default() += count;
        }
        for (name, count) in &worker.events {
            *total.events.entry(name.clone()).or_default() += count;
        }
        total.held += worker.held;
    }
    total
}
