//! The rules around a packet's destination.

use std::net::IpAddr;

use super::reasons;
use crate::model::{Config, ForwardingRule, Ports};

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

fn ports(ports: &Ports) -> String {
    let range = |(first, last): &(u16, u16)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    match ports {
        Ports::All => "all ports".into(),
        Ports::Ranges(ranges) => {
            let all: Vec<_> = ranges.iter().map(range).collect();
            format!("port {}", all.join(" "))
        }
    }
}
