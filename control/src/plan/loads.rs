//! Each backend's counters, kept from one generation of Tables to the next.

use std::sync::Arc;

use tables::Traffic;
use tables::traffic::Load;

use crate::state::{Backend, Service, State, Who};

/// Whose each slot is, and what was given to it.
#[derive(Debug, Default)]
pub(super) struct Loads(Vec<Option<(Who, Load)>>);

impl Loads {
    /// Every backend's counters for so many workers: those that it had, or new ones. Without
    /// workers nobody counts.
    pub(super) fn traffic(&mut self, state: &State, workers: usize) -> Traffic {
        if workers == 0 {
            return Traffic::default();
        }
        let mut before = std::mem::take(&mut self.0);
        self.0.resize_with(state.epochs().len(), || None);
        for (service, backend) in
            state.services().flat_map(|s| s.backends.iter().map(move |b| (s, b)))
        {
            let slot = backend.slot.get() as usize;
            let known = before.get_mut(slot).and_then(Option::take);
            let kept = known.filter(|(who, _)| is(who, service, backend));
            self.0[slot] =
                Some(kept.unwrap_or_else(|| (who(service, backend), Load::new(workers))));
        }
        self.0.iter().map(|known| known.as_ref().map(|(_, load)| load.clone())).collect()
    }
}

fn is(who: &Who, service: &Service, backend: &Backend) -> bool {
    who.service == service.config.name
        && who.backend == backend.path
        && who.address == backend.address
}

fn who(service: &Service, backend: &Backend) -> Who {
    Who {
        service: Arc::clone(&service.config.name),
        backend: Arc::clone(&backend.path),
        address: backend.address,
    }
}
