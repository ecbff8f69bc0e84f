//! `[[client_zone]]` (Z-4)

use ipnet::IpNet;

use super::names::Unique;
use crate::config::field::Field;
use crate::config::file::service::ClientZone;
use crate::config::report::Report;
use crate::model;

pub(super) fn check(raw: &[Field<ClientZone>], report: &mut Report<'_>) -> Vec<model::ClientZone> {
    let mut unique = Unique::new("this prefix already has a zone", "allowed: each prefix once");
    report.enter("client_zone".into());
    for zone in raw {
        whole_prefix(&zone.prefix, report);
        unique.check_as(&zone.prefix, zone.prefix.trunc(), report);
    }
    report.leave();
    let zone = |z: &Field<ClientZone>| model::ClientZone {
        prefix: z.prefix.trunc(),
        zone: z.zone.0.as_str().into(),
    };
    raw.iter().map(zone).collect()
}

/// Refuses bits beyond the prefix length: one of the two is a slip.
pub(super) fn whole_prefix(field: &Field<IpNet>, report: &mut Report<'_>) {
    if field.value != field.trunc() {
        let meant = format!("allowed: {} or {}", field.trunc(), IpNet::from(field.addr()));
        report.refuse(field, "the address has bits beyond the prefix length", meant);
    }
}
