//! Every transition that ends entries, and those that must not: what a test asserts is both
//! epochs of every backend.

use std::time::Duration;

use tables::{HashSeed, Lifetime};

use super::*;
use crate::model;
use crate::model::*;

const TICK: Clock = Clock { tick_length: Duration::from_millis(125) };

fn config(edit: impl FnOnce(&mut model::Service)) -> Arc<Config> {
    let group = |name: &str, role, backends: &[&str]| Group {
        name: name.into(),
        role,
        zone: None,
        backends: backends.iter().map(|name| backend(name)).collect(),
    };
    let mut service = model::Service {
        name: "web".into(),
        profile: Profile::Native,
        affinity: Affinity::None,
        tracking_mode: TrackingMode::PerConnection,
        persistence: Persistence::DefaultForProtocol,
        idle_timeout: seconds(600),
        draining_timeout: seconds(0),
        weighted: false,
        maglev_table_size: 65_537,
        initially_healthy: true,
        encapsulation: Encapsulation {
            kind: EncapsulationKind::Ipip,
            source: vec!["10.0.0.2".parse().expect("an address")],
            source_entropy: false,
            entropy_prefix: Vec::new(),
            gue_port: 6080,
            gue_variant: GueVariant::Zero,
            l3dsr_dscp: 0,
            gre_key: GreKey::None,
            dscp: Dscp::Copy,
            ttl: 64,
        },
        zonal_affinity: ZonalAffinity::Disabled,
        failover: None,
        health_check: None,
        groups: vec![group("p", Role::Primary, &["1", "2"])],
    };
    edit(&mut service);
    if service.failover.is_some() {
        service.groups.push(group("f", Role::Failover, &["1"]));
    }
    let dataplane = Dataplane {
        workers: vec![1],
        hugepages: Hugepages::Auto,
        memory: 1 << 27,
        conntrack_entries: 1000,
        conntrack_entries_v6: 1000,
        insert_rate: 0,
        hash_seed: HashSeed([1; 16]),
        idle: Idle::Adaptive,
        eal_args: vec![],
    };
    Arc::new(Config {
        dataplane,
        ports: vec![],
        admin: Admin { listen: String::new(), socket: String::new(), orders: String::new() },
        client_zones: vec![],
        services: vec![service],
        rules: vec![],
    })
}

fn backend(name: &str) -> model::Backend {
    let address = format!("10.1.0.{name}").parse().expect("an address");
    model::Backend { name: name.into(), address, weight: None }
}

fn failover(draining: bool) -> Option<FailoverPolicy> {
    Some(FailoverPolicy { connection_draining_on_failover: draining, ..Default::default() })
}

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

fn start(edit: impl FnOnce(&mut model::Service)) -> State {
    State::new(config(edit), TICK, seconds(0)).expect("fits")
}

fn tell(state: &mut State, at: u64, backend: &str, verb: Verb) {
    let change = Change::Backend { service: "web".into(), backend: backend.into(), verb };
    state.apply(&[change], seconds(at)).expect("known");
}

fn reload(state: &mut State, at: u64, edit: impl FnOnce(&mut model::Service)) {
    state.apply(&[Change::Reload(config(edit))], seconds(at)).expect("fits");
}

/// How often each backend's entries were ended: (path, while healthy, persisting).
fn ended(state: &State) -> Vec<(String, u32, u32)> {
    let service = state.service("web").expect("known");
    let epochs = |b: &super::Backend| state.epochs()[b.slot.get() as usize];
    let row = |b: &super::Backend| {
        (
            b.path.to_string(),
            epochs(b).of(Lifetime::WhileHealthy),
            epochs(b).of(Lifetime::Persisting),
        )
    };
    service.backends.iter().map(row).collect()
}

fn row(path: &str, while_healthy: u32, persisting: u32) -> (String, u32, u32) {
    (path.to_owned(), while_healthy, persisting)
}

fn eligible(state: &State) -> Vec<&str> {
    let service = state.service("web").expect("known");
    let current = service.current();
    service.eligible().members.iter().map(|i| &*current[*i].path).collect()
}

#[test]
fn t11_failing_ends_what_does_not_persist_and_recovering_ends_nothing() {
    let mut state = start(|_| {});
    tell(&mut state, 1, "p/1", Verb::Health(false));
    assert_eq!(ended(&state), [row("p/1", 1, 0), row("p/2", 0, 0)]);
    assert_eq!(eligible(&state), ["p/2"]);
    tell(&mut state, 2, "p/1", Verb::Health(false));
    tell(&mut state, 3, "p/1", Verb::Health(true));
    assert_eq!(ended(&state), [row("p/1", 1, 0), row("p/2", 0, 0)]);
}

#[test]
fn t11_a_backend_that_starts_unhealthy_has_not_failed() {
    let mut state = start(|s| s.initially_healthy = false);
    tell(&mut state, 1, "p/1", Verb::Health(false));
    assert_eq!(ended(&state), [row("p/1", 0, 0), row("p/2", 0, 0)]);
    assert_eq!(eligible(&state), ["p/1", "p/2"]);
}

