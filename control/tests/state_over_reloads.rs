//! What the state keeps over reloads, and what it must not: namesakes, ids, keys, ticks.

use std::sync::Arc;
use std::time::Duration;

use control::config::{self, Environment};
use control::model::{Affinity, Config, Profile, Service, TrackingMode};
use control::state::{Backend, BackendOrders, Change, Clock, Refused, State, Verb};
use tables::{FieldSet, PacketClass, Tick};

const FILE: &str = r#"
[dataplane]
hash_seed = "000102030405060708090a0b0c0d0e0f"
[[port]]
name = "uplink"
device = "net_null0"
addresses = ["10.0.0.2/24"]
gateways = ["10.0.0.1"]
[[service]]
name = "web"
initial_health = "healthy"
connection_draining_timeout = "30s"
[[service.group]]
name = "g"
backends = [{ name = "1", address = "10.1.0.1" }, { name = "2", address = "10.1.0.2" }]
[[forwarding_rule]]
name = "web"
address = "192.0.2.10"
protocol = "TCP"
ports = [80]
service = "web"
"#;

const CLOCK: Clock = Clock { tick_length: Duration::from_millis(125) };

fn file(edit: impl FnOnce(&mut Service)) -> Config {
    let loaded = config::parse("windrose.toml", FILE, &Environment::default()).expect("valid");
    let mut config = loaded.config;
    edit(&mut config.services[0]);
    config
}

fn start(edit: impl FnOnce(&mut Service)) -> State {
    State::new(Arc::new(file(edit)), CLOCK, Duration::ZERO).expect("fits")
}

fn reload(state: &mut State, at: u64, config: Config) {
    state.apply(&[Change::Reload(Arc::new(config))], Duration::from_secs(at)).expect("fits");
}

fn tell(state: &mut State, at: u64, service: &str, verb: Verb) -> Result<(), Refused> {
    let (service, backend) = (service.to_owned(), "g/1".to_owned());
    state.apply(&[Change::Backend { service, backend, verb }], Duration::from_secs(at))
}

fn moved(to: &str) -> Config {
    file(|s| s.groups[0].backends[0].address = to.parse().expect("an address"))
}

/// The first backend of the file, whatever still drains under its name.
fn first(state: &State) -> &Backend {
    let of_file = |b: &&Backend| &*b.path == "g/1" && !b.is_removed();
    state.service("web").expect("known").backends.iter().find(of_file).expect("in the file")
}

#[test]
fn a_verdict_is_for_the_backend_of_the_file_and_not_for_a_draining_namesake() {
    let mut state = start(|_| {});
    reload(&mut state, 1, moved("10.9.0.1"));
    tell(&mut state, 2, "web", Verb::Health(false)).expect("known");
    assert!(!first(&state).is_healthy());
    // Back at the first address, the second one's entry is the younger of the two.
    reload(&mut state, 3, moved("10.1.0.1"));
    assert!(first(&state).is_healthy());
    tell(&mut state, 4, "web", Verb::Health(false)).expect("known");
    assert!(!first(&state).is_healthy());
}

#[test]
fn r4_backends_that_swap_their_addresses_are_new_ones_beside_the_old_until_they_swap_back() {
    let slots = |state: &State| {
        let all = &state.service("web").expect("known").backends;
        let of_file = all.iter().filter(|b| !b.is_removed());
        let slots: Vec<_> = of_file.map(|b| (b.path.to_string(), b.address, b.slot)).collect();
        (all.len(), slots)
    };
    let mut state = start(|_| {});
    let before = slots(&state);
    let swapped = file(|s| {
        let [one, two] = &mut s.groups[0].backends[..] else { panic!("two") };
        std::mem::swap(&mut one.address, &mut two.address);
    });
    reload(&mut state, 1, swapped);
    let (count, between) = slots(&state);
    assert_eq!((before.0, count, between.len()), (2, 4, 2), "the old ones drain");
    for (_, _, slot) in &between {
        assert!(before.1.iter().all(|(_, _, old)| old != slot), "{between:?}");
    }
    reload(&mut state, 2, file(|_| {}));
    let mut after = slots(&state).1;
    after.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(after, before.1, "and their connections were never anybody else's (T-15)");
}

