//! The eligible set: the backends that a new connection may be given to (section 3).

use super::Member;
use crate::model::{FailoverPolicy, Profile, Ratio, Role};

/// What of a service's configuration decides the set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Only `azure` has no last resort (E-1).
    pub profile: Profile,
    /// `locality_lb_policy = "WEIGHTED_MAGLEV"`
    pub weighted: bool,
    /// Present exactly when the service has a failover group (E-8, E-10).
    pub failover: Option<FailoverPolicy>,
}

/// The eligible set, before the zonal step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Eligible {
    /// Indices into the slice of members, ascending; empty: new connections are dropped.
    pub members: Vec<usize>,
    /// The role that all of them have (T-17); `None`: the set is empty.
    pub pool: Option<Role>,
    /// Nobody who should serve could: E-1 with none healthy, E-4 and E-6 without drop, the sets
    /// of E-2 after the first. An empty set is no resort at all: false.
    pub last_resort: bool,
}

/// The eligible set of `members` (E-1 to E-7, E-9).
pub fn eligible(policy: Policy, members: &[Member]) -> Eligible {
    match (policy.failover, policy.weighted) {
        (None, false) => by_health(policy.profile, members),
        (None, true) => by_weight(members),
        (Some(failover), false) => by_failover(failover, members),
        (Some(failover), true) => by_failover_and_weight(failover, members),
    }
}

/// E-1
fn by_health(profile: Profile, members: &[Member]) -> Eligible {
    let healthy = pick(members, |m| m.healthy);
    if !healthy.is_empty() || profile == Profile::Azure {
        return serving(members, healthy);
    }
    last_resort(members, pick(members, |_| true))
}

/// E-2: first of PH+, PU+, PH0, PU0.
fn by_weight(members: &[Member]) -> Eligible {
    let best = pick(members, PH_PLUS);
    if !best.is_empty() {
        return serving(members, best);
    }
    last_resort(members, first_of(members, &[PU_PLUS, PH_0, PU_0]))
}

/// E-3, E-4
fn by_failover(policy: FailoverPolicy, members: &[Member]) -> Eligible {
    if members.iter().any(|m| m.healthy) {
        return serving(members, primaries_or_failover(policy.ratio, members, PH, FH));
    }
    if policy.drop_traffic_if_unhealthy {
        return Eligible::default();
    }
    last_resort(members, pick(members, PRIMARY))
}

/// E-5, E-6
fn by_failover_and_weight(policy: FailoverPolicy, members: &[Member]) -> Eligible {
    if members.iter().any(|m| m.healthy && m.weight > 0) {
        return serving(members, primaries_or_failover(policy.ratio, members, PH_PLUS, FH_PLUS));
    }
    if policy.drop_traffic_if_unhealthy {
        return Eligible::default();
    }
    last_resort(members, first_of(members, &[PU_PLUS, FU_PLUS, PH_0, FH_0, PU_0, FU_0]))
}

/// The choice that E-3 and E-5 share. The denominator is every primary, whatever its weight; a
/// ratio of 0.0 is met by any number (E-7).
fn primaries_or_failover(ratio: Ratio, members: &[Member], p: Set, f: Set) -> Vec<usize> {
    let (primaries, failover) = (pick(members, p), pick(members, f));
    if primaries.is_empty() {
        return failover;
    }
    let all_primaries = members.iter().filter(|m| PRIMARY(m)).count();
    if failover.is_empty() || ratio.is_met_by(primaries.len(), all_primaries) {
        return primaries;
    }
    failover
}

/// One of the specification's sets, by its membership test.
type Set = fn(&Member) -> bool;

const PRIMARY: Set = |m| m.role == Role::Primary;
const PH: Set = |m| m.role == Role::Primary && m.healthy;
const FH: Set = |m| m.role == Role::Failover && m.healthy;
const PH_PLUS: Set = |m| PH(m) && m.weight > 0;
const FH_PLUS: Set = |m| FH(m) && m.weight > 0;
const PH_0: Set = |m| PH(m) && m.weight == 0;
const FH_0: Set = |m| FH(m) && m.weight == 0;
const PU_PLUS: Set = |m| PRIMARY(m) && !m.healthy && m.weight > 0;
const FU_PLUS: Set = |m| !PRIMARY(m) && !m.healthy && m.weight > 0;
const PU_0: Set = |m| PRIMARY(m) && !m.healthy && m.weight == 0;
const FU_0: Set = |m| !PRIMARY(m) && !m.healthy && m.weight == 0;

fn pick(members: &[Member], set: Set) -> Vec<usize> {
    (0..members.len()).filter(|i| set(&members[*i])).collect()
}

/// "First of": the first set that is not empty.
fn first_of(members: &[Member], sets: &[Set]) -> Vec<usize> {
    sets.iter().map(|set| pick(members, *set)).find(|s| !s.is_empty()).unwrap_or_default()
}

fn serving(members: &[Member], set: Vec<usize>) -> Eligible {
    let pool = set.first().map(|i| members[*i].role);
    Eligible { members: set, pool, last_resort: false }
}

fn last_resort(members: &[Member], set: Vec<usize>) -> Eligible {
    Eligible { last_resort: !set.is_empty(), ..serving(members, set) }
}