#[test]
fn h2_with_never_persist_failing_ends_everything() {
    let mut state = start(|s| s.persistence = Persistence::NeverPersist);
    tell(&mut state, 1, "p/1", Verb::Health(false));
    assert_eq!(ended(&state), [row("p/1", 1, 1), row("p/2", 0, 0)]);
}

#[test]
fn h2_by_reload_ends_what_outlived_a_failure_and_nothing_else() {
    let mut state = start(|_| {});
    tell(&mut state, 1, "p/1", Verb::Health(false));
    reload(&mut state, 2, |s| s.persistence = Persistence::NeverPersist);
    assert_eq!(ended(&state), [row("p/1", 1, 1), row("p/2", 0, 0)]);

    let mut recovered = start(|_| {});
    tell(&mut recovered, 1, "p/1", Verb::Health(false));
    tell(&mut recovered, 2, "p/1", Verb::Health(true));
    reload(&mut recovered, 3, |s| s.persistence = Persistence::NeverPersist);
    assert_eq!(ended(&recovered), [row("p/1", 1, 0), row("p/2", 0, 0)]);
}

#[test]
fn t13_without_a_draining_timeout_a_removed_backend_ends_at_once() {
    let mut state = start(|_| {});
    reload(&mut state, 1, |s| s.groups[0].backends.truncate(1));
    assert_eq!(ended(&state), [row("p/1", 0, 0)]);
    assert_eq!(state.epochs()[1].of(Lifetime::Persisting), 1);
    assert_eq!(state.next_deadline(), None);
}

#[test]
fn t13_a_draining_backend_is_out_of_every_count_and_ends_at_its_deadline() {
    let mut state = start(|s| s.draining_timeout = seconds(30));
    tell(&mut state, 10, "p/1", Verb::Drain);
    assert_eq!(eligible(&state), ["p/2"]);
    assert_eq!(ended(&state), [row("p/1", 0, 0), row("p/2", 0, 0)]);
    assert_eq!(state.next_deadline(), Some(seconds(40)));
    tell(&mut state, 11, "p/1", Verb::Health(false));
    state.advance(seconds(39));
    assert_eq!(ended(&state), [row("p/1", 0, 0), row("p/2", 0, 0)]);
    state.advance(seconds(40));
    assert_eq!(ended(&state), [row("p/1", 1, 1), row("p/2", 0, 0)]);
    assert_eq!(state.next_deadline(), None);
}

#[test]
fn t15_a_backend_put_back_in_time_is_a_member_with_the_health_it_left_with() {
    for health in [true, false] {
        let mut state = start(|s| s.draining_timeout = seconds(30));
        tell(&mut state, 1, "p/1", Verb::Health(health));
        let before = ended(&state);
        reload(&mut state, 10, |s| {
            s.draining_timeout = seconds(30);
            s.groups[0].backends.remove(0);
        });
        tell(&mut state, 11, "p/1", Verb::Health(!health));
        reload(&mut state, 20, |s| s.draining_timeout = seconds(30));
        state.advance(seconds(100));
        let mut after = ended(&state);
        after.sort();
        assert_eq!(after, before);
        assert_eq!(eligible(&state).contains(&"p/1"), health);
    }
}

#[test]
fn t18_disable_is_a_change_to_unhealthy_that_a_passing_check_does_not_undo() {
    let mut state = start(|_| {});
    tell(&mut state, 1, "p/1", Verb::Disable);
    tell(&mut state, 2, "p/1", Verb::Health(true));
    assert_eq!(ended(&state), [row("p/1", 1, 0), row("p/2", 0, 0)]);
    assert_eq!(eligible(&state), ["p/2"]);
    tell(&mut state, 3, "p/1", Verb::Enable);
    assert_eq!(eligible(&state), ["p/1", "p/2"]);
}

#[test]
fn r4_a_backend_whose_address_changes_is_a_removal_and_an_addition() {
    let mut state = start(|s| s.draining_timeout = seconds(30));
    reload(&mut state, 1, |s| {
        s.draining_timeout = seconds(30);
        s.groups[0].backends[0].address = "10.9.9.9".parse().expect("an address");
    });
    let service = state.service("web").expect("known");
    let slots: std::collections::BTreeSet<_> = service.backends.iter().map(|b| b.slot).collect();
    assert_eq!(slots.len(), 3);
    let mut members = eligible(&state);
    members.sort_unstable();
    assert_eq!(members, ["p/1", "p/2"]);
    state.advance(seconds(31));
    assert_eq!(state.service("web").expect("known").backends.len(), 2);
}

#[test]
fn t10_a_failover_switch_without_draining_ends_every_entry_of_the_service_either_way() {
    let mut state = start(|s| s.failover = failover(false));
    let fail = |backend: &str, healthy| Change::Backend {
        service: "web".into(),
        backend: backend.into(),
        verb: Verb::Health(healthy),
    };
    state.apply(&[fail("p/1", false), fail("p/2", false)], seconds(1)).expect("known");
    assert_eq!(eligible(&state), ["f/1"]);
    assert_eq!(ended(&state), [row("p/1", 2, 1), row("p/2", 2, 1), row("f/1", 1, 1)]);
    tell(&mut state, 2, "p/1", Verb::Health(true));
    assert_eq!(ended(&state), [row("p/1", 3, 2), row("p/2", 3, 2), row("f/1", 2, 2)]);
}

