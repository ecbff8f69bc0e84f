//! Which backends come, go and change (R-4: by name within a group, at an address).

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::settings::{Setting, Told};
use crate::model::Role;
use crate::state::{Backend, Service};

/// The differences, by `group/name`; `new` is `None` for a service that goes.
pub(super) fn compare(old: &Service, new: Option<&Service>) -> Vec<Setting> {
    let (mut before, mut after) = (all(Some(old)), all(new));
    let names: BTreeSet<_> = before.keys().chain(after.keys()).cloned().collect();
    let told = names.into_iter().map(|name| Setting {
        key: name.to_string(),
        old: before.remove(&name),
        new: after.remove(&name),
    });
    told.filter(|setting| setting.old != setting.new).collect()
}

/// By name, so that thousands of them are not looked for one by one.
fn all(service: Option<&Service>) -> HashMap<Arc<str>, Told> {
    let backends = service.map(Service::current).unwrap_or_default();
    backends.into_iter().map(|b| (Arc::clone(&b.path), told(b))).collect()
}

fn told(backend: &Backend) -> Told {
    let zone = backend.zone.as_ref().map(|z| format!(", zone {z}")).unwrap_or_default();
    let role = match backend.role {
        Role::Primary => "primary",
        Role::Failover => "failover",
    };
    Told::words(format!("{}, {role}, weight {}{zone}", backend.address, backend.weight()))
}
