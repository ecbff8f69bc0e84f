//! Backends that no packet gets to. Behind a host interface the kernel has routes and finds
//! neighbours out; a port without one has only what the file says.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::address::family;
use crate::config::diagnostics::{Span, count};
use crate::config::field::Field;
use crate::config::file::File;
use crate::config::file::service::Backend;
use crate::config::report::Report;
use crate::model::Config;
use crate::plan::wiring;

/// What is missing. One gateway may lead to every backend, so each is told of once.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Missing {
    /// The neighbour of a port.
    Neighbour(usize, IpAddr),
    /// A way there, by whether it is for IPv4.
    Way(bool),
}

/// The first backend that something is missing for, and how many there are.
struct Cut {
    place: Span,
    backend: IpAddr,
    backends: usize,
}

/// Warns about what a file that is otherwise valid cannot reach. A file without ports sends nothing.
pub(super) fn warnings(file: &File, config: &Config, report: &mut Report<'_>) {
    if config.ports.is_empty() || report.refuses() {
        return;
    }
    let mut cuts = BTreeMap::new();
    let groups = file.service.iter().flat_map(|service| &service.group);
    for backend in groups.flat_map(|group| &group.backends.value) {
        note(backend, config, &mut cuts);
    }
    for (missing, cut) in cuts {
        warn(missing, &cut, config, report);
    }
}

fn note(backend: &Field<Backend>, config: &Config, cuts: &mut BTreeMap<Missing, Cut>) {
    let address = &backend.address;
    let asks = config.ports.iter().any(|port| !port.host_interface.is_empty());
    let missing = match wiring::ways(config, None, address.value).hops.first() {
        None if asks => return,
        None => Missing::Way(address.is_ipv4()),
        Some(hop) if hop.mac.is_some() || hop.asked => return,
        Some(hop) => Missing::Neighbour(usize::from(hop.port.0), hop.neighbour),
    };
    let first = || Cut { place: address.span.clone(), backend: address.value, backends: 0 };
    cuts.entry(missing).or_insert_with(first).backends += 1;
}

fn warn(missing: Missing, cut: &Cut, config: &Config, report: &mut Report<'_>) {
    let (why, help) = match missing {
        Missing::Neighbour(port, via) => neighbour(&config.ports[port].name, via),
        Missing::Way(_) => {
            let family = family(cut.backend);
            let help = format!("give a [[port]] a host_interface, or an {family} gateway");
            ("no port's prefix and no gateway leads there".into(), help)
        }
    };
    let others = match cut.backends {
        1 => String::new(),
        several => format!(", and {} like it", count(several - 1, "backend")),
    };
    let message = format!(
        "backend {}{others}: {why}, so its packets are dropped (next_hop_unresolved)",
        cut.backend
    );
    report.warn_on_the_wire(cut.place.clone(), message, help);
}

fn neighbour(port: &str, via: IpAddr) -> (String, String) {
    let why = format!("port {port:?} has no neighbour {via}");
    let help =
        format!("give port {port:?} a host_interface, or neighbours = {{ \"{via}\" = \"MAC\" }}");
    (why, help)
}
