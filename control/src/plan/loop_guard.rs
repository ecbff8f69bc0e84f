//! What our own encapsulated packets look like (N-5).

use std::collections::BTreeSet;
use std::net::IpAddr;

use ipnet::IpNet;

use crate::model::{Encapsulation, EncapsulationKind};
use crate::state::State;

fn encapsulations(state: &State) -> impl Iterator<Item = &Encapsulation> {
    state.services().map(|service| &service.config.encapsulation)
}

/// Every outer source.
pub(super) fn sources(state: &State) -> Box<[IpAddr]> {
    distinct(encapsulations(state).flat_map(|e| e.source.iter().copied()))
}

/// Every prefix that outer sources are spread over.
pub(super) fn prefixes(state: &State) -> Box<[IpNet]> {
    distinct(encapsulations(state).flat_map(|e| e.spread().unwrap_or_default().iter().copied()))
}

/// Every port that GUE is sent to.
pub(super) fn gue_ports(state: &State) -> Box<[u16]> {
    let gue = encapsulations(state).filter(|e| e.kind == EncapsulationKind::Gue);
    distinct(gue.map(|e| e.gue_port))
}

fn distinct<T: Ord>(values: impl Iterator<Item = T>) -> Box<[T]> {
    values.collect::<BTreeSet<_>>().into_iter().collect()
}
