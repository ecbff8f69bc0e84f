//! Which keys of a service differ, its backends excepted.

use serde_json::{Value, json};

use super::settings::{Found, Setting, Told, comes_or_goes};
use crate::model::written::Written;
use crate::model::{
    Affinity, Authorities, Config, Encapsulation, FailoverPolicy, HealthCheck, Profile, Service,
    ZonalAffinity,
};

/// One service's settings, and whether it comes or goes.
pub(super) fn compare(name: &str, old: &Config, new: &Config) -> Vec<Setting> {
    let find = |config: &Config| config.services.iter().find(|s| *s.name == *name).cloned();
    match (find(old), find(new)) {
        (Some(old), Some(new)) => both(&old, &new),
        (old, new) => {
            comes_or_goes("service", old.as_ref().map(backends), new.as_ref().map(backends))
        }
    }
}

fn backends(service: &Service) -> String {
    match service.groups.iter().map(|g| g.backends.len()).sum() {
        1 => "1 backend".to_owned(),
        count => format!("{count} backends"),
    }
}

fn both(old: &Service, new: &Service) -> Vec<Setting> {
    let mut found = Found::default();
    found.written("profile", &old.profile, &new.profile);
    affinity(&mut found, old, new);
    found.written("tracking_mode", &old.tracking_mode, &new.tracking_mode);
    let persistence = "connection_persistence_on_unhealthy_backends";
    found.written(persistence, &old.persistence, &new.persistence);
    found.written("idle_timeout", &old.idle_timeout, &new.idle_timeout);
    let draining = "connection_draining_timeout";
    found.written(draining, &old.draining_timeout, &new.draining_timeout);
    found.written("locality_lb_policy", policy(old), policy(new));
    found.written("maglev_table_size", &old.maglev_table_size, &new.maglev_table_size);
    found.written("initial_health", initial_health(old), initial_health(new));
    encapsulation(&mut found, &old.encapsulation, &new.encapsulation);
    zonal_affinity(&mut found, old.zonal_affinity, new.zonal_affinity);
    failover(&mut found, old.failover.as_ref(), new.failover.as_ref());
    health_check(&mut found, old.health_check.as_ref(), new.health_check.as_ref());
    found.0
}

/// Azure's file has `distribution` in place of `session_affinity` (P-3).
fn affinity(found: &mut Found, old: &Service, new: &Service) {
    if [old, new].iter().all(|s| s.profile == Profile::Azure) {
        found.written("distribution", distribution(old), distribution(new));
    } else {
        found.written("session_affinity", &old.affinity, &new.affinity);
    }
}

fn distribution(service: &Service) -> &'static str {
    match service.affinity {
        Affinity::None | Affinity::ClientIpPortProto => "Default",
        Affinity::ClientIpProto => "SourceIPProtocol",
        Affinity::ClientIp | Affinity::ClientIpNoDestination => "SourceIP",
    }
}

fn policy(service: &Service) -> &'static str {
    if service.weighted { "WEIGHTED_MAGLEV" } else { "MAGLEV" }
}

fn initial_health(service: &Service) -> &'static str {
    if service.initially_healthy { "healthy" } else { "unhealthy" }
}

fn encapsulation(found: &mut Found, old: &Encapsulation, new: &Encapsulation) {
    found.written("encapsulation.kind", &old.kind, &new.kind);
    found.written("encapsulation.source", &old.source, &new.source);
    found.written("encapsulation.source_entropy", &old.source_entropy, &new.source_entropy);
    found.written("encapsulation.entropy_prefix", &old.entropy_prefix, &new.entropy_prefix);
    found.written("encapsulation.gue_port", &old.gue_port, &new.gue_port);
    found.written("encapsulation.gue_variant", &old.gue_variant, &new.gue_variant);
    found.written("encapsulation.l3dsr_dscp", &old.l3dsr_dscp, &new.l3dsr_dscp);
    found.written("encapsulation.gre_key", &old.gre_key, &new.gre_key);
    found.written("encapsulation.dscp", &old.dscp, &new.dscp);
    found.written("encapsulation.ttl", &old.ttl, &new.ttl);
}

