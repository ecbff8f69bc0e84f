//! Compiling rules into a table.

use std::collections::BTreeMap;

use ipnet::IpNet;

use super::conflict::merged;
use super::ports::{PortRange, PortRules};
use super::{Claims, Error, MaybeRule, Ports, Protocol, Rule, RuleSpec, RuleTable, conflicts};
use crate::PrefixMap;

pub(super) fn build(specs: &[RuleSpec]) -> Result<RuleTable, Error> {
    check(specs)?;
    let mut table = RuleTable { rules: specs.iter().map(rule).collect(), ..RuleTable::default() };
    let mut ranges = Vec::new();
    // Shorter prefixes first: what covers a prefix is there before it.
    for ((_, address), own) in by_length(specs) {
        let covering = table.prefixes.covering(address).copied().unwrap_or_default();
        let claims = own.compile(covering, &mut ranges);
        insert(&mut table, address, claims);
    }
    table.ranges = ranges.into();
    Ok(table)
}

fn check(specs: &[RuleSpec]) -> Result<(), Error> {
    if specs.len() > RuleTable::MAX_RULES {
        return Err(Error::TooMany(specs.len()));
    }
    if let Some(bad) = specs.iter().position(|spec| !has_good_ports(spec)) {
        return Err(Error::BadPorts(bad));
    }
    match conflicts(specs).first() {
        Some((a, b)) => Err(Error::Conflict { a: *a, b: *b }),
        None => Ok(()),
    }
}

fn has_good_ports(spec: &RuleSpec) -> bool {
    match &spec.ports {
        Ports::All => true,
        Ports::Ranges(ranges) => {
            spec.protocol != Protocol::L3Default
                && !ranges.is_empty()
                && ranges.iter().all(|(first, last)| first <= last)
        }
    }
}

fn rule(spec: &RuleSpec) -> Rule {
    let clients: PrefixMap<()> = spec.client_allow.iter().map(|prefix| (*prefix, ())).collect();
    let is_everyone = clients.is_empty()
        || clients.iter().filter(|(prefix, ())| prefix.prefix_len() == 0).count() == 2;
    Rule {
        name: spec.name.clone(),
        service: spec.service,
        clients: (!is_everyone).then(|| Box::new(clients)),
    }
}

/// The rules that name one prefix.
#[derive(Default)]
struct Own {
    tcp: OwnPorts,
    udp: OwnPorts,
    other: MaybeRule,
}

/// Those of one protocol.
#[derive(Default)]
struct OwnPorts {
    listed: Vec<PortRange>,
    all: MaybeRule,
}

fn by_length(specs: &[RuleSpec]) -> BTreeMap<(u8, IpNet), Own> {
    let mut prefixes: BTreeMap<(u8, IpNet), Own> = BTreeMap::new();
    for (id, spec) in specs.iter().enumerate() {
        let address = spec.address.trunc();
        let own = prefixes.entry((address.prefix_len(), address)).or_default();
        own.add(spec, MaybeRule(id as u16));
    }
    prefixes
}

impl Own {
    fn add(&mut self, spec: &RuleSpec, id: MaybeRule) {
        match spec.protocol {
            Protocol::Tcp => self.tcp.add(&spec.ports, id),
            Protocol::Udp => self.udp.add(&spec.ports, id),
            Protocol::L3Default => self.other = id,
        }
    }

    /// Protocol before `L3_DEFAULT`, and both before any rule of a covering prefix (F-3).
    fn compile(self, covering: Claims, ranges: &mut Vec<PortRange>) -> Claims {
        Claims {
            tcp: self.tcp.compile(self.other, covering.tcp, ranges),
            udp: self.udp.compile(self.other, covering.udp, ranges),
            other: self.other.or(covering.other),
        }
    }
}

impl OwnPorts {
    fn add(&mut self, ports: &Ports, rule: MaybeRule) {
        match ports {
            Ports::All => self.all = rule,
            Ports::Ranges(listed) => {
                self.listed.extend(merged(listed).into_iter().map(|(first, last)| PortRange {
                    first,
                    last,
                    rule,
                }))
            }
        }
    }

    fn compile(
        mut self,
        l3_default: MaybeRule,
        covering: PortRules,
        ranges: &mut Vec<PortRange>,
    ) -> PortRules {
        self.listed.sort_unstable_by_key(|range| range.first);
        PortRules::compile(self.listed, self.all.or(l3_default), covering, ranges)
    }
}

fn insert(table: &mut RuleTable, address: IpNet, claims: Claims) {
    match address {
        IpNet::V4(net) if net.prefix_len() == 32 => {
            table.hosts_v4.insert(net.addr().to_bits(), claims);
        }
        IpNet::V6(net) if net.prefix_len() == 128 => {
            table.hosts_v6.insert(net.addr().to_bits(), claims);
        }
        prefix => {
            table.prefixes.insert(prefix, claims);
        }
    }
}
