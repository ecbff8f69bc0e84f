//! What each profile's document allows (P-2, P-3).

use serde::Serialize;

use crate::config::field::{Field, Origin};
use crate::config::file::service::{Distribution, LocalityPolicy, Profile, Service, Spillover};
use crate::config::report::Report;
use crate::model::{self, Affinity, Persistence, Role, TrackingMode};

pub(super) const INTERNAL: Profile = Profile::GcpInternal;

/// What P-2 gives `azure`.
const AZURE_KEYS: &str = "allowed with azure: name, profile, distribution, idle_timeout, \
    connection_draining_timeout, initial_health, maglev_table_size, encapsulation, health_check, group";

/// The model's profile; `None` for a proxy service.
pub(super) fn passthrough(profile: Profile) -> Option<model::Profile> {
    match profile {
        Profile::Native => Some(model::Profile::Native),
        Profile::GcpExternal => Some(model::Profile::GcpExternal),
        Profile::GcpInternal => Some(model::Profile::GcpInternal),
        Profile::Azure => Some(model::Profile::Azure),
        Profile::GcpProxy => None,
    }
}

/// As the file spells it.
pub(super) fn name(profile: Profile) -> &'static str {
    match profile {
        Profile::Native => "native",
        Profile::GcpExternal => "gcp-external",
        Profile::GcpInternal => "gcp-internal",
        Profile::GcpProxy => "gcp-proxy",
        Profile::Azure => "azure",
    }
}

/// A value of the model as the file spells it.
pub(super) fn word<T: Serialize>(value: &T) -> String {
    let json = serde_json::to_value(value).unwrap_or_default();
    json.as_str().unwrap_or_default().to_owned()
}

/// Refuses what the profile does not allow.
pub(super) fn check(raw: &Service, report: &mut Report<'_>) {
    // A profile that is misspelt is reported; whose rules hold is not known then.
    if !raw.profile.is_sound() {
        return;
    }
    match *raw.profile {
        Profile::Azure => azure(raw, report),
        _ => refuse_given(Some(&raw.distribution), raw, "use session_affinity", report),
    }
    affinity(raw, report);
    zones(raw, report);
    persistence(raw, report);
    locality(raw, report);
}

/// Refuses a key that the profile does not have at all.
fn refuse_given<T>(
    field: Option<&Field<T>>,
    raw: &Service,
    allowed: &str,
    report: &mut Report<'_>,
) {
    if let Some(field) = field.filter(|field| field.is_given()) {
        let why = format!("profile \"{}\" does not take this key", name(*raw.profile));
        report.refuse(field, &why, allowed);
    }
}

fn azure(raw: &Service, report: &mut Report<'_>) {
    let instead = format!("use distribution; {AZURE_KEYS}");
    refuse_given(Some(&raw.session_affinity), raw, &instead, report);
    refuse_given(Some(&raw.tracking_mode), raw, AZURE_KEYS, report);
    let persistence = &raw.connection_persistence_on_unhealthy_backends;
    refuse_given(Some(persistence), raw, AZURE_KEYS, report);
    refuse_given(Some(&raw.locality_lb_policy), raw, AZURE_KEYS, report);
    refuse_given(raw.zonal_affinity.as_ref(), raw, AZURE_KEYS, report);
    refuse_given(raw.failover_policy.as_ref(), raw, AZURE_KEYS, report);
    for group in &raw.group {
        refuse_given(group.zone.as_ref(), raw, "allowed: name, role and backends", report);
        if *group.role == Role::Failover {
            let why = "profile \"azure\" has no failover groups";
            report.refuse(&group.role, why, "allowed: \"primary\"");
        }
    }
}

