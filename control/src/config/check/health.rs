//! `[service.health_check]`, and the policies that need one (W-6).

use std::time::Duration;

use crate::config::field::Field;
use crate::config::file::service::{HealthCheck, LocalityPolicy, Profile, Service};
use crate::config::report::Report;
use crate::model::{self, CheckProtocol};

const LEAST_INTERVAL: Duration = Duration::from_millis(100);
const MOST_INTERVAL: Duration = Duration::from_secs(3_600);

pub(super) fn check(raw: &Service, report: &mut Report<'_>) -> Option<model::HealthCheck> {
    weights_need_http(raw, report);
    let check = raw.health_check.as_ref()?;
    report.enter("health_check".into());
    times(check, report);
    http_keys(check, report);
    report.leave();
    Some(model(check))
}

/// W-6
fn weights_need_http(raw: &Service, report: &mut Report<'_>) {
    let asks = *raw.locality_lb_policy == LocalityPolicy::WeightedMaglev;
    let check = raw.health_check.as_ref();
    let http = check.is_some_and(|c| *c.protocol == CheckProtocol::Http || !c.protocol.is_sound());
    if asks && *raw.profile == Profile::GcpExternal && raw.profile.is_sound() && !http {
        let why = "profile \"gcp-external\" takes the weights from an HTTP health check, and this service has none";
        let allowed = "allowed: \"MAGLEV\", or a health_check with protocol = \"HTTP\"";
        report.refuse(&raw.locality_lb_policy, why, allowed);
    }
}

fn times(check: &HealthCheck, report: &mut Report<'_>) {
    if !(LEAST_INTERVAL..=MOST_INTERVAL).contains(&check.interval.0) {
        report.refuse(&check.interval, "out of bounds", "allowed: 100 ms to 3600 s");
    }
    if check.timeout.0.is_zero() {
        report.refuse(&check.timeout, "out of bounds", "allowed: 1 ms up to the interval");
    } else if check.interval.is_sound() && check.timeout.0 > check.interval.0 {
        // A short interval alone brings the timeout down with it.
        if check.timeout.is_given() {
            let beside = Some((check.interval.span.clone(), "the interval".to_owned()));
            report.refuse_beside(
                &check.timeout,
                "longer than the interval",
                "allowed: up to the interval",
                beside,
            );
        }
    }
}

fn http_keys(check: &HealthCheck, report: &mut Report<'_>) {
    let http = matches!(
        *check.protocol,
        CheckProtocol::Http | CheckProtocol::Https | CheckProtocol::Http2
    );
    if !http && check.protocol.is_sound() {
        let allowed = "leave it out; it is for \"HTTP\", \"HTTPS\" and \"HTTP2\"";
        if check.request_path.is_given() {
            report.refuse(&check.request_path, "this check's protocol has no path", allowed);
        }
        if check.host.is_given() && *check.protocol == CheckProtocol::Tcp {
            report.refuse(&check.host, "this check's protocol has no host", allowed);
        }
    } else if !check.request_path.starts_with('/') || check.request_path.contains(unprintable) {
        report.refuse(&check.request_path, "not a path", "allowed: from \"/\", without spaces");
    }
    if check.host.contains(unprintable) {
        report.refuse(
            &check.host,
            "not a host",
            "allowed: a host name or an address, without spaces",
        );
    }
}

/// What may not stand in a request line or a header that we write.
fn unprintable(c: char) -> bool {
    c.is_whitespace() || c.is_control()
}

fn model(raw: &Field<HealthCheck>) -> model::HealthCheck {
    model::HealthCheck {
        protocol: *raw.protocol,
        port: raw.port.get(),
        request_path: raw.request_path.value.clone(),
        host: raw.host.value.clone(),
        interval: raw.interval.0,
        timeout: raw.timeout.0.min(raw.interval.0),
        healthy_threshold: raw.healthy_threshold.get(),
        unhealthy_threshold: raw.unhealthy_threshold.get(),
        target: *raw.target,
    }
}
