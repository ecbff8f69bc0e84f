//! E-1 to E-7: the borders and traps of the eligible set, and what its answer says of itself.

use control::model::{FailoverPolicy, Profile, Role};
use control::policy::Member;
use control::policy::eligible::{Eligible, Policy, eligible};

/// Members in one letter and a weight each: `P` healthy primary, `p` unhealthy primary, `F` and
/// `f` the failover ones.
fn members(text: &str) -> Vec<Member> {
    text.split_whitespace()
        .map(|word| {
            let (kind, weight) = word.split_at(1);
            let role = if kind.eq_ignore_ascii_case("p") { Role::Primary } else { Role::Failover };
            let healthy = kind == "P" || kind == "F";
            Member { role, healthy, weight: weight.parse().expect("a weight"), zone: None }
        })
        .collect()
}

fn native(weighted: bool, failover: Option<FailoverPolicy>) -> Policy {
    Policy { profile: Profile::Native, weighted, failover }
}

fn ratio(ratio: &str) -> Option<FailoverPolicy> {
    let ratio = ratio.parse().expect("a ratio");
    Some(FailoverPolicy { ratio, ..FailoverPolicy::default() })
}

fn dropping() -> Option<FailoverPolicy> {
    Some(FailoverPolicy { drop_traffic_if_unhealthy: true, ..FailoverPolicy::default() })
}

const PRIMARY: Option<Role> = Some(Role::Primary);
const FAILOVER: Option<Role> = Some(Role::Failover);

/// Who serves, from which pool, and whether as a last resort.
#[track_caller]
fn assert_set(policy: Policy, text: &str, set: &[usize], pool: Option<Role>, last_resort: bool) {
    let expected = Eligible { members: set.to_vec(), pool, last_resort };
    assert_eq!(eligible(policy, &members(text)), expected, "{text}");
}

#[test]
fn with_none_healthy_all_are_the_last_resort_but_in_azure() {
    assert_set(native(false, None), "p1 P1 p0 P0", &[1, 3], PRIMARY, false);
    assert_set(native(false, None), "p1 p0", &[0, 1], PRIMARY, true);
    let azure = Policy { profile: Profile::Azure, weighted: false, failover: None };
    assert_set(azure, "p1 P1", &[1], PRIMARY, false);
    assert_set(azure, "p1 p1", &[], None, false);
}

#[test]
fn an_unhealthy_backend_of_weight_comes_before_a_healthy_one_without() {
    assert_set(native(true, None), "P0 P2 p5", &[1], PRIMARY, false);
    assert_set(native(true, None), "P0 p5", &[1], PRIMARY, true);
    assert_set(native(true, None), "p0 P0", &[1], PRIMARY, true);
    assert_set(native(true, None), "p0 p0", &[0, 1], PRIMARY, true);
}

#[test]
fn without_members_nobody_serves_and_it_is_no_last_resort() {
    for policy in [native(false, None), native(true, None)] {
        assert_set(policy, "", &[], None, false);
    }
    for weighted in [false, true] {
        assert_set(native(weighted, ratio("0.5")), "", &[], None, false);
    }
}

#[test]
fn seven_of_a_hundred_meet_a_ratio_of_seven_hundredths() {
    let hundred = |healthy| format!("{}{}F1", "P1 ".repeat(healthy), "p1 ".repeat(100 - healthy));
    let pool = |text: &str, r| eligible(native(false, ratio(r)), &members(text)).pool;
    assert_eq!(pool(&hundred(7), "0.07"), PRIMARY);
    assert_eq!(pool(&hundred(7), "0.070000000000000001"), FAILOVER);
    assert_eq!(pool(&hundred(6), "0.07"), FAILOVER);
    assert_eq!(pool(&hundred(100), "1.0"), PRIMARY);
    assert_eq!(pool(&hundred(99), "1.0"), FAILOVER);
}

#[test]
fn weight_zero_counts_below_the_line_of_the_ratio_only() {
    // Two of four primaries are healthy with a weight: one half, though all four are healthy.
    assert_set(native(true, ratio("0.5")), "P1 P1 P0 P0 F1", &[0, 1], PRIMARY, false);
    assert_set(native(true, ratio("0.51")), "P1 P1 P0 P0 F1", &[4], FAILOVER, false);
    // With weights off the same four all count.
    assert_set(native(false, ratio("1.0")), "P1 P1 P0 P0 F1", &[0, 1, 2, 3], PRIMARY, false);
}

#[test]
fn a_ratio_of_zero_keeps_the_primaries_as_long_as_one_is_healthy() {
    assert_set(native(false, ratio("0.0")), "P1 p1 p1 F1", &[0], PRIMARY, false);
    assert_set(native(false, ratio("0.0")), "p1 p1 p1 F1", &[3], FAILOVER, false);
    assert_set(native(true, ratio("0.0")), "P0 p1 P1 F1", &[2], PRIMARY, false);
    assert_set(native(true, ratio("0.0")), "P0 p1 P0 F1", &[3], FAILOVER, false);
}

#[test]
fn without_healthy_failover_backends_the_ratio_does_not_matter() {
    assert_set(native(false, ratio("1.0")), "P1 p1 p1 f1", &[0], PRIMARY, false);
    assert_set(native(true, ratio("1.0")), "P1 P0 p1 f1 F0", &[0], PRIMARY, false);
}

#[test]
fn with_drop_the_set_is_empty_even_beside_healthy_backends_of_weight_zero() {
    assert_set(native(false, dropping()), "p1 f1", &[], None, false);
    assert_set(native(false, dropping()), "P0 f1", &[0], PRIMARY, false);
    assert_set(native(true, dropping()), "P0 F0 p1 f1", &[], None, false);
    assert_set(native(true, dropping()), "P0 F1", &[1], FAILOVER, false);
}

#[test]
fn the_last_resort_is_primaries_only_without_weights_and_alternates_with_them() {
    assert_set(native(false, ratio("0.0")), "f1 p1 f0 p0", &[1, 3], PRIMARY, true);
    assert_set(native(false, ratio("0.0")), "f1", &[], None, false);
    let alternating = |text, set: &[usize], pool| {
        assert_set(native(true, ratio("0.0")), text, set, pool, true);
    };
    alternating("f0 p0 F0 P0 f1 p1", &[5], PRIMARY);
    alternating("f0 p0 F0 P0 f1", &[4], FAILOVER);
    alternating("f0 p0 F0 P0", &[3], PRIMARY);
    alternating("f0 p0 F0", &[2], FAILOVER);
    alternating("f0 p0", &[1], PRIMARY);
    alternating("f0", &[0], FAILOVER);
}
