//! The file → the model.
//!
//! Each function takes what the file says, reports all that is wrong with it, and makes the
//! model's value, a stand-in where something is wrong: the checks go on, the file is refused.

mod address;
mod authorities;
mod backends;
mod dataplane;
mod devices;
mod direct;
mod encapsulation;
mod failover;
mod health;
mod identity;
mod later;
mod names;
mod overlap;
mod own;
mod ports;
mod prime;
mod profile;
mod reach;
mod rules;
mod service;
mod timeouts;
mod vip_target;
mod zones;

use tables::MAX_PORTS;

use super::environment::Environment;
use super::file::File;
use super::report::Report;
use super::table::defaults;
use crate::model::{Admin, Config};

/// Ids of services and rules have 16 bits.
const MOST_SERVICES: usize = 65_535;

/// Checks the whole file.
pub(super) fn config(file: &File, environment: &Environment, report: &mut Report<'_>) -> Config {
    limit(&file.port, "[[port]]", MAX_PORTS, report);
    limit(&file.service, "[[service]]", MOST_SERVICES, report);
    limit(&file.forwarding_rule, "[[forwarding_rule]]", MOST_SERVICES, report);
    later::warnings(file, report);
    let dataplane = dataplane::check(&file.dataplane, environment, report);
    let ports = ports::check(&file.port, report);
    let base = encapsulation::Base::check(&file.encapsulation, &ports, report);
    later::tls_routes(&file.tls_route, report);
    let surroundings = backends::Surroundings { own: own::Own::of(file, &ports), ports: &ports };
    let client_zones = zones::check(&file.client_zone, report);
    let services = service::check(&file.service, &file.dataplane, &base, &surroundings, report);
    let rules = rules::check(file, &ports, report);
    direct::check(file, &services, report);
    let config =
        Config { client_zones, services, rules, admin: admin(file, report), dataplane, ports };
    vip_target::check(file, &config, environment, report);
    reach::warnings(file, &config, report);
    config
}

fn limit<T>(items: &[super::field::Field<T>], what: &str, most: usize, report: &mut Report<'_>) {
    if let Some(beyond) = items.get(most) {
        let message = format!("{} {what} are too many", items.len());
        report.error(beyond.span.clone(), message, format!("allowed: up to {most}"));
    }
}

/// The kernel's limit on a Unix socket's path, without its closing NUL.
const LONGEST_SOCKET: usize = 107;

fn admin(file: &File, report: &mut Report<'_>) -> Admin {
    let absent = defaults();
    let admin = file.admin.as_ref().map_or(&absent, |given| &given.value);
    if !admin.socket.starts_with('/') {
        report.refuse(&admin.socket, "not an absolute path", "allowed: a path from \"/\"");
    } else if admin.socket.len() > LONGEST_SOCKET {
        let allowed = format!("allowed: up to {LONGEST_SOCKET} bytes");
        report.refuse(&admin.socket, "too long for a socket's path", allowed);
    }
    if !admin.orders.is_empty() && !admin.orders.starts_with('/') {
        let allowed = "allowed: a path from \"/\", or \"\" for none";
        report.refuse(&admin.orders, "not an absolute path", allowed);
    }
    Admin {
        listen: admin.listen.to_string(),
        socket: admin.socket.value.clone(),
        orders: admin.orders.value.clone(),
    }
}
