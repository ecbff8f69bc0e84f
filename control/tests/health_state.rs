//! What checks do to the state, and what is asked because of it.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use control::config::{self, Environment};
use control::health::{At, Wanted, wanted};
use control::model::{CheckTarget, Config};
use control::state::{Change, Clock, Finding, State, Verb, Who};

const FILE: &str = r#"
[dataplane]
hash_seed = "000102030405060708090a0b0c0d0e0f"
[[port]]
name = "uplink"
device = "net_null0"
host_interface = "wr0"
addresses = ["10.0.0.2/24"]
gateways = ["10.0.0.1"]
[[service]]
name = "web"
health_check = { protocol = "HTTP", port = 80 }
[[service.group]]
name = "g"
backends = [{ name = "1", address = "10.1.0.1" }, { name = "2", address = "10.1.0.2" }]
[[forwarding_rule]]
name = "web"
address = "192.0.2.10"
protocol = "TCP"
ports = [80]
service = "web"
[[forwarding_rule]]
name = "web2"
address = "192.0.2.11"
protocol = "TCP"
ports = [80]
service = "web"
"#;

const CLOCK: Clock = Clock { tick_length: Duration::from_millis(125) };

fn parse(text: &str) -> Config {
    config::parse("windrose.toml", text, &Environment::default()).expect("valid").config
}

fn file(edit: impl FnOnce(&mut Config)) -> Arc<Config> {
    let mut config = parse(FILE);
    edit(&mut config);
    Arc::new(config)
}

fn add_third(config: &mut Config) {
    let mut third = config.services[0].groups[0].backends[0].clone();
    (third.name, third.address) = ("3".into(), IpAddr::from([10, 1, 0, 3]));
    config.services[0].groups[0].backends.push(third);
}

fn who(backend: &str, address: [u8; 4]) -> Who {
    Who { service: "web".into(), backend: backend.into(), address: address.into() }
}

fn found(backend: &str, address: [u8; 4], healthy: bool) -> Change {
    Change::Checked { who: who(backend, address), finding: Finding::Health(healthy) }
}

fn apply(state: &mut State, changes: &[Change]) {
    state.apply(changes, Duration::ZERO).expect("fits");
}

/// The eligible backends.
fn eligible(state: &State) -> Vec<String> {
    let service = state.service("web").expect("there");
    let current = service.current();
    service.eligible().members.iter().map(|i| current[*i].path.to_string()).collect()
}

fn asked(state: &State) -> Vec<(String, IpAddr)> {
    let asked = wanted(state).into_iter();
    asked.map(|w: Wanted| (w.who.backend.to_string(), w.who.address)).collect()
}

#[test]
fn r2_at_the_start_nobody_serves_before_its_first_result_or_the_end_of_the_wait() {
    let mut state = State::awaiting(file(|_| {}), CLOCK, Duration::ZERO).expect("fits");
    assert!(state.is_awaiting() && eligible(&state).is_empty());
    assert_eq!(asked(&state).len(), 2);
    apply(&mut state, &[found("g/1", [10, 1, 0, 1], false)]);
    assert!(state.is_awaiting() && eligible(&state).is_empty());
    apply(&mut state, &[found("g/2", [10, 1, 0, 2], true)]);
    assert!(!state.is_awaiting() && eligible(&state).is_empty());
    apply(&mut state, &[Change::Release]);
    assert_eq!(eligible(&state), ["g/2"]);
}

#[test]
fn r2_what_is_not_checked_is_not_waited_for() {
    for edit in [
        (|c| c.services[0].health_check = None) as fn(&mut Config),
        // No rule leads to it: there is nothing to ask for.
        |c| c.rules.clear(),
    ] {
        let state = State::awaiting(file(edit), CLOCK, Duration::ZERO).expect("fits");
        assert!(!state.is_awaiting() && asked(&state).is_empty());
        assert_eq!(eligible(&state).len(), 2, "last resort: E-1");
    }
}

#[test]
fn r2_an_announced_backend_is_checked_and_serves_from_the_reload_on() {
    let mut state = State::new(file(|_| {}), CLOCK, Duration::ZERO).expect("fits");
    apply(&mut state, &[found("g/1", [10, 1, 0, 1], true)]);
    let next = file(|config| {
        add_third(config);
        config.services[0].groups[0].backends.remove(0);
    });
    apply(&mut state, &[Change::Announce(Arc::clone(&next))]);
    assert_eq!(eligible(&state), ["g/1"], "the old file is in force");
    assert_eq!(asked(&state).len(), 3);
    assert!(state.is_awaiting());
    apply(&mut state, &[found("g/3", [10, 1, 0, 3], true)]);
    assert!(!state.is_awaiting());
    assert_eq!(eligible(&state), ["g/1"]);
    apply(&mut state, &[Change::Reload(next)]);
    assert_eq!(eligible(&state), ["g/3"]);
    assert_eq!(asked(&state).len(), 2);
}

