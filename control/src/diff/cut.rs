//! What share of the established connections would end, when and why.

use std::collections::{HashMap, HashSet};

use serde::Serialize;
use tables::{Lifetime, SlotEpochs, SlotId, Tables};

use super::{Side, moved};
use crate::policy::failover;
use crate::state::{Backend, Service};

/// Established connections of one backend that would end. They are taken to be spread as the old
/// file spreads new ones.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cut {
    /// The backend that they are on, `group/name`.
    pub backend: String,
    /// Their share of the service's established connections, 0 to 1.
    pub share: f64,
    /// After how many seconds; 0: at once.
    pub after_seconds: f64,
    /// Why.
    pub why: String,
}

/// Everything of `old` that would end.
pub(super) fn cut(
    old: &Service,
    pools: &tables::Service,
    before: &Tables,
    after: &Side,
) -> Vec<Cut> {
    let shares = moved::shares(&pools.pool);
    let later = Later::of(after.state.service(&old.config.name), &after.tables);
    let of_backend = |backend: &Backend| {
        let (after_seconds, why) = later.end(backend, before)?;
        let share = shares.get(&backend.slot).copied().unwrap_or(0.0);
        Some(Cut { backend: backend.path.to_string(), share, after_seconds, why })
    };
    old.backends.iter().filter_map(of_backend).collect()
}

/// The service as the new file leaves it, its backends by what they are looked for by: there may
/// be many thousands.
struct Later<'a> {
    service: Option<&'a Service>,
    by_slot: HashMap<SlotId, &'a Backend>,
    names: HashSet<&'a str>,
    tables: &'a Tables,
}

impl<'a> Later<'a> {
    fn of(service: Option<&'a Service>, tables: &'a Tables) -> Self {
        let backends = service.map(|s| &*s.backends).unwrap_or_default();
        let current = service.map(Service::current).unwrap_or_default();
        Self {
            service,
            by_slot: backends.iter().map(|b| (b.slot, b)).collect(),
            names: current.into_iter().map(|b| &*b.path).collect(),
            tables,
        }
    }

    /// When and why a backend's entries end; `None`: they go on.
    fn end(&self, backend: &Backend, before: &Tables) -> Option<(f64, String)> {
        let kept = self.by_slot.get(&backend.slot);
        if let Some(deadline) = kept.and_then(|backend| backend.deadline()) {
            return Some((deadline.as_secs_f64(), self.removed(backend).to_owned()));
        }
        let epochs = |tables: &Tables| tables.slots.epochs(backend.slot);
        let ended = ended(epochs(before)?, epochs(self.tables)?);
        let switches = |s: &Service| failover::switch_ends_entries(s.config.failover);
        let why = match (kept, ended) {
            (None, _) => self.removed(backend).to_owned(),
            (Some(_), [false, false]) => return None,
            (Some(_), _) if self.service.is_some_and(switches) => {
                "failover switch without draining (T-10)".into()
            }
            (Some(_), [false, true]) => "persistence ends (H-2)".into(),
            (Some(_), _) => "unhealthy (T-11)".into(),
        };
        Some((0.0, why))
    }

    fn removed(&self, backend: &Backend) -> &'static str {
        if self.names.contains(&*backend.path) {
            "its address changes, which is a removal and an addition (R-4, T-13)"
        } else if self.service.is_some_and(Service::is_in_file) {
            "the backend is removed (T-13)"
        } else {
            "the service is removed (T-13)"
        }
    }
}

/// Whether the epochs that entries live by have moved on: while healthy, persisting.
fn ended(before: SlotEpochs, after: SlotEpochs) -> [bool; 2] {
    [Lifetime::WhileHealthy, Lifetime::Persisting].map(|of| before.of(of) != after.of(of))
}
