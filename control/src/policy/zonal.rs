//! The zonal step: what of the eligible set the clients of one zone get (section 4).

use tables::ZoneId;

use super::Member;
use super::eligible::Eligible;
use crate::model::{Ratio, ZonalAffinity};

/// The eligible set for clients of `client`'s zone: indices into `members`, ascending. Never
/// empty unless `eligible` is, and never of another role: the step makes no failover switch
/// (T-17).
pub fn step(
    affinity: ZonalAffinity,
    client: Option<ZoneId>,
    members: &[Member],
    eligible: &Eligible,
) -> Vec<usize> {
    match (affinity, applies(affinity, client, members, eligible)) {
        (ZonalAffinity::SpillCrossZone(ratio), Some(zone))
            if !zone_holds(ratio, zone, members, eligible) =>
        {
            eligible.members.clone()
        }
        (_, Some(zone)) => within(zone, members, eligible).collect(),
        (_, None) => eligible.members.clone(),
    }
}

/// The zone that the step is about, or `None` when it is skipped (Z-1).
pub fn applies(
    affinity: ZonalAffinity,
    client: Option<ZoneId>,
    members: &[Member],
    eligible: &Eligible,
) -> Option<ZoneId> {
    if affinity == ZonalAffinity::Disabled {
        return None;
    }
    client.filter(|zone| within(*zone, members, eligible).next().is_some())
}

/// Z-2
fn within(zone: ZoneId, members: &[Member], eligible: &Eligible) -> impl Iterator<Item = usize> {
    eligible.members.iter().copied().filter(move |i| members[*i].zone == Some(zone))
}

/// Z-3: enough of the zone is healthy. The pool in use is every member of the role that the
/// eligible set has, whatever its weight or health: the ratio is about the zone's health, so
/// neither last resorts nor weights change what is counted, and failover backends that wait in
/// the zone count for nothing while primaries serve.
fn zone_holds(ratio: Ratio, zone: ZoneId, members: &[Member], eligible: &Eligible) -> bool {
    let counted = |m: &&Member| m.zone == Some(zone) && Some(m.role) == eligible.pool;
    let all = members.iter().filter(counted).count();
    let healthy = members.iter().filter(counted).filter(|m| m.healthy).count();
    ratio.is_met_by(healthy, all)
}