#[test]
fn an_announcement_that_another_takes_the_place_of_leaves_nothing() {
    let mut state = State::new(file(|_| {}), CLOCK, Duration::ZERO).expect("fits");
    let before = state.epochs().len();
    apply(&mut state, &[Change::Announce(file(add_third))]);
    apply(&mut state, &[Change::Announce(file(|_| {}))]);
    assert!(!state.is_awaiting());
    assert_eq!(asked(&state).len(), 2);
    // Its slot is free again.
    apply(&mut state, &[Change::Announce(file(add_third))]);
    assert_eq!(state.epochs().len(), before + 1);
    apply(&mut state, &[Change::Announce(file(add_third))]);
    assert!(state.is_awaiting(), "still waited for");
}

#[test]
fn a_whole_new_service_is_checked_by_its_own_rules_and_check_before_it_is_in_force() {
    let next = parse(&FILE.replace("\"web\"", "\"shop\"").replace("port = 80 }", "port = 81 }"));
    let mut state = State::new(file(|_| {}), CLOCK, Duration::ZERO).expect("fits");
    apply(&mut state, &[Change::Announce(Arc::new(next))]);
    let of_shop: Vec<_> =
        wanted(&state).into_iter().filter(|w| &*w.who.service == "shop").collect();
    assert_eq!(of_shop.len(), 2);
    assert!(of_shop.iter().all(|w| w.question.port == 81));
    assert!(state.service("shop").is_some_and(|s| !s.is_in_file()));
}

#[test]
fn w8_a_vip_check_asks_every_vip_and_an_address_check_the_backend() {
    let state = State::new(file(|_| {}), CLOCK, Duration::ZERO).expect("fits");
    let all = wanted(&state);
    let vips = [IpAddr::from([192, 0, 2, 10]), IpAddr::from([192, 0, 2, 11])];
    assert_eq!(all[0].question.addresses(), vips);
    assert_ne!(all[0].slot, all[1].slot);
    let address = file(|config| {
        let check = config.services[0].health_check.as_mut().expect("a check");
        check.target = CheckTarget::Address;
    });
    let state = State::new(address, CLOCK, Duration::ZERO).expect("fits");
    assert_eq!(wanted(&state)[0].question.at, At::Address(IpAddr::from([10, 1, 0, 1])));
}

#[test]
fn t13_t15_a_drained_backend_is_not_asked_and_comes_back_with_the_health_it_left_with() {
    let mut state = State::new(file(|_| {}), CLOCK, Duration::ZERO).expect("fits");
    apply(&mut state, &[found("g/1", [10, 1, 0, 1], true)]);
    let tell = |verb| Change::Backend { service: "web".into(), backend: "g/1".into(), verb };
    apply(&mut state, &[tell(Verb::Drain)]);
    assert_eq!(asked(&state), [("g/2".to_owned(), IpAddr::from([10, 1, 0, 2]))]);
    // A probe that was on its way.
    apply(&mut state, &[found("g/1", [10, 1, 0, 1], false)]);
    apply(&mut state, &[tell(Verb::Enable)]);
    assert_eq!(eligible(&state), ["g/1"]);
    assert!(wanted(&state)[0].healthy);
}

#[test]
fn what_is_found_out_about_a_backend_that_is_gone_changes_nothing() {
    let mut state = State::new(file(|_| {}), CLOCK, Duration::ZERO).expect("fits");
    for address in [[10, 9, 9, 9], [10, 1, 0, 2]] {
        apply(&mut state, &[found("g/1", address, true)]);
        assert_eq!(eligible(&state), ["g/1", "g/2"], "last resort");
    }
}

#[test]
fn w7_without_a_check_backends_keep_initial_health() {
    let mut state = State::new(file(|_| {}), CLOCK, Duration::ZERO).expect("fits");
    apply(&mut state, &[found("g/1", [10, 1, 0, 1], false)]);
    let unchecked = file(|config| {
        config.services[0].health_check = None;
        config.services[0].initially_healthy = true;
    });
    apply(&mut state, &[Change::Reload(unchecked)]);
    assert_eq!(eligible(&state), ["g/1", "g/2"]);
    assert!(asked(&state).is_empty());
}