/// S-1: the one-tuple is for next-hop services.
fn affinity(raw: &Service, report: &mut Report<'_>) {
    let one_tuple = *raw.session_affinity == Affinity::ClientIpNoDestination;
    if one_tuple && *raw.profile == Profile::GcpExternal {
        let why = "profile \"gcp-external\" does not have this affinity";
        let allowed =
            "allowed: \"NONE\", \"CLIENT_IP_PORT_PROTO\", \"CLIENT_IP_PROTO\", \"CLIENT_IP\"";
        report.refuse(&raw.session_affinity, why, allowed);
    }
}

/// Section 4 is for `gcp-internal` and `native`; saying that it is off says nothing new.
fn zones(raw: &Service, report: &mut Report<'_>) {
    let Some(zonal) = &raw.zonal_affinity else { return };
    if *raw.profile == Profile::GcpExternal && *zonal.spillover != Spillover::Disabled {
        let why = "profile \"gcp-external\" has no zonal affinity";
        report.refuse(&zonal.spillover, why, "allowed: \"ZONAL_AFFINITY_DISABLED\"");
    }
}

/// H-4
fn persistence(raw: &Service, report: &mut Report<'_>) {
    let field = &raw.connection_persistence_on_unhealthy_backends;
    if field.value == Persistence::AlwaysPersist && *raw.tracking_mode == TrackingMode::PerSession {
        let why = format!(
            "profile \"{}\" does not allow it with tracking_mode = \"PER_SESSION\"",
            name(*raw.profile)
        );
        let beside = Some((raw.tracking_mode.span.clone(), "the tracking mode".to_owned()));
        let allowed = "allowed: \"DEFAULT_FOR_PROTOCOL\", \"NEVER_PERSIST\"; or tracking_mode = \"PER_CONNECTION\"";
        report.refuse_beside(field, &why, allowed, beside);
    }
}

/// E-9, X-9
fn locality(raw: &Service, report: &mut Report<'_>) {
    let field = &raw.locality_lb_policy;
    let profile = name(*raw.profile);
    match (field.value, *raw.profile) {
        // Reported already: it does not take the key.
        (_, Profile::Azure) | (LocalityPolicy::Maglev, _) => {}
        (LocalityPolicy::WeightedMaglev, Profile::GcpInternal) => {
            report.refuse(field, "profile \"gcp-internal\" has no weights", "allowed: \"MAGLEV\"");
        }
        (LocalityPolicy::WeightedMaglev, _) => {}
        _ => {
            let why = format!("profile \"{profile}\" does not have this policy");
            let both = *raw.profile != Profile::GcpInternal;
            let allowed = if both {
                "allowed: \"MAGLEV\", \"WEIGHTED_MAGLEV\""
            } else {
                "allowed: \"MAGLEV\""
            };
            report.refuse(field, &why, allowed);
        }
    }
}

/// The affinity in force: `azure`'s distribution mapped onto it (P-3).
pub(super) fn effective_affinity(raw: &Service) -> Affinity {
    if *raw.profile != Profile::Azure {
        return *raw.session_affinity;
    }
    match *raw.distribution {
        Distribution::Default | Distribution::None => Affinity::None,
        Distribution::SourceIp | Distribution::ClientIp => Affinity::ClientIp,
        Distribution::SourceIpProtocol | Distribution::ClientIpAndProtocol => {
            Affinity::ClientIpProto
        }
    }
}

/// W-3: static weights are for `native` with WEIGHTED_MAGLEV.
pub(super) fn weight<T>(weight: &Field<T>, raw: &Service, report: &mut Report<'_>) {
    if !raw.profile.is_sound() || raw.locality_lb_policy.origin == Origin::Broken {
        return;
    }
    let profile = name(*raw.profile);
    if *raw.profile != Profile::Native {
        let why = format!("profile \"{profile}\" has no static weights");
        report.refuse(weight, &why, "leave it out; static weights are for profile \"native\"");
    } else if *raw.locality_lb_policy != LocalityPolicy::WeightedMaglev {
        let why = "a weight only counts with locality_lb_policy = \"WEIGHTED_MAGLEV\"";
        report.refuse(weight, why, "leave it out, or set that policy for the service");
    }
}
