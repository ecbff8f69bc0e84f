//! Which backends come, go and change (R-4: by name within a group, at an address).

use std::collections::BTreeSet;

use super::settings::{Setting, Told};
use crate::model::Role;
use crate::state::{Backend, Service};

/// The differences, by `group/name`; `new` is `None` for a service that goes.
pub(super) fn compare(old: &Service, new: Option<&Service>) -> Vec<Setting> {
    let before = old.current();
    let after = new.map(Service::current).unwrap_or_default();
    let names: BTreeSet<_> = before.iter().chain(&after).map(|b| &*b.path).collect();
    let find =
        |all: &[&Backend], name: &str| all.iter().find(|b| *b.path == *name).map(|b| told(b));
    let told = names.into_iter().map(|name| Setting {
        key: name.to_owned(),
        old: find(&before, name),
        new: find(&after, name),
    });
    told.filter(|setting| setting.old != setting.new).collect()
}

fn told(backend: &Backend) -> Told {
    let zone = backend.zone.as_ref().map(|z| format!(", zone {z}")).unwrap_or_default();
    let role = match backend.role {
        Role::Primary => "primary",
        Role::Failover => "failover",
    };
    Told::words(format!("{}, {role}, weight {}{zone}", backend.address, backend.weight()))
}
