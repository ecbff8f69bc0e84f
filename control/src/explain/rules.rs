//! The rules around a packet's destination.

use std::net::IpAddr;

use super::reasons;
use crate::diff::ports;
use crate::model::{Config, ForwardingRule};

/// One rule in a line, by its name.
pub(super) fn named(config: &Config, name: &str) -> String {
    let rule = config.rules.iter().find(|r| *r.name == *name);
    rule.map_or_else(|| name.to_owned(), line)
}

/// The rules that claim an address.
pub(super) fn around(config: &Config, address: IpAddr) -> Vec<String> {
    config.rules.iter().filter(|r| r.address.contains(&address)).map(line).collect()
}

fn line(rule: &ForwardingRule) -> String {
    let protocol = super::name(&rule.protocol);
    let address = reasons::address(rule);
    format!("{}: {address}, {protocol}, {} → {}", rule.name, ports(&rule.ports), rule.service)
}