#[test]
fn t10_with_draining_a_failover_switch_ends_nothing_more() {
    let mut state = start(|s| s.failover = failover(true));
    tell(&mut state, 1, "p/1", Verb::Health(false));
    tell(&mut state, 1, "p/2", Verb::Health(false));
    assert_eq!(eligible(&state), ["f/1"]);
    assert_eq!(ended(&state), [row("p/1", 1, 0), row("p/2", 1, 0), row("f/1", 0, 0)]);
}

#[test]
fn several_changes_together_are_decided_once() {
    let mut state = start(|s| s.failover = failover(false));
    let health = |healthy| Change::Backend {
        service: "web".into(),
        backend: "p/1".into(),
        verb: Verb::Health(healthy),
    };
    state.apply(&[health(false), health(true)], seconds(1)).expect("known");
    assert_eq!(ended(&state), [row("p/1", 0, 0), row("p/2", 0, 0), row("f/1", 0, 0)]);
}

#[test]
fn a_refused_change_leaves_everything_as_it_was() {
    let mut state = start(|_| {});
    let good =
        Change::Backend { service: "web".into(), backend: "p/1".into(), verb: Verb::Disable };
    let bad = Change::Backend { service: "web".into(), backend: "p/9".into(), verb: Verb::Disable };
    let refused = state.apply(&[good, bad], seconds(1)).expect_err("unknown");
    assert_eq!(refused.to_string(), "service \"web\" has no backend \"p/9\"; it has p/1, p/2");
    assert_eq!(ended(&state), [row("p/1", 0, 0), row("p/2", 0, 0)]);
    assert_eq!(eligible(&state).len(), 2);
}

#[test]
fn epochs_go_on_counting_across_their_wrap() {
    let mut state = start(|_| {});
    state.slots.start_at(SlotEpochs::starting_at(u32::MAX, u32::MAX));
    tell(&mut state, 1, "p/1", Verb::Health(false));
    assert_eq!(ended(&state), [row("p/1", 0, u32::MAX), row("p/2", u32::MAX, u32::MAX)]);
}

#[test]
fn r3_a_changed_tracking_key_is_remembered_for_one_idle_timeout() {
    use tables::{EarlierKeys, FieldSet, PacketClass};
    let before = |state: &State| {
        state.service("web").expect("known").plan.class(PacketClass::Tcp).track_before
    };
    let sessions = |affinity| {
        move |s: &mut model::Service| {
            s.tracking_mode = TrackingMode::PerSession;
            s.affinity = affinity;
        }
    };
    let mut state = start(|_| {});
    reload(&mut state, 100, sessions(Affinity::ClientIp));
    let five = EarlierKeys::NONE.with(FieldSet::FIVE_TUPLE, TICK.tick(seconds(700)));
    assert_eq!(before(&state), five);
    reload(&mut state, 200, sessions(Affinity::ClientIp));
    assert_eq!(before(&state), five);
    reload(&mut state, 300, sessions(Affinity::ClientIpProto));
    let two = five.with(FieldSet::TWO_TUPLE, TICK.tick(seconds(900)));
    assert_eq!(before(&state), two);
    reload(&mut state, 700, sessions(Affinity::ClientIpProto));
    assert_eq!(before(&state), two.lasting(FieldSet::THREE_TUPLE, TICK.tick(seconds(700))));
    reload(&mut state, 900, sessions(Affinity::ClientIpProto));
    assert_eq!(before(&state), EarlierKeys::NONE);
}

#[test]
fn a_service_taken_out_drains_and_then_is_gone() {
    let mut state = start(|s| s.draining_timeout = seconds(5));
    let mut empty = (*config(|_| {})).clone();
    empty.services.clear();
    state.apply(&[Change::Reload(Arc::new(empty))], seconds(1)).expect("fits");
    assert!(state.service("web").is_some());
    state.advance(seconds(6));
    assert!(state.service("web").is_none());
}

#[test]
fn t8_a_longer_timeout_remembers_what_the_shorter_one_has_ended() {
    let floor = |state: &State| state.service("web").expect("known").idle_floor;
    let idle = |n| move |s: &mut model::Service| s.idle_timeout = seconds(n);
    let mut state = start(idle(60));
    reload(&mut state, 30, idle(600));
    assert_eq!(floor(&state), None, "nothing can be 60 s old yet");
    reload(&mut state, 40, idle(60));
    reload(&mut state, 1000, idle(600));
    assert_eq!(floor(&state), Some(TICK.tick(seconds(940))));
    // In force is what is left of 60 s: 70 s back, and growing.
    reload(&mut state, 1010, idle(900));
    assert_eq!(floor(&state), Some(TICK.tick(seconds(940))));
    reload(&mut state, 1020, idle(10));
    assert_eq!(floor(&state), Some(TICK.tick(seconds(940))));
}
