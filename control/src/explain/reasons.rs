//! Why a backend is eligible, or is not.

use crate::model::{ForwardingRule, Profile, Role};
use crate::state::{Backend, Service};

/// How a backend is eligible: a last resort serves although it is unhealthy.
pub(crate) fn eligible(backend: &Backend, service: &Service, last_resort: bool) -> String {
    if !last_resort || backend.is_healthy() {
        return "eligible".into();
    }
    let rule = match (service.config.failover.is_some(), service.config.weighted) {
        (false, false) => "E-1",
        (false, true) => "E-2",
        (true, false) => "E-4",
        (true, true) => "E-6",
    };
    format!("unhealthy, but eligible as the last resort ({rule})")
}

/// In the order in which an operator can do something about it.
pub(crate) fn not_eligible(backend: &Backend, service: &Service, before_zones: bool) -> String {
    let orders = backend.orders();
    if orders.drained {
        return "drained by the operator (T-18)".into();
    }
    if backend.is_drained_with_service() && backend.is_in_file() {
        return "its service is drained by the operator (T-18)".into();
    }
    if backend.is_removed() {
        return "taken out of the file, draining (T-13)".into();
    }
    if before_zones {
        let zone = backend.zone.as_deref().unwrap_or("none");
        return format!("in zone {zone}; the client's own zone serves it (Z-2, Z-3)");
    }
    let eligible = service.eligible();
    if eligible.pool.is_some_and(|pool| pool != backend.role) {
        return other_pool(backend.role, service);
    }
    if orders.disabled {
        return "disabled by the operator (T-18)".into();
    }
    if !backend.is_healthy() {
        return "unhealthy".into();
    }
    if service.config.weighted && backend.weight() == 0 {
        return "its weight is 0 (W-2)".into();
    }
    "healthy, but unhealthy backends of non-zero weight come first (E-2, E-6)".into()
}

fn other_pool(role: Role, service: &Service) -> String {
    match role {
        Role::Failover if service.eligible().last_resort => {
            "failover, and the last resort is the primaries (E-4, E-6)".into()
        }
        Role::Failover => "failover, and enough primaries serve (E-3, E-5)".into(),
        Role::Primary => {
            "primary, and too few primaries can serve: failover does (E-3, E-5)".into()
        }
    }
}

/// Why new connections go to whom they go.
pub(crate) fn set(service: &Service) -> String {
    let eligible = service.eligible();
    if eligible.members.is_empty() {
        return why_nobody(service).into();
    }
    let (failover, weighted) = (service.config.failover.is_some(), service.config.weighted);
    let what = match (eligible.last_resort, eligible.pool, failover) {
        (true, _, _) => "the last resort: none of those that should serve can",
        (false, Some(Role::Failover), _) => "too few primaries can serve: failover does",
        (false, _, true) => "enough primaries can serve",
        (false, _, false) => "those that can serve",
    };
    let rules = match (failover, weighted, eligible.last_resort) {
        (false, false, _) => "E-1",
        (false, true, _) => "E-2",
        (true, false, false) => "E-3",
        (true, false, true) => "E-4",
        (true, true, false) => "E-5",
        (true, true, true) => "E-6",
    };
    format!("{what} ({rules})")
}

/// A rule's address, or its prefix.
pub(crate) fn address(rule: &ForwardingRule) -> String {
    match rule.address.prefix_len() == rule.address.max_prefix_len() {
        true => rule.address.addr().to_string(),
        false => rule.address.to_string(),
    }
}

/// Why nobody is eligible.
pub(crate) fn nobody(service: &Service) -> String {
    format!("It is dropped (no_eligible_backend): {}.", why_nobody(service))
}

fn why_nobody(service: &Service) -> &'static str {
    if service.is_drained() {
        return "the operator drains the service";
    }
    if service.current().is_empty() {
        "the service has no backend that is not draining"
    } else if service.config.profile == Profile::Azure {
        "no backend is healthy (E-1, azure)"
    } else {
        "no backend can serve, and drop_traffic_if_unhealthy is set (E-4, E-6)"
    }
}
