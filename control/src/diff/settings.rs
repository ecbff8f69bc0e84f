//! Which keys differ.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use serde::Serialize;

use crate::model::{Config, ForwardingRule, Port, Service};

/// One key with its old and its new value; null where it was not there, or is not any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// The key, or the name of what comes and goes.
    pub key: String,
    /// The old value.
    pub old: Option<String>,
    /// The new value.
    pub new: Option<String>,
}

impl Setting {
    pub(super) fn added(key: impl Into<String>, new: String) -> Self {
        Self { key: key.into(), old: None, new: Some(new) }
    }

    pub(super) fn removed(key: impl Into<String>, old: String) -> Self {
        Self { key: key.into(), old: Some(old), new: None }
    }
}

/// Collects what differs.
#[derive(Default)]
struct Found(Vec<Setting>);

impl Found {
    fn compare<T: PartialEq + Debug>(&mut self, key: &str, old: &T, new: &T) {
        if old != new {
            let (old, new) = (Some(format!("{old:?}")), Some(format!("{new:?}")));
            self.0.push(Setting { key: key.to_owned(), old, new });
        }
    }
}

macro_rules! compare {
    ($found:ident, $old:ident, $new:ident: $($field:ident as $key:literal),+ $(,)?) => {
        $($found.compare($key, &$old.$field, &$new.$field);)+
    };
}

/// What is outside services and rules. Values that need a restart are told apart.
pub(super) fn global(old: &Config, new: &Config) -> Vec<Setting> {
    let mut found = Found::default();
    // The seed is secret: only that it differs is said.
    found.compare(
        "dataplane.hash_seed",
        &"one",
        if old.dataplane.hash_seed == new.dataplane.hash_seed { &"one" } else { &"another" },
    );
    found.compare("admin", &old.admin, &new.admin);
    let zones = |config: &Config| {
        let zones = config.client_zones.iter();
        zones.map(|z| format!("{} in {}", z.prefix, z.zone)).collect::<BTreeSet<_>>()
    };
    found.compare("client_zone", &zones(old), &zones(new));
    for (old, new) in old.ports.iter().zip(&new.ports).filter(|(o, n)| o.name == n.name) {
        port(&mut found, old, new);
    }
    found.0
}

fn port(found: &mut Found, old: &Port, new: &Port) {
    let mut of_port = Found::default();
    compare!(of_port, old, new: gateways as "gateways", icmp_rate as "icmp_rate",
        answer_echo as "answer_echo", fragment_oversize as "fragment_oversize",
        neighbours as "neighbours");
    for setting in of_port.0 {
        found.0.push(Setting { key: format!("port {} {}", new.name, setting.key), ..setting });
    }
}

/// The rules, by name.
pub(super) fn rules(old: &Config, new: &Config) -> BTreeMap<String, Vec<Setting>> {
    let find =
        |config: &Config, name: &str| config.rules.iter().find(|r| *r.name == *name).cloned();
    let names: BTreeSet<_> = old.rules.iter().chain(&new.rules).map(|r| r.name.clone()).collect();
    let compared = names.iter().map(|name| {
        let settings = match (find(old, name), find(new, name)) {
            (Some(old), Some(new)) => rule(&old, &new),
            (None, Some(new)) => vec![Setting::added("rule", summary(&new))],
            (Some(old), None) => vec![Setting::removed("rule", summary(&old))],
            (None, None) => Vec::new(),
        };
        (name.to_string(), settings)
    });
    compared.filter(|(_, settings)| !settings.is_empty()).collect()
}

fn rule(old: &ForwardingRule, new: &ForwardingRule) -> Vec<Setting> {
    let mut found = Found::default();
    compare!(found, old, new: address as "address", protocol as "protocol", ports as "ports",
        service as "service", client_allow as "client_allow");
    found.0
}

fn summary(rule: &ForwardingRule) -> String {
    format!("{} {:?} {:?} to {}", rule.address, rule.protocol, rule.ports, rule.service)
}

/// One service's settings, its backends excepted.
pub(super) fn service(name: &str, old: &Config, new: &Config) -> Vec<Setting> {
    let find = |config: &Config| config.services.iter().find(|s| *s.name == *name).cloned();
    match (find(old), find(new)) {
        (Some(old), Some(new)) => of_service(&old, &new),
        (None, Some(new)) => vec![Setting::added("service", backends(&new))],
        (Some(old), None) => vec![Setting::removed("service", backends(&old))],
        (None, None) => Vec::new(),
    }
}

fn backends(service: &Service) -> String {
    let count: usize = service.groups.iter().map(|g| g.backends.len()).sum();
    format!("{count} backends")
}

fn of_service(old: &Service, new: &Service) -> Vec<Setting> {
    let mut found = Found::default();
    compare!(found, old, new: profile as "profile", affinity as "session_affinity",
        tracking_mode as "tracking_mode",
        persistence as "connection_persistence_on_unhealthy_backends",
        idle_timeout as "idle_timeout", draining_timeout as "connection_draining_timeout",
        weighted as "weighted", maglev_table_size as "maglev_table_size",
        initially_healthy as "initially_healthy", encapsulation as "encapsulation",
        zonal_affinity as "zonal_affinity", failover as "failover_policy",
        health_check as "health_check");
    found.0
}
