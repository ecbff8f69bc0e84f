//! Checks with `target = "vip"`: whether a probe can leave, and its answer come back (W-8).

use std::net::IpAddr;

use super::address::family;
use crate::config::environment::Environment;
use crate::config::field::Field;
use crate::config::file::File;
use crate::config::file::service::HealthCheck;
use crate::config::report::Report;
use crate::health::wanted::{MOST_VIPS, vips};
use crate::model::{CheckTarget, Config, Port};

const INSTEAD: &str = "target = \"address\" asks the backends' own addresses, and does not notice that a VIP is missing";

/// A file without ports sends nothing.
pub(super) fn check(
    file: &File,
    config: &Config,
    environment: &Environment,
    report: &mut Report<'_>,
) {
    if config.ports.is_empty() {
        return;
    }
    for service in &file.service {
        let Some(check) = service.health_check.as_ref() else { continue };
        if *check.target == CheckTarget::Vip {
            report.enter(format!("service {:?}", service.name.0));
            report.enter("health_check".into());
            let known = vips(config, &service.name.0).collect::<Vec<_>>();
            if known.is_empty() {
                only_prefixes(check, config, &service.name.0, report);
            }
            one(check, &known, config, environment, report);
            report.leave();
            report.leave();
        }
    }
}

fn one(
    check: &Field<HealthCheck>,
    vips: &[IpAddr],
    config: &Config,
    environment: &Environment,
    report: &mut Report<'_>,
) {
    let from: Vec<_> = config.ports.iter().filter(|p| !p.host_interface.is_empty()).collect();
    if from.is_empty() {
        let why = "a probe to the VIP leaves by a host interface, and no [[port]] has one";
        return refuse(check, why, "give a [[port]] a host_interface", report);
    }
    for vip in vips {
        if !from.iter().any(|port| answers_to(port, *vip)) {
            let (vip, family) = (vip, family(*vip));
            let why = format!(
                "the answer for VIP {vip} needs an {family} address, and no port with a host_interface has one"
            );
            refuse(check, &why, &format!("give such a port an {family} address"), report);
        }
        if is_local(*vip, config, environment) {
            let why = format!("VIP {vip} is an address of this host: no probe would leave it");
            refuse(check, &why, "take it off this host", report);
        }
    }
    if vips.len() > MOST_VIPS {
        let message =
            format!("the service has {} VIPs; a check asks the first {MOST_VIPS}", vips.len());
        report.warn(check.span.clone(), message, "share the VIPs out over several services");
    }
}

fn answers_to(port: &Port, vip: IpAddr) -> bool {
    port.addresses.iter().any(|a| a.addr().is_ipv4() == vip.is_ipv4())
}

fn is_local(vip: IpAddr, config: &Config, environment: &Environment) -> bool {
    let ports = config.ports.iter().flat_map(|p| &p.addresses);
    environment.local_addresses.contains(&vip) || ports.map(|a| a.addr()).any(|a| a == vip)
}

/// A prefix has no address that every backend has.
fn only_prefixes(
    check: &Field<HealthCheck>,
    config: &Config,
    service: &str,
    report: &mut Report<'_>,
) {
    if config.rules.iter().any(|rule| &*rule.service == service) {
        let why = "the rules of this service are for prefixes: there is no VIP to ask for";
        refuse(check, why, "add a rule with a single address", report);
    }
}

fn refuse(check: &Field<HealthCheck>, why: &str, cure: &str, report: &mut Report<'_>) {
    report.refuse(&check.target, why, format!("{cure}; or: {INSTEAD}"));
}
