//! Failover groups and their policy (E-8, E-10).

use crate::config::field::Field;
use crate::config::file::service::{FailoverPolicy, Group, Profile, Service};
use crate::config::report::Report;
use crate::config::table::defaults;
use crate::model::{self, Role};

/// E-8
const MOST_GROUPS: usize = 50;

/// The policy: present exactly when there is a failover group.
pub(super) fn check(raw: &Service, report: &mut Report<'_>) -> Option<model::FailoverPolicy> {
    let role = |role: Role| raw.group.iter().filter(move |group| *group.role == role);
    let failover = role(Role::Failover).next();
    // `azure` has neither, and a group whose role is not known proves nothing.
    let judged = *raw.profile != Profile::Azure && raw.group.iter().all(|g| g.role.is_sound());
    if judged {
        both_roles(raw, failover, role(Role::Primary).next().is_some(), report);
        if failover.is_some() {
            limit(role(Role::Primary), "primary", report);
            limit(role(Role::Failover), "failover", report);
        }
    }
    failover.map(|_| model(raw.failover_policy.as_ref()))
}

fn both_roles(
    raw: &Service,
    failover: Option<&Field<Group>>,
    primary: bool,
    report: &mut Report<'_>,
) {
    let allowed =
        "allowed: at least one group with role = \"primary\" and one with role = \"failover\"";
    match (&raw.failover_policy, failover) {
        (Some(policy), None) => {
            report.refuse(policy, "this service has no failover group", allowed);
        }
        (_, Some(group)) if !primary => {
            report.refuse(&group.role, "this service has no primary group", allowed);
        }
        _ => {}
    }
}

fn limit<'g>(
    mut groups: impl Iterator<Item = &'g Field<Group>>,
    role: &str,
    report: &mut Report<'_>,
) {
    if let Some(beyond) = groups.nth(MOST_GROUPS) {
        let message = format!("group {:?}: more than {MOST_GROUPS} {role} groups", beyond.name.0);
        report.error(beyond.span.clone(), message, "allowed: up to 50 of each role".into());
    }
}

/// E-10: without the table, its defaults.
fn model(raw: Option<&Field<FailoverPolicy>>) -> model::FailoverPolicy {
    let policy = raw.map_or_else(defaults, |field| field.value.clone());
    model::FailoverPolicy {
        ratio: *policy.failover_ratio,
        drop_traffic_if_unhealthy: *policy.drop_traffic_if_unhealthy,
        connection_draining_on_failover: *policy.connection_draining_on_failover,
    }
}
