//! The addresses that are the appliance's own, or that it answers for: nothing sent to one of them
//! would reach a backend (N-5).

use std::collections::HashMap;
use std::net::IpAddr;

use crate::config::field::Field;
use crate::config::file::File;
use crate::config::file::encapsulation::Encapsulation;
use crate::config::report::Report;
use crate::model;

/// Whose each address is.
pub(super) struct Own {
    addresses: HashMap<IpAddr, String>,
    spread: tables::PrefixMap<()>,
}

impl Own {
    pub(super) fn of(file: &File, ports: &[model::Port]) -> Self {
        let mut own = Self { addresses: HashMap::new(), spread: tables::PrefixMap::default() };
        for port in ports {
            for net in &port.addresses {
                own.add(net.addr(), || {
                    format!("the appliance's own address, of port {:?}", port.name)
                });
            }
        }
        own.encapsulation(&file.encapsulation);
        file.service
            .iter()
            .filter_map(|s| s.encapsulation.as_ref())
            .for_each(|e| own.encapsulation(e));
        for rule in &file.forwarding_rule {
            let net = rule.address.value.0;
            if net.prefix_len() == net.max_prefix_len() {
                own.add(net.addr(), || format!("the VIP of forwarding_rule {:?}", rule.name.0));
            }
        }
        own
    }

    fn encapsulation(&mut self, encapsulation: &Encapsulation) {
        for source in &encapsulation.source.value {
            self.add(source.value, || "the encapsulation's own source".into());
        }
        for prefix in &encapsulation.entropy_prefix.value {
            self.spread.insert(prefix.value, ());
        }
    }

    fn add(&mut self, address: IpAddr, what: impl FnOnce() -> String) {
        self.addresses.entry(address).or_insert_with(what);
    }

    /// Refuses a backend that would be the appliance itself; true if it did.
    pub(super) fn refuse(&self, backend: &Field<IpAddr>, report: &mut Report<'_>) -> bool {
        let spread = || {
            self.spread
                .longest(backend.value)
                .map(|()| "in an entropy_prefix, from which this appliance sends")
        };
        let Some(why) = self.addresses.get(&backend.value).map(String::as_str).or_else(spread)
        else {
            return false;
        };
        report.refuse(backend, why, "allowed: another host's address");
        true
    }
}
