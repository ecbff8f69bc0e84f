//! What share of the established connections would end, when and why.

use serde::Serialize;
use tables::{Lifetime, SlotEpochs, Tables};

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
    let of_backend = |backend: &Backend| {
        let (after_seconds, why) = end(old, backend, before, after)?;
        let share = shares.get(&backend.slot).copied().unwrap_or(0.0);
        Some(Cut { backend: backend.path.to_string(), share, after_seconds, why })
    };
    old.backends.iter().filter_map(of_backend).collect()
}

/// When and why a backend's entries end; `None`: they go on.
fn end(old: &Service, backend: &Backend, before: &Tables, after: &Side) -> Option<(f64, String)> {
    let new = after.state.service(&old.config.name);
    let kept = new.and_then(|s| s.backends.iter().find(|b| b.slot == backend.slot));
    let in_file = new.is_some_and(Service::is_in_file);
    if let Some(deadline) = kept.and_then(Backend::deadline) {
        return Some((deadline.as_secs_f64(), removed(new, backend, in_file).to_owned()));
    }
    let epochs = |tables: &Tables| tables.slots.epochs(backend.slot);
    let ended = ended(epochs(before)?, epochs(&after.tables)?);
    let why = match (kept, ended) {
        (None, _) => removed(new, backend, in_file).to_owned(),
        (Some(_), [false, false]) => return None,
        (Some(_), _) if new.is_some_and(|s| failover::switch_ends_entries(s.config.failover)) => {
            "failover switch without draining (T-10)".into()
        }
        (Some(_), [false, true]) => "persistence ends (H-2)".into(),
        (Some(_), _) => "unhealthy (T-11)".into(),
    };
    Some((0.0, why))
}

fn removed(new: Option<&Service>, backend: &Backend, in_file: bool) -> &'static str {
    let mut others = new.into_iter().flat_map(|s| s.current());
    if others.any(|b| b.path == backend.path) {
        "its address changes, which is a removal and an addition (R-4, T-13)"
    } else if in_file {
        "the backend is removed (T-13)"
    } else {
        "the service is removed (T-13)"
    }
}

/// Whether the epochs that entries live by have moved on: while healthy, persisting.
fn ended(before: SlotEpochs, after: SlotEpochs) -> [bool; 2] {
    [Lifetime::WhileHealthy, Lifetime::Persisting].map(|of| before.of(of) != after.of(of))
}
