//! `[service.health_check]`, and the policies that need one (W-6).

use std::sync::Arc;
use std::time::Duration;

use hyper::http::uri::{Authority, PathAndQuery};
use serde_json::json;

use super::authorities;
use crate::config::field::Field;
use crate::config::file::service::{HealthCheck, LocalityPolicy, Profile, Service};
use crate::config::report::Report;
use crate::model::{self, Authorities, CheckProtocol};

const LEAST_INTERVAL: Duration = Duration::from_millis(100);
const MOST_INTERVAL: Duration = Duration::from_secs(3_600);

/// Of what is sent and expected, bytes.
const MOST_TEXT: usize = 1_024;

pub(super) fn check(raw: &Service, report: &mut Report<'_>) -> Option<model::HealthCheck> {
    weights_need_http(raw, report);
    let check = raw.health_check.as_ref()?;
    report.enter("health_check".into());
    times(check, report);
    keys(check, report);
    let authorities = check.tls_ca.as_ref().and_then(|field| verified(check, field, report));
    report.leave();
    Some(model(check, authorities))
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

/// What each key is for. The texts go over the wire as they are.
fn keys(check: &HealthCheck, report: &mut Report<'_>) {
    use CheckProtocol::{Grpc, Http, Http2, Https, Ssl, Tcp};
    let of = Of { protocol: *check.protocol, known: check.protocol.is_sound() };
    if of.takes(&check.request_path, &[Http, Https, Http2], report) {
        path(&check.request_path, report);
    }
    if of.takes(&check.host, &[Http, Https, Http2, Ssl, Grpc], report) {
        host(&check.host, report);
    }
    if let Some(tls) = &check.tls {
        of.takes(tls, &[Http2, Grpc], report);
    }
    for text in [&check.send, &check.expect] {
        if of.takes(text, &[Tcp, Ssl], report) {
            short(text, report);
        }
    }
    if of.takes(&check.grpc_service, &[Grpc], report) {
        short(&check.grpc_service, report);
    }
}

/// Certificates are for checks inside TLS.
fn verified(
    check: &HealthCheck,
    field: &Field<String>,
    report: &mut Report<'_>,
) -> Option<Arc<Authorities>> {
    use CheckProtocol::{Grpc, Http2, Https, Ssl};
    let of = Of { protocol: *check.protocol, known: check.protocol.is_sound() };
    if !of.takes(field, &[Https, Http2, Ssl, Grpc], report) {
        return None;
    }
    if of.known && !is_in_tls(check) {
        report.refuse(field, "this check is not inside TLS", "add tls = true, or leave it out");
    }
    authorities::read(field, report)
}

/// The check's protocol; of a wrong one nothing more is said.
struct Of {
    protocol: CheckProtocol,
    known: bool,
}

impl Of {
    /// Whether a key counts; refuses it where it is given and does not.
    fn takes<T>(
        &self,
        field: &Field<T>,
        protocols: &[CheckProtocol],
        report: &mut Report<'_>,
    ) -> bool {
        let takes = !self.known || protocols.contains(&self.protocol);
        if !takes && field.is_given() {
            let named: Vec<_> = protocols.iter().map(|p| format!("{}", json!(p))).collect();
            let why = format!("this check's protocol has no {}", field.key);
            report.refuse(field, &why, format!("leave it out; it is for {}", named.join(", ")));
        }
        takes
    }
}

fn path(field: &Field<String>, report: &mut Report<'_>) {
    let sound = field.starts_with('/') && field.parse::<PathAndQuery>().is_ok();
    // The parser lets through what no request line can have.
    if !sound || field.contains(|c: char| c.is_whitespace() || c.is_control() || c == '#') {
        report.refuse(field, "not a path", "allowed: from \"/\", without spaces, ASCII or UTF-8");
    }
}

fn host(field: &Field<String>, report: &mut Report<'_>) {
    let sound = field.is_empty()
        || field.parse::<Authority>().is_ok_and(|a| a.as_str().find('@').is_none());
    if !sound {
        let allowed = "allowed: a host name or an address, with a port if need be, without spaces";
        report.refuse(field, "not a host", allowed);
    }
}

fn short(field: &Field<String>, report: &mut Report<'_>) {
    if field.len() > MOST_TEXT {
        let why = format!("{} bytes are too long", field.len());
        report.refuse(field, &why, format!("allowed: up to {MOST_TEXT} bytes"));
    }
}

fn model(raw: &HealthCheck, tls_ca: Option<Arc<Authorities>>) -> model::HealthCheck {
    model::HealthCheck {
        protocol: *raw.protocol,
        port: raw.port.get(),
        request_path: raw.request_path.value.clone(),
        host: raw.host.value.clone(),
        tls: is_in_tls(raw),
        tls_ca,
        send: raw.send.value.clone(),
        expect: raw.expect.value.clone(),
        grpc_service: raw.grpc_service.value.clone(),
        interval: raw.interval.0,
        timeout: raw.timeout.0.min(raw.interval.0),
        healthy_threshold: raw.healthy_threshold.get(),
        unhealthy_threshold: raw.unhealthy_threshold.get(),
        target: *raw.target,
    }
}

fn is_in_tls(check: &HealthCheck) -> bool {
    check.tls.as_ref().map_or(in_tls(*check.protocol), |tls| tls.value)
}

/// Whether a protocol is inside TLS where the file does not say: HTTP/2 is, as everywhere on the
/// web; gRPC between servers mostly is not.
fn in_tls(protocol: CheckProtocol) -> bool {
    use CheckProtocol::{Grpc, Http, Http2, Https, Ssl, Tcp};
    match protocol {
        Https | Http2 | Ssl => true,
        Http | Tcp | Grpc => false,
    }
}
