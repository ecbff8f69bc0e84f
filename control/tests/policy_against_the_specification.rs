//! Sections 3 and 4, T-10, T-14 and T-17: the production code against a slow, obvious model that
//! is written straight from the specification's sentences.

use std::collections::BTreeSet;

use control::model::{FailoverPolicy, Profile, Ratio, Role, ZonalAffinity};
use control::policy::Member;
use control::policy::eligible::{Policy, eligible};
use control::policy::failover::{SwitchDetector, switch_ends_entries};
use control::policy::zonal;
use proptest::collection::vec;
use proptest::prelude::*;
use tables::ZoneId;

mod specification {
    //! The sentences. Ratios are in thousandths, so that a comparison is one of integers.

    use super::*;

    pub(crate) type Set = BTreeSet<usize>;

    #[derive(Clone, Debug)]
    pub(crate) struct Service {
        pub profile: Profile,
        pub weighted: bool,
        pub failover: Option<Failover>,
    }

    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Failover {
        pub ratio: u64,
        pub drop: bool,
        pub draining: bool,
    }

    fn all(members: &[Member]) -> Set {
        (0..members.len()).collect()
    }

    fn of_role(members: &[Member], role: Role) -> Set {
        all(members).into_iter().filter(|i| members[*i].role == role).collect()
    }

    fn of_health(members: &[Member], healthy: bool) -> Set {
        all(members).into_iter().filter(|i| members[*i].healthy == healthy).collect()
    }

    /// "A suffix + keeps those of non-zero weight."
    fn plus(members: &[Member], set: &Set) -> Set {
        set.iter().copied().filter(|i| members[*i].weight != 0).collect()
    }

    /// "0 those of weight zero."
    fn zero(members: &[Member], set: &Set) -> Set {
        set.iter().copied().filter(|i| members[*i].weight == 0).collect()
    }

    /// "The first set in the list that is not empty."
    fn first_of(sets: &[&Set]) -> Set {
        for set in sets {
            if !set.is_empty() {
                return (*set).clone();
            }
        }
        Set::new()
    }

    fn meets(part: usize, whole: usize, thousandths: u64) -> bool {
        part as u64 * 1000 >= whole as u64 * thousandths
    }

    /// The set, and whether it is a last resort.
    #[expect(clippy::if_same_then_else, reason = "the specification's own branches")]
    pub(crate) fn eligible(service: &Service, members: &[Member]) -> (Set, bool) {
        let primaries = of_role(members, Role::Primary);
        let failovers = of_role(members, Role::Failover);
        let healthy = of_health(members, true);
        let unhealthy = of_health(members, false);
        let ph = &primaries & &healthy;
        let pu = &primaries & &unhealthy;
        let fh = &failovers & &healthy;
        let fu = &failovers & &unhealthy;
        let (ph_plus, ph_0) = (plus(members, &ph), zero(members, &ph));
        let (pu_plus, pu_0) = (plus(members, &pu), zero(members, &pu));
        let (fh_plus, fh_0) = (plus(members, &fh), zero(members, &fh));
        let (fu_plus, fu_0) = (plus(members, &fu), zero(members, &fu));

        let (set, last_resort) = match (service.failover, service.weighted) {
            // E-1
            (None, false) => {
                if !healthy.is_empty() {
                    (healthy, false)
                } else if service.profile == Profile::Azure {
                    (Set::new(), false)
                } else {
                    (all(members), true)
                }
            }
            // E-2
            (None, true) => (first_of(&[&ph_plus, &pu_plus, &ph_0, &pu_0]), ph_plus.is_empty()),
            // E-3
            (Some(failover), false) if !healthy.is_empty() => {
                let set = if ph.is_empty() {
                    fh
                } else if fh.is_empty() || failover.ratio == 0 {
                    ph
                } else if meets(ph.len(), primaries.len(), failover.ratio) {
                    ph
                } else {
                    fh
                };
                (set, false)
            }
            // E-4
            (Some(failover), false) => {
                if failover.drop {
                    (Set::new(), false)
                } else {
                    (primaries, true)
                }
            }
            // E-5
            (Some(failover), true) if !plus(members, &healthy).is_empty() => {
                let set = if ph_plus.is_empty() {
                    fh_plus
                } else if fh_plus.is_empty() || failover.ratio == 0 {
                    ph_plus
                } else if meets(ph_plus.len(), primaries.len(), failover.ratio) {
                    ph_plus
                } else {
                    fh_plus
                };
                (set, false)
            }
            // E-6
            (Some(failover), true) => {
                if failover.drop {
                    (Set::new(), false)
                } else {
                    (first_of(&[&pu_plus, &fu_plus, &ph_0, &fh_0, &pu_0, &fu_0]), true)
                }
            }
        };
        let last_resort = last_resort && !set.is_empty();
        (set, last_resort)
    }

    /// T-17
    pub(crate) fn role_of(members: &[Member], set: &Set) -> Option<Role> {
        let roles: Vec<Role> = set.iter().map(|i| members[*i].role).collect();
        if let Some(first) = roles.first() {
            assert!(roles.iter().all(|role| role == first), "a set of two roles");
        }
        roles.first().copied()
    }

    #[derive(Clone, Copy, Debug)]
    pub(crate) enum Zonal {
        Disabled,
        Stay,
        /// Thousandths.
        Spill(u64),
    }

