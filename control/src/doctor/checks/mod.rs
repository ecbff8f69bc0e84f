//! The checks. Each looks at one thing.

mod addresses;
mod devices;
mod kernel;
mod machine;
mod room;
mod ways;

use super::facts::Facts;
use super::{Finding, Severity};
use crate::model::Config;

type Check = fn(&Config, &Facts) -> Vec<Finding>;

/// All of them.
pub(super) const ALL: [Check; 11] = [
    machine::huge_pages,
    machine::memory,
    machine::cpus,
    machine::tun,
    devices::device,
    devices::host_interface,
    kernel::answers,
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
