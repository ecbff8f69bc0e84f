//! Keys of the contract that this version does not serve: refused where they ask for something,
//! warned about where they would only be missed.

use crate::config::diagnostics::{Span, count};
use crate::config::field::Field;
use crate::config::file::File;
use crate::config::file::proxy::TlsRoute;
use crate::config::file::rule::ForwardingRule;
use crate::config::file::service::{Backend, Group, Service};
use crate::config::report::Report;

const NOT_SERVED: &str = "is not served by this version";

/// Why a key of proxy services does not fit.
const ONLY_PROXY: &str = "a key of gcp-proxy services, which this version does not serve";

/// What is accepted but has no effect yet: once a key, at its first place.
pub(super) fn warnings(file: &File, report: &mut Report<'_>) {
    let listen = file.admin.iter().map(|admin| &admin.listen).filter(|listen| listen.is_given());
    warn(listen.map(|l| l.span.clone()), "admin.listen", "nothing listens there", report);
}

fn warn(mut places: impl Iterator<Item = Span>, key: &str, instead: &str, report: &mut Report<'_>) {
    let Some(first) = places.next() else { return };
    let places = count(places.count() + 1, "place");
    let message = format!("{key} has no effect in this version ({places}): {instead}");
    report.warn(first, message, "");
}

/// `profile = "gcp-proxy"`
pub(super) fn proxy_profile(raw: &Service, report: &mut Report<'_>) {
    let allowed = "use \"native\", \"gcp-external\", \"gcp-internal\" or \"azure\"";
    report.refuse(&raw.profile, NOT_SERVED, allowed);
}

pub(super) fn tls_routes(raw: &[Field<TlsRoute>], report: &mut Report<'_>) {
    for route in raw {
        let services: Vec<&str> = route.services.iter().map(|name| name.0.as_str()).collect();
        let (from, to) = (route.sni.join(", "), services.join(", "));
        let message = format!("tls_route {:?} ({from} to {to}) {NOT_SERVED}", route.name.0);
        report.error(route.span.clone(), message, "use forwarding rules with a service".into());
    }
}

/// Refuses the keys of proxy services in a service of another profile.
pub(super) fn proxy_service_keys(raw: &Service, report: &mut Report<'_>) {
    refuse(&raw.proxy_protocol, report);
    refuse(&raw.connect_timeout, report);
    refuse(&raw.region_order, report);
    refuse(&raw.proxy_protocol_tlvs, report);
}

/// The same for a group.
pub(super) fn proxy_group_keys(raw: &Group, report: &mut Report<'_>) {
    refuse(&raw.region, report);
    refuse(&raw.balancing_mode, report);
    refuse(&raw.max_connections, report);
    refuse(&raw.max_connections_per_backend, report);
    refuse(&raw.max_utilization, report);
    refuse(&raw.capacity_scaler, report);
}

/// The same for a backend.
pub(super) fn proxy_backend_keys(raw: &Backend, report: &mut Report<'_>) {
    refuse(&raw.port, report);
}

/// The same for a rule.
pub(super) fn proxy_rule_keys(raw: &ForwardingRule, report: &mut Report<'_>) {
    refuse(&raw.tls_routes, report);
    refuse(&raw.accept_proxy_protocol, report);
    refuse(&raw.hello_timeout, report);
    refuse(&raw.max_connections, report);
    refuse(&raw.max_connections_per_client, report);
}

fn refuse<T>(field: &Option<Field<T>>, report: &mut Report<'_>) {
    if let Some(field) = field {
        report.refuse(field, ONLY_PROXY, "leave it out");
    }
}
