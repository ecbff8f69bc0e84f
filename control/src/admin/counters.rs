//! How counters are told.

use tables::counters::Event;
use tables::{Counters, Outcome, WorkerCounters};

use super::answer::{CountersNow, Counts, PortCounts};
use super::picture::Picture;

/// Every counter now.
pub fn counters(counters: &Counters, picture: &Picture) -> CountersNow {
    let workers: Vec<_> = (0..counters.workers()).map(|n| of_worker(counters.worker(n))).collect();
    let ports = picture.state.config().ports.iter().zip(&picture.links);
    let port = |(port, link): (&crate::model::Port, &super::picture::Link)| PortCounts {
        name: port.name.to_string(),
        losses: link.losses.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect(),
    };
    CountersNow { total: total(&workers), workers, ports: ports.map(port).collect() }
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
