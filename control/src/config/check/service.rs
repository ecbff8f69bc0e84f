//! `[[service]]`

use super::backends::Surroundings;
use super::encapsulation::Base;
use super::names::Unique;
use super::{backends, dataplane, failover, health, later, profile, timeouts};
use crate::config::field::Field;
use crate::config::file::dataplane::Dataplane;
use crate::config::file::service::{InitialHealth, LocalityPolicy, Service, Spillover};
use crate::config::report::Report;
use crate::model::{self, ZonalAffinity};

/// Backend slots have 24 bits.
const MOST_SLOTS: usize = tables::SlotId::LIMIT as usize;

pub(super) fn check(
    raw: &[Field<Service>],
    dataplane: &Dataplane,
    base: &Base<'_>,
    surroundings: &Surroundings<'_>,
    report: &mut Report<'_>,
) -> Vec<model::Service> {
    let mut names = Unique::new("another service has this name", "allowed: each name once");
    let mut services = Vec::new();
    let mut slots = 0;
    for service in raw {
        report.enter(format!("service {:?}", service.name.0));
        names.check(&service.name, report);
        slots += service.group.iter().map(|g| g.backends.len()).sum::<usize>();
        if slots > MOST_SLOTS {
            let message = format!("more than {MOST_SLOTS} backends in all services together");
            report.error(service.name.span.clone(), message, String::new());
        }
        services.extend(one(service, dataplane, base, surroundings, report));
        report.leave();
    }
    services
}

/// `None` for a proxy service: refused whole, without the follow-up errors.
fn one(
    raw: &Service,
    dataplane: &Dataplane,
    base: &Base<'_>,
    surroundings: &Surroundings<'_>,
    report: &mut Report<'_>,
) -> Option<model::Service> {
    let Some(profile) = profile::passthrough(*raw.profile) else {
        later::proxy_profile(raw, report);
        return None;
    };
    profile::check(raw, report);
    later::proxy_service_keys(raw, report);
    let encapsulation = base.with(raw.encapsulation.as_ref(), report);
    let maglev_table_size = table_size(raw, dataplane, report);
    Some(model::Service {
        name: raw.name.0.as_str().into(),
        profile,
        affinity: profile::effective_affinity(raw),
        tracking_mode: *raw.tracking_mode,
        persistence: *raw.connection_persistence_on_unhealthy_backends,
        idle_timeout: timeouts::idle(raw, profile, report),
        draining_timeout: timeouts::draining(raw, report),
        weighted: *raw.locality_lb_policy == LocalityPolicy::WeightedMaglev,
        maglev_table_size,
        initially_healthy: *raw.initial_health == InitialHealth::Healthy,
        zonal_affinity: zonal_affinity(raw),
        failover: failover::check(raw, report),
        health_check: health::check(raw, report),
        groups: backends::check(raw, &encapsulation, surroundings, report),
        encapsulation,
    })
}

fn table_size(raw: &Service, dataplane: &Dataplane, report: &mut Report<'_>) -> u32 {
    if let Some(size) = &raw.maglev_table_size {
        dataplane::table_size(size, report);
    }
    let default = &*dataplane.maglev_table_size;
    let size = raw.maglev_table_size.as_ref().map_or(*default, |size| size.value).get();
    backends::fit(raw, size, report);
    size
}

fn zonal_affinity(raw: &Service) -> ZonalAffinity {
    let Some(zonal) = &raw.zonal_affinity else { return ZonalAffinity::Disabled };
    match *zonal.spillover {
        Spillover::Disabled => ZonalAffinity::Disabled,
        Spillover::StayWithinZone => ZonalAffinity::StayWithinZone,
        Spillover::SpillCrossZone => ZonalAffinity::SpillCrossZone(*zonal.spillover_ratio),
    }
}