#[test]
fn w3_a_static_weight_of_a_new_file_counts_at_once_whatever_the_health_and_zero_is_zero() {
    let weighs = |weight| {
        file(move |s| {
            s.weighted = true;
            s.groups[0].backends[0].weight = Some(weight);
        })
    };
    let mut state = start(|s| s.weighted = true);
    for (at, weight, healthy) in [(1, 3, true), (2, 0, true), (3, 9, false), (4, 0, false)] {
        tell(&mut state, at, "web", Verb::Health(healthy)).expect("known");
        reload(&mut state, at, weighs(weight));
        assert_eq!((first(&state).weight(), first(&state).is_healthy()), (weight, healthy));
        let service = state.service("web").expect("known");
        let serves = healthy && weight > 0;
        assert_eq!(service.eligible().members.len(), 1 + usize::from(serves), "{weight} {healthy}");
    }
}

#[test]
fn a_backend_that_only_drains_can_still_be_named() {
    let mut state = start(|_| {});
    reload(&mut state, 1, file(|s| drop(s.groups[0].backends.remove(0))));
    tell(&mut state, 2, "web", Verb::Health(false)).expect("known");
    assert!(state.service("web").expect("known").backends[0].is_healthy());
}

#[test]
fn a_service_that_only_drains_takes_no_orders() {
    let mut state = start(|_| {});
    let mut empty = file(|_| {});
    empty.services.clear();
    reload(&mut state, 1, empty);
    let refused = Err(Refused::NoService("web".to_owned()));
    assert_eq!(tell(&mut state, 2, "web", Verb::Drain), refused);
    reload(&mut state, 3, file(|_| {}));
    assert_eq!(tell(&mut state, 4, "web", Verb::Drain), Ok(()));
}

#[test]
fn t18_orders_stand_until_they_are_undone_and_a_weight_of_a_check_goes_before_the_default() {
    let mut state = start(|_| {});
    let seen = |state: &State| {
        let backend = &state.service("web").expect("known").backends[0];
        let BackendOrders { drained, disabled } = backend.orders();
        ((drained, disabled), backend.weight())
    };
    assert_eq!(seen(&state), ((false, false), 1));
    for (verb, orders) in [
        (Verb::Weight(7), (false, false)),
        (Verb::Disable, (false, true)),
        (Verb::Drain, (true, true)),
        (Verb::Enable, (false, false)),
        (Verb::Drain, (true, false)),
    ] {
        tell(&mut state, 1, "web", verb).expect("known");
        assert_eq!(seen(&state), (orders, 7), "{verb:?}");
    }
}

#[test]
fn r3_what_is_not_tracked_any_more_has_no_former_key() {
    let before = |state: &State| {
        let plan = &state.service("web").expect("known").plan;
        plan.class(PacketClass::Udp).track_before.at(Tick(0)).next()
    };
    let mut state = start(|s| {
        s.tracking_mode = TrackingMode::PerSession;
        s.affinity = Affinity::ClientIp;
    });
    reload(&mut state, 1, file(|_| {}));
    assert_eq!(before(&state), Some(FieldSet::TWO_TUPLE));
    reload(&mut state, 2, file(|s| s.profile = Profile::GcpExternal));
    assert_eq!(before(&state), None);
}

#[test]
fn t8_each_longer_idle_timeout_moves_the_floor_on_to_where_the_shorter_one_had_got() {
    let idle = |n| file(|s| s.idle_timeout = Duration::from_secs(n));
    let floor = |state: &State| state.service("web").expect("known").idle_floor;
    let tick = |n| Some(CLOCK.tick(Duration::from_secs(n)));
    let mut state = start(|s| s.idle_timeout = Duration::from_secs(60));
    reload(&mut state, 1000, idle(600));
    assert_eq!(floor(&state), tick(940));
    reload(&mut state, 1700, idle(900));
    assert_eq!(floor(&state), tick(1100));
}

#[test]
fn a_span_is_rounded_up_to_at_least_one_tick_and_an_endless_one_is_the_longest_age() {
    let ticks = |span| CLOCK.ticks(span);
    assert_eq!(ticks(Duration::ZERO), 1);
    assert_eq!(ticks(Duration::from_millis(125)), 1);
    assert_eq!(ticks(Duration::from_millis(126)), 2);
    assert_eq!(ticks(Duration::from_secs(600)), 4800);
    assert_eq!(ticks(Duration::from_secs(u64::from(u32::MAX))), u32::MAX >> 2);
}