    /// Section 4.
    pub(crate) fn zonal_step(
        zonal: Zonal,
        client: Option<ZoneId>,
        members: &[Member],
        eligible: &Set,
    ) -> Set {
        let in_zone: Set =
            eligible.iter().copied().filter(|i| members[*i].zone == client).collect();
        // Z-1
        if matches!(zonal, Zonal::Disabled) || client.is_none() || in_zone.is_empty() {
            return eligible.clone();
        }
        let Zonal::Spill(ratio) = zonal else {
            // Z-2
            return in_zone;
        };
        // Z-3
        let pool = role_of(members, eligible).expect("not empty");
        let mut backends = 0;
        let mut healthy = 0;
        for member in members {
            if member.role == pool && member.zone == client {
                backends += 1;
                healthy += usize::from(member.healthy);
            }
        }
        if meets(healthy, backends, ratio) { in_zone } else { eligible.clone() }
    }

    /// T-10, T-14: which of the sets, in time, come with a switch: the pool differs from that of
    /// the nearest set before it that was not empty.
    pub(crate) fn switches(pools: &[Option<Role>]) -> Vec<bool> {
        let mut switches = Vec::new();
        for (i, pool) in pools.iter().enumerate() {
            let before = pools[..i].iter().rev().find(|p| p.is_some());
            switches.push(match (before, pool) {
                (Some(before), Some(_)) => before != pool,
                _ => false,
            });
        }
        switches
    }
}

use specification::{Failover, Service, Zonal};

fn ratio(thousandths: u64) -> Ratio {
    format!("{}.{:03}", thousandths / 1000, thousandths % 1000).parse().expect("a ratio")
}

fn thousandths() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(1000), Just(500), Just(333), Just(667), 0..=1000u64]
}

fn a_member(with_failover: bool) -> impl Strategy<Value = Member> {
    let role = if with_failover {
        prop_oneof![Just(Role::Primary), Just(Role::Failover)].boxed()
    } else {
        Just(Role::Primary).boxed()
    };
    let weight = prop_oneof![Just(0u16), Just(1), 0..=1000u16];
    let zone = proptest::option::of((0..3u16).prop_map(ZoneId));
    (role, any::<bool>(), weight, zone).prop_map(|(role, healthy, weight, zone)| Member {
        role,
        healthy,
        weight,
        zone,
    })
}

/// What the limits of the profiles allow (P-2, E-9).
fn a_service() -> impl Strategy<Value = Service> {
    use Profile::{Azure, GcpExternal, GcpInternal, Native};
    let profile = prop_oneof![Just(Native), Just(GcpExternal), Just(GcpInternal), Just(Azure)];
    let failover = (thousandths(), any::<bool>(), any::<bool>())
        .prop_map(|(ratio, drop, draining)| Failover { ratio, drop, draining });
    (profile, any::<bool>(), proptest::option::of(failover)).prop_map(
        |(profile, weighted, failover)| Service {
            profile,
            weighted: weighted && matches!(profile, Native | GcpExternal),
            failover: failover.filter(|_| profile != Azure),
        },
    )
}

impl Service {
    fn policy(&self) -> Policy {
        let failover = self.failover.map(|f| FailoverPolicy {
            ratio: ratio(f.ratio),
            drop_traffic_if_unhealthy: f.drop,
            connection_draining_on_failover: f.draining,
        });
        Policy { profile: self.profile, weighted: self.weighted, failover }
    }
}

/// A service, and its members at several moments.
fn a_history() -> impl Strategy<Value = (Service, Vec<Vec<Member>>)> {
    a_service().prop_flat_map(|service| {
        let moments = vec(vec(a_member(service.failover.is_some()), 0..8), 1..20);
        (Just(service), moments)
    })
}

fn a_zonal_affinity() -> impl Strategy<Value = Zonal> {
    prop_oneof![Just(Zonal::Disabled), Just(Zonal::Stay), thousandths().prop_map(Zonal::Spill)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn eligible_sets_and_switches_are_those_of_the_specification((service, moments) in a_history()) {
        let mut detector = SwitchDetector::default();
        let (mut pools, mut switches) = (Vec::new(), Vec::new());
        for members in &moments {
            let found = eligible(service.policy(), members);
            let (set, last_resort) = specification::eligible(&service, members);
            prop_assert_eq!(&found.members, &set.iter().copied().collect::<Vec<_>>());
            prop_assert_eq!(found.pool, specification::role_of(members, &set));
            prop_assert_eq!(found.last_resort, last_resort);
            switches.push(detector.observe(found.pool));
            pools.push(found.pool);
        }
        prop_assert_eq!(switches, specification::switches(&pools));
        let ends = service.failover.is_some_and(|f| !f.draining);
        prop_assert_eq!(switch_ends_entries(service.policy().failover), ends);
    }

    #[test]
    fn the_zonal_step_is_that_of_the_specification(
        (service, moments) in a_history(),
        zonal in a_zonal_affinity(),
        client in proptest::option::of((0..4u16).prop_map(ZoneId)),
    ) {
        let affinity = match zonal {
            Zonal::Disabled => ZonalAffinity::Disabled,
            Zonal::Stay => ZonalAffinity::StayWithinZone,
            Zonal::Spill(thousandths) => ZonalAffinity::SpillCrossZone(ratio(thousandths)),
        };
        for members in &moments {
            let whole = eligible(service.policy(), members);
            let set = whole.members.iter().copied().collect();
            let found = zonal::step(affinity, client, members, &whole);
            let expected = specification::zonal_step(zonal, client, members, &set);
            prop_assert_eq!(&found, &expected.iter().copied().collect::<Vec<_>>());
            prop_assert_eq!(found.is_empty(), whole.members.is_empty());
        }
    }
}
