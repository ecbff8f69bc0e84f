//! Z-1 to Z-3, T-17: the zonal step by examples.

use control::model::{FailoverPolicy, Profile, Role, ZonalAffinity};
use control::policy::Member;
use control::policy::eligible::{Policy, eligible};
use control::policy::zonal::step;
use tables::ZoneId;

const A: Option<ZoneId> = Some(ZoneId(0));
const B: Option<ZoneId> = Some(ZoneId(1));
const STAY: ZonalAffinity = ZonalAffinity::StayWithinZone;

fn spill(ratio: &str) -> ZonalAffinity {
    ZonalAffinity::SpillCrossZone(ratio.parse().expect("a ratio"))
}

fn backend(role: Role, healthy: bool, zone: Option<ZoneId>) -> Member {
    Member { role, healthy, weight: 1, zone }
}

fn primary(healthy: bool, zone: Option<ZoneId>) -> Member {
    backend(Role::Primary, healthy, zone)
}

fn failover(healthy: bool, zone: Option<ZoneId>) -> Member {
    backend(Role::Failover, healthy, zone)
}

/// Whom clients of `zone` are given to.
fn chosen(affinity: ZonalAffinity, zone: Option<ZoneId>, members: &[Member]) -> Vec<usize> {
    let policy = members.iter().any(|m| m.role == Role::Failover).then(FailoverPolicy::default);
    let policy = Policy { profile: Profile::Native, weighted: false, failover: policy };
    step(affinity, zone, members, &eligible(policy, members))
}

#[test]
fn disabled_or_with_an_unknown_zone_the_step_is_skipped() {
    let members = [primary(true, A), primary(true, B), primary(true, None)];
    assert_eq!(chosen(ZonalAffinity::Disabled, A, &members), [0, 1, 2]);
    // Not even a backend in no zone is near a client of an unknown one.
    assert_eq!(chosen(STAY, None, &members), [0, 1, 2]);
    assert_eq!(chosen(spill("0.0"), None, &members), [0, 1, 2]);
}

#[test]
fn a_client_stays_in_its_zone_while_an_eligible_backend_is_in_it() {
    let members = [primary(true, A), primary(true, B), primary(false, A)];
    assert_eq!(chosen(STAY, A, &members), [0]);
    assert_eq!(chosen(STAY, B, &members), [1]);
    assert_eq!(chosen(STAY, Some(ZoneId(7)), &members), [0, 1]);
    assert_eq!(chosen(STAY, A, &[primary(false, A), primary(true, B)]), [1]);
}

#[test]
fn a_zone_keeps_its_clients_as_long_as_the_ratio_is_met_exactly() {
    let members = [primary(true, A), primary(false, A), primary(false, A), primary(true, B)];
    assert_eq!(chosen(spill("0.333333333333333333"), A, &members), [0]);
    assert_eq!(chosen(spill("0.333333333333333334"), A, &members), [0, 3]);
    assert_eq!(chosen(spill("1.0"), B, &members), [3]);
}

#[test]
fn only_the_pool_in_use_is_counted() {
    // Unhealthy failover backends of the zone do not spoil its ratio, healthy ones do not save it.
    let spoiled = [primary(true, A), primary(true, B), failover(false, A), failover(false, A)];
    assert_eq!(chosen(spill("1.0"), A, &spoiled), [0]);
    let saved = [primary(true, A), primary(false, A), primary(true, B), failover(true, A)];
    assert_eq!(chosen(spill("0.51"), A, &saved), [0, 2]);
    // When failover backends serve it is the other way round.
    let failed = [primary(false, A), failover(true, A), failover(true, B)];
    assert_eq!(chosen(spill("1.0"), A, &failed), [1]);
}

#[test]
fn last_resorts_in_the_zone_meet_no_ratio_but_zero() {
    let members = [primary(false, A), primary(false, B)];
    assert_eq!(chosen(STAY, A, &members), [0]);
    assert_eq!(chosen(spill("0.0"), A, &members), [0]);
    assert_eq!(chosen(spill("0.1"), A, &members), [0, 1]);
}
