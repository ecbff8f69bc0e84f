//! Which keys differ, in the file's own words.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use super::words::ports;
use crate::model::written::{Written, neighbours, vip};
use crate::model::{Config, ForwardingRule, Port};

/// One key with its old and its new value; null where it was not there, or is not any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// The key, or the name of what comes and goes.
    pub key: String,
    /// The old value.
    pub old: Option<Told>,
    /// The new value.
    pub new: Option<Told>,
}

/// What a key or a name stands for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Told {
    /// A value as the file has it.
    Value(Value),
    /// A summary for people.
    Words(String),
}

impl Told {
    pub(super) fn words(text: impl Into<String>) -> Self {
        Self::Words(text.into())
    }
}

/// Collects what differs.
#[derive(Default)]
pub(super) struct Found(pub(super) Vec<Setting>);

impl Found {
    pub(super) fn compare(&mut self, key: &str, old: Option<Told>, new: Option<Told>) {
        if old != new {
            self.0.push(Setting { key: key.to_owned(), old, new });
        }
    }

    /// Values that both files have.
    pub(super) fn values(&mut self, key: &str, old: Value, new: Value) {
        self.compare(key, Some(Told::Value(old)), Some(Told::Value(new)));
    }

    pub(super) fn written<T: Written + ?Sized>(&mut self, key: &str, old: &T, new: &T) {
        self.values(key, old.written(), new.written());
    }

    /// Something named of which each file has a summary, or nothing.
    fn summaries(&mut self, key: &str, old: Option<String>, new: Option<String>) {
        self.compare(key, old.map(Told::Words), new.map(Told::Words));
    }
}

/// What is outside services and rules. Values that need a restart are told apart.
pub(super) fn global(old: &Config, new: &Config) -> Vec<Setting> {
    let mut found = Found::default();
    if old.dataplane.hash_seed != new.dataplane.hash_seed {
        // The seed is secret: only that it differs is said.
        let (old, new) = (Told::words("one"), Told::words("another (a secret: not shown)"));
        found.compare("dataplane.hash_seed", Some(old), Some(new));
    }
    found.written("admin.listen", &old.admin.listen, &new.admin.listen);
    found.written("admin.socket", &old.admin.socket, &new.admin.socket);
    client_zones(&mut found, old, new);
    for (old, new) in old.ports.iter().zip(&new.ports).filter(|(o, n)| o.name == n.name) {
        port(&mut found, old, new);
    }
    found.0
}

fn client_zones(found: &mut Found, old: &Config, new: &Config) {
    let zones = |config: &Config| {
        let zones = config.client_zones.iter();
        zones.map(|z| (z.prefix, Told::Value(z.zone.written()))).collect::<BTreeMap<_, _>>()
    };
    let (old, new) = (zones(old), zones(new));
    for prefix in old.keys().chain(new.keys()).collect::<BTreeSet<_>>() {
        let key = format!("client_zone {prefix}");
        found.compare(&key, old.get(prefix).cloned(), new.get(prefix).cloned());
    }
}

fn port(found: &mut Found, old: &Port, new: &Port) {
    let mut of_port = Found::default();
    let text = |port: &Port| port.addresses.iter().map(ToString::to_string).collect::<Vec<_>>();
    of_port.written("addresses", &text(old), &text(new));
    of_port.written("gateways", &old.gateways, &new.gateways);
    of_port.written("announce_vips", &old.announce_vips, &new.announce_vips);
    of_port.written("icmp_rate", &old.icmp_rate, &new.icmp_rate);
    of_port.written("answer_echo", &old.answer_echo, &new.answer_echo);
    of_port.written("fragment_oversize", &old.fragment_oversize, &new.fragment_oversize);
    of_port.values("neighbours", neighbours(&old.neighbours), neighbours(&new.neighbours));
    for setting in of_port.0 {
        found.0.push(Setting { key: format!("port {:?} {}", new.name, setting.key), ..setting });
    }
}

/// The rules, by name.
pub(super) fn rules(old: &Config, new: &Config) -> BTreeMap<String, Vec<Setting>> {
    let by_name = |config: &Config| {
        let rules = config.rules.iter().map(|r| (r.name.to_string(), r.clone()));
        rules.collect::<BTreeMap<_, _>>()
    };
    let (old, new) = (by_name(old), by_name(new));
    let names: BTreeSet<_> = old.keys().chain(new.keys()).cloned().collect();
    let compared = names.into_iter().map(|name| {
        let settings = match (old.get(&name), new.get(&name)) {
            (Some(old), Some(new)) => rule(old, new),
            (old, new) => {
                let mut found = Found::default();
                found.summaries("rule", old.map(summary), new.map(summary));
                found.0
            }
        };
        (name, settings)
    });
    compared.filter(|(_, settings)| !settings.is_empty()).collect()
}

fn rule(old: &ForwardingRule, new: &ForwardingRule) -> Vec<Setting> {
    let mut found = Found::default();
    found.values("address", vip(&old.address), vip(&new.address));
    found.written("protocol", &old.protocol, &new.protocol);
    found.written("ports", &old.ports, &new.ports);
    found.written("service", &old.service, &new.service);
    found.written("client_allow", &old.client_allow, &new.client_allow);
    found.0
}

fn summary(rule: &ForwardingRule) -> String {
    let word = |value: Value| value.as_str().unwrap_or_default().to_owned();
    let (address, protocol) = (word(vip(&rule.address)), word(rule.protocol.written()));
    format!("{address}, {protocol}, {} to service {}", ports(&rule.ports), rule.service)
}

/// Whether a service comes or goes.
pub(super) fn comes_or_goes(key: &str, old: Option<String>, new: Option<String>) -> Vec<Setting> {
    let mut found = Found::default();
    found.summaries(key, old, new);
    found.0
}
