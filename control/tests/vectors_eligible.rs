//! E-1 to E-7: every case of `eligible.json`, for each profile that it applies to and for
//! `native`, which combines everything (E-9).

use std::collections::BTreeSet;

use control::model::{FailoverPolicy, Profile, Role};
use control::policy::Member;
use control::policy::eligible::{Policy, eligible};
use serde::Deserialize;

#[path = "common/judge.rs"]
mod judge;
use judge::{judge, same};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    #[serde(rename = "id")]
    _id: String,
    #[serde(rename = "tag")]
    _tag: String,
    applies_to: Vec<Scheme>,
    input: Input,
    expect: Expect,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Scheme {
    External,
    Internal,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    backends: Vec<Backend>,
    failover_policy: Option<Failover>,
    weighted: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Backend {
    id: String,
    role: Role,
    healthy: bool,
    weight: u16,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Failover {
    ratio: Option<serde_json::Number>,
    drop_if_all_unhealthy: Option<bool>,
    connection_draining_on_failover: Option<bool>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Expect {
    eligible: BTreeSet<String>,
    drop: bool,
    pool: Option<Role>,
}

#[test]
fn the_eligible_set_of_every_case_is_right() {
    judge("eligible.json", |case: &Case| {
        let profiles = case.applies_to.iter().map(|scheme| match scheme {
            Scheme::External => Profile::GcpExternal,
            Scheme::Internal => Profile::GcpInternal,
        });
        profiles.chain([Profile::Native]).try_for_each(|profile| check(profile, case))
    });
}

fn check(profile: Profile, case: &Case) -> Result<(), String> {
    let input = &case.input;
    let failover = input.failover_policy.as_ref().map(policy);
    let members: Vec<_> = input.backends.iter().map(member).collect();
    let set = eligible(Policy { profile, weighted: input.weighted, failover }, &members);
    let found = Expect {
        eligible: set.members.iter().map(|i| input.backends[*i].id.clone()).collect(),
        drop: set.members.is_empty(),
        pool: set.pool,
    };
    same(&format!("{profile:?}: the set"), &found, &case.expect)
}

fn policy(written: &Failover) -> FailoverPolicy {
    let default = FailoverPolicy::default();
    FailoverPolicy {
        // The shortest decimal that reads as the same number is the one that was written.
        ratio: written
            .ratio
            .as_ref()
            .map_or(default.ratio, |r| r.to_string().parse().expect("a ratio")),
        drop_traffic_if_unhealthy: written
            .drop_if_all_unhealthy
            .unwrap_or(default.drop_traffic_if_unhealthy),
        connection_draining_on_failover: written
            .connection_draining_on_failover
            .unwrap_or(default.connection_draining_on_failover),
    }
}

fn member(backend: &Backend) -> Member {
    let Backend { role, healthy, weight, .. } = *backend;
    Member { role, healthy, weight, zone: None }
}
