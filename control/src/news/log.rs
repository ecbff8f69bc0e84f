//! Says it.

use std::sync::Arc;

use super::{News, Order};
use crate::model::Role;

/// So many names are written out.
const NAMED: usize = 8;

/// Who serves.
const ORDINARY: &str = "those that should serve";
const LAST_RESORT: &str = "last resort";

/// One event for each of them, with the generation of the Tables that bring it to the workers.
pub fn log(news: &[News], generation: u64) {
    for news in news {
        one(news, generation);
    }
}

fn one(news: &News, generation: u64) {
    match news {
        News::Order { service, backend, from, to } => {
            let (from, to) = (from.name(), to.name());
            tracing::info!(%service, %backend, from, to, generation, "operator's order");
        }
        News::Weight { service, backend, from, to, by_header } => {
            let reason = if *by_header {
                "the header of the check's answer (W-1)"
            } else {
                "the file (W-3)"
            };
            tracing::info!(%service, %backend, from, to, reason, generation, "weight changed");
        }
        News::Eligible { service, from, to, joined, left } => {
            let (joined, left) = (names(joined), names(left));
            tracing::info!(%service, from, to, joined, left, generation, "eligible set changed");
        }
        News::Pool { service, from, to } => pool(service, *from, *to, generation),
        News::LastResort { service, begins: true } => {
            let reason = "no backend that should serve can";
            let (from, to) = (ORDINARY, LAST_RESORT);
            tracing::warn!(%service, from, to, reason, generation, "last resort serves");
        }
        News::LastResort { service, begins: false } => {
            let (from, to) = (LAST_RESORT, ORDINARY);
            tracing::info!(%service, from, to, generation, "last resort is over");
        }
        News::Drained { service, backend } => {
            tracing::info!(%service, %backend, generation, "drained: its connections have ended");
        }
    }
}

/// A service that serves from elsewhere than it should, or not at all, is a warning.
fn pool(service: &str, from: Option<Role>, to: Option<Role>, generation: u64) {
    let (was, is) = (role(from), role(to));
    match to {
        Some(Role::Primary) => {
            tracing::info!(service, from = was, to = is, generation, "pool changed");
        }
        Some(Role::Failover) => {
            tracing::warn!(service, from = was, to = is, generation, "pool changed");
        }
        None => {
            let reason = "no eligible backend: new connections are dropped";
            tracing::warn!(service, from = was, to = is, reason, generation, "pool changed");
        }
    }
}

fn role(role: Option<Role>) -> &'static str {
    match role {
        Some(Role::Primary) => "primary",
        Some(Role::Failover) => "failover",
        None => "none",
    }
}

/// The first few, and how many more.
pub(super) fn names(names: &[Arc<str>]) -> String {
    let named = names.iter().take(NAMED).map(|n| &**n).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

impl Order {
    /// In the log.
    pub fn name(self) -> &'static str {
        match self {
            Self::Enabled => "enabled",
            Self::Drained => "drained",
            Self::Disabled => "disabled",
        }
    }
}
