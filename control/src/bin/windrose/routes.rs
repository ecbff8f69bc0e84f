//! The kernel's routes and next hops, where there are host interfaces (D-11).

use std::collections::BTreeSet;
use std::sync::Arc;

use control::model::Config;
use control::netlink::{self, Kernel};
use control::state::State;

use crate::background::Background;
use crate::events::{Event, Events};

/// The mirror of the kernel's routes, if a port has a host interface.
pub(crate) struct Routes(Option<Arc<Kernel>>);

impl Routes {
    /// Mirrors the host interfaces of these ports, which are there already.
    pub(crate) fn follow(config: &Config, background: &Background, events: &Events) -> Self {
        let names: Vec<_> = config.ports.iter().map(|port| port.host_interface.clone()).collect();
        if names.iter().all(String::is_empty) {
            return Self(None);
        }
        let bell = events.bell(Event::Network);
        Self(Some(netlink::follow(background.handle(), names, move || bell.ring())))
    }

    /// What plans are made with.
    pub(crate) fn kernel(&self) -> Option<Arc<Kernel>> {
        self.0.clone()
    }

    /// Whether there is a way, up to an Ethernet address, to every backend; what a file leads to by
    /// itself is there at once.
    pub(crate) fn know_ways(&self, state: &State) -> bool {
        let Some(kernel) = &self.0 else { return true };
        let known = |address| {
            let ways = kernel.ways(state.config(), address);
            ways.hops.iter().any(|hop| hop.mac.is_some())
        };
        state.services().flat_map(|service| &service.backends).all(|backend| known(backend.address))
    }

    /// Asks for the ways to all backends that there are now, those that drain included.
    pub(crate) fn want(&self, state: &State) {
        let Some(kernel) = &self.0 else { return };
        let backends = state.services().flat_map(|service| &service.backends);
        let addresses: BTreeSet<_> = backends.map(|backend| backend.address).collect();
        kernel.want(state.config(), addresses);
    }
}
