//! The checks. Each looks at one thing.

mod addresses;
mod bonds;
mod devices;
mod driven;
mod kernel;
mod machine;
mod room;
mod ways;

use std::net::IpAddr;

use super::facts::Facts;
use super::{Finding, Severity};
use crate::model::Config;

type Check = fn(&Config, &Facts) -> Vec<Finding>;

/// All of them.
pub(super) const ALL: [Check; 14] = [
    machine::huge_pages,
    machine::memory,
    machine::cpus,
    machine::tun,
    devices::device,
    devices::host_interface,
    bonds::speeds,
    bonds::addresses,
    kernel::answers,
    kernel::in_use,
    kernel::sources,
    addresses::taken,
    room::packets,
    ways::backends_and_gateways,
];

fn error(check: &'static str, what: String, cure: String) -> Finding {
    Finding { severity: Severity::Error, check, what, cure }
}

fn warning(check: &'static str, what: String, cure: String) -> Finding {
    Finding { severity: Severity::Warning, check, what, cure }
}

fn note(check: &'static str, what: String, cure: String) -> Finding {
    Finding { severity: Severity::Note, check, what, cure }
}

fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(_) => false,
        IpAddr::V6(six) => six.is_unicast_link_local(),
    }
}