fn zonal_affinity(found: &mut Found, old: ZonalAffinity, new: ZonalAffinity) {
    found.written("zonal_affinity.spillover", spillover(old), spillover(new));
    let ratio = |affinity| match affinity {
        ZonalAffinity::SpillCrossZone(ratio) => Some(Told::Value(ratio.written())),
        _ => None,
    };
    found.compare("zonal_affinity.spillover_ratio", ratio(old), ratio(new));
}

fn spillover(affinity: ZonalAffinity) -> &'static str {
    match affinity {
        ZonalAffinity::Disabled => "ZONAL_AFFINITY_DISABLED",
        ZonalAffinity::StayWithinZone => "ZONAL_AFFINITY_STAY_WITHIN_ZONE",
        ZonalAffinity::SpillCrossZone(_) => "ZONAL_AFFINITY_SPILL_CROSS_ZONE",
    }
}

fn failover(found: &mut Found, old: Option<&FailoverPolicy>, new: Option<&FailoverPolicy>) {
    table(found, "failover_policy", old, new, |policy| {
        let draining = policy.connection_draining_on_failover;
        vec![
            ("failover_ratio", policy.ratio.written()),
            ("drop_traffic_if_unhealthy", json!(policy.drop_traffic_if_unhealthy)),
            ("connection_draining_on_failover", json!(draining)),
        ]
    });
}

fn health_check(found: &mut Found, old: Option<&HealthCheck>, new: Option<&HealthCheck>) {
    table(found, "health_check", old, new, |check| {
        vec![
            ("protocol", check.protocol.written()),
            ("port", check.port.written()),
            ("request_path", check.request_path.written()),
            ("host", check.host.written()),
            ("tls", check.tls.written()),
            ("tls_ca", check.tls_ca.as_ref().map_or_else(|| json!(""), |ca| json!(ca.path()))),
            ("send", check.send.written()),
            ("expect", check.expect.written()),
            ("grpc_service", check.grpc_service.written()),
            ("interval", check.interval.written()),
            ("timeout", check.timeout.written()),
            ("healthy_threshold", check.healthy_threshold.written()),
            ("unhealthy_threshold", check.unhealthy_threshold.written()),
            ("target", check.target.written()),
        ]
    });
    let authorities = |check: Option<&HealthCheck>| check.and_then(|c| c.tls_ca.clone());
    if let (Some(old), Some(new)) = (authorities(old), authorities(new))
        && old.path() == new.path()
        && old != new
    {
        let told =
            |ca: &Authorities, which| Told::words(format!("{}{which} in it", certificates(ca)));
        let key = format!("health_check.tls_ca = {:?}", new.path());
        found.compare(&key, Some(told(&old, "")), Some(told(&new, ", not the same,")));
    }
}

fn certificates(authorities: &Authorities) -> String {
    match authorities.count() {
        1 => "1 certificate".to_owned(),
        count => format!("{count} certificates"),
    }
}

/// A table that a file may not have: each key by itself.
fn table<T>(
    found: &mut Found,
    name: &str,
    old: Option<&T>,
    new: Option<&T>,
    keys: impl Fn(&T) -> Vec<(&'static str, Value)>,
) {
    let (old, new) = (old.map(&keys), new.map(&keys));
    let Some(names) = old.as_ref().or(new.as_ref()) else { return };
    let value = |side: &Option<Vec<(_, Value)>>, place: usize| {
        side.as_ref().and_then(|keys| keys.get(place)).map(|(_, v)| Told::Value(v.clone()))
    };
    for (place, (key, _)) in names.iter().enumerate() {
        found.compare(&format!("{name}.{key}"), value(&old, place), value(&new, place));
    }
}
