//! Changes, and what is said of each.

// The program's tests have it too, which is another crate.
#[path = "../bin/windrose/logging/golden.rs"]
mod golden;

use std::time::Duration;

use super::*;
use crate::config::{self, Environment};
use crate::state::{Change, Clock, Verb};
use golden::lines;

const FILE: &str = r#"
[encapsulation]
source = ["10.0.0.2"]
[[service]]
name = "web"
initial_health = "healthy"
connection_draining_timeout = "60s"
[[service.group]]
name = "p"
backends = [{ name = "1", address = "10.1.0.1" }, { name = "2", address = "10.1.0.2" }]
[[service.group]]
name = "f"
role = "failover"
backends = [{ name = "1", address = "10.2.0.1" }]
"#;

fn state() -> State {
    let loaded = config::parse("windrose.toml", FILE, &Environment::default()).expect("valid");
    let clock = Clock { tick_length: Duration::from_millis(125) };
    State::new(Arc::new(loaded.config), clock, Duration::ZERO).expect("fits")
}

fn tell(backend: &str, verb: Verb) -> Change {
    Change::Backend { service: "web".into(), backend: backend.into(), verb }
}

/// Without a word in front of each but what is needed to tell them apart.
fn words(news: &[News]) -> Vec<String> {
    let list = |names: &[Arc<str>]| log::names(names);
    let one = |news: &News| match news {
        News::Order { backend, from, to, .. } => {
            format!("{backend}: {} -> {}", from.name(), to.name())
        }
        News::Eligible { from, to, joined, left, .. } => {
            format!("{from} -> {to} +[{}] -[{}]", list(joined), list(left))
        }
        News::Pool { from, to, .. } => format!("pool {from:?} -> {to:?}"),
        News::LastResort { begins, .. } => format!("last resort: {begins}"),
        News::Weight { backend, from, to, by_header, .. } => {
            format!("{backend}: {from} -> {to}{}", if *by_header { " by its header" } else { "" })
        }
        News::Drained { backend, .. } => format!("{backend}: drained"),
    };
    news.iter().map(one).collect()
}

#[test]
fn every_change_of_the_set_is_said_once_with_names_and_numbers() {
    let mut state = state();
    assert_eq!(words(&first(&state)), ["0 -> 2 +[p/1, p/2] -[]", "pool None -> Some(Primary)"]);
    let cases: [(&str, Verb, u64, &[&str]); 9] = [
        ("p/1", Verb::Health(true), 1, &[]),
        ("p/1", Verb::Health(false), 2, &["2 -> 1 +[] -[p/1]"]),
        ("p/1", Verb::Health(false), 3, &[]),
        (
            "p/2",
            Verb::Disable,
            4,
            &[
                "p/2: enabled -> disabled",
                "1 -> 1 +[f/1] -[p/2]",
                "pool Some(Primary) -> Some(Failover)",
            ],
        ),
        (
            "f/1",
            Verb::Health(false),
            5,
            &[
                "1 -> 2 +[p/1, p/2] -[f/1]",
                "pool Some(Failover) -> Some(Primary)",
                "last resort: true",
            ],
        ),
        (
            "p/2",
            Verb::Enable,
            6,
            &["p/2: disabled -> enabled", "2 -> 1 +[] -[p/1]", "last resort: false"],
        ),
        ("p/1", Verb::Drain, 7, &["p/1: enabled -> drained"]),
        ("p/1", Verb::Weight(3), 66, &[]),
        ("p/1", Verb::Weight(4), 67, &["p/1: drained"]),
    ];
    for (backend, verb, at, expected) in cases {
        let next = state.after(&[tell(backend, verb)], Duration::from_secs(at)).expect("known");
        assert_eq!(words(&between(&state, &next)), expected, "{backend} {verb:?}");
        assert_eq!(words(&between(&next, &next)), [""; 0]);
        state = next;
    }
}

#[test]
fn a_backend_that_leaves_the_file_is_told_apart_from_those_behind_it() {
    let before = state();
    let text = FILE.replace("{ name = \"1\", address = \"10.1.0.1\" }, ", "");
    let file = config::parse("windrose.toml", &text, &Environment::default()).expect("valid");
    let reload = Change::Reload(Arc::new(file.config));
    let without = before.after(&[reload], Duration::from_secs(1)).expect("fits");
    assert_eq!(words(&between(&before, &without)), ["2 -> 1 +[] -[p/1]"]);
    let drained = without.after(&[tell("p/2", Verb::Disable)], Duration::from_secs(61));
    let expected = [
        "p/1: drained",
        "p/2: enabled -> disabled",
        "1 -> 1 +[f/1] -[p/2]",
        "pool Some(Primary) -> Some(Failover)",
    ];
    assert_eq!(words(&between(&without, &drained.expect("known"))), expected);
}

#[test]
fn a_weight_is_said_with_what_it_was_and_who_says_so_and_only_where_weights_count() {
    let weighted = FILE
        .replace("name = \"web\"", "name = \"web\"\nlocality_lb_policy = \"WEIGHTED_MAGLEV\"")
        .replace("address = \"10.1.0.1\" }", "address = \"10.1.0.1\", weight = 4 }");
    let load = |text: &str| {
        let file = config::parse("windrose.toml", text, &Environment::default()).expect("valid");
        Arc::new(file.config)
    };
    let clock = Clock { tick_length: Duration::from_millis(125) };
    let before = State::new(load(&weighted), clock, Duration::ZERO).expect("fits");
    let at = Duration::from_secs(1);
    let file = Change::Reload(load(&weighted.replace("weight = 4", "weight = 6")));
    let by_file = before.after(&[file], at).expect("fits");
    assert_eq!(words(&between(&before, &by_file)), ["p/1: 4 -> 6"]);
    let header = tell("p/1", Verb::Weight(0));
    let by_header =
        by_file.after(&[header.clone(), tell("f/1", Verb::Weight(1))], at).expect("known");
    let expected = ["p/1: 6 -> 0 by its header", "2 -> 1 +[] -[p/1]"];
    assert_eq!(words(&between(&by_file, &by_header)), expected);
    let unweighted = state();
    let after = unweighted.after(&[header], at).expect("known");
    assert_eq!(words(&between(&unweighted, &after)), [""; 0]);
}

#[test]
fn every_event_names_what_it_is_about_and_says_from_what_to_what() {
    let service: Arc<str> = "web".into();
    let backend: Arc<str> = "rack-a/a1".into();
    let name = || (Arc::clone(&service), Arc::clone(&backend));
    let pool = |from, to| News::Pool { service: Arc::clone(&service), from, to };
    let news = [
        {
            let (service, backend) = name();
            News::Order { service, backend, from: Order::Enabled, to: Order::Drained }
        },
        {
            let (service, backend) = name();
            News::Weight { service, backend, from: 4, to: 0, by_header: true }
        },
        {
            let (service, joined) = name();
            let (joined, left) = (vec![joined], vec!["rack-a/a2".into(), "rack-b/b1".into()]);
            News::Eligible { service, from: 3, to: 2, joined, left }
        },
        pool(Some(Role::Failover), Some(Role::Primary)),
        pool(Some(Role::Primary), Some(Role::Failover)),
        pool(Some(Role::Primary), None),
        News::LastResort { service: Arc::clone(&service), begins: true },
        News::LastResort { service: Arc::clone(&service), begins: false },
        {
            let (service, backend) = name();
            News::Drained { service, backend }
        },
    ];
    let expected = "
 INFO operator's order service=web backend=rack-a/a1 from=\"enabled\" to=\"drained\" generation=7
 INFO weight changed service=web backend=rack-a/a1 from=4 to=0 reason=\"the header of the check's answer (W-1)\" generation=7
 INFO eligible set changed service=web from=3 to=2 joined=\"rack-a/a1\" left=\"rack-a/a2, rack-b/b1\" generation=7
 INFO pool changed service=\"web\" from=\"failover\" to=\"primary\" generation=7
 WARN pool changed service=\"web\" from=\"primary\" to=\"failover\" generation=7
 WARN pool changed service=\"web\" from=\"primary\" to=\"none\" reason=\"no eligible backend: new connections are dropped\" generation=7
 WARN last resort serves service=web from=\"those that should serve\" to=\"last resort\" reason=\"no backend that should serve can\" generation=7
 INFO last resort is over service=web from=\"last resort\" to=\"those that should serve\" generation=7
 INFO drained: its connections have ended service=web backend=rack-a/a1 generation=7
";
    assert_eq!(lines(|| log(&news, 7)), expected.trim_start_matches('\n'));
}

#[test]
fn a_rack_that_goes_is_named_by_its_first_backends() {
    let names: Vec<Arc<str>> = (1..=500).map(|n| format!("r/{n}").into()).collect();
    let expected = "r/1, r/2, r/3, r/4, r/5, r/6, r/7, r/8 and 492 more";
    assert_eq!(log::names(&names), expected);
}

#[test]
fn a_service_that_starts_is_spoken_of_once_when_it_is_decided_who_serves() {
    let check =
        "name = \"web\"\nhealth_check = { protocol = \"TCP\", port = 80, target = \"address\" }";
    let text = FILE.replace("name = \"web\"", check).replace("initial_health = \"healthy\"", "");
    let loaded = config::parse("windrose.toml", &text, &Environment::default()).expect("valid");
    let clock = Clock { tick_length: Duration::from_millis(125) };
    for (passes, expected) in [
        (true, &["0 -> 1 +[p/1] -[]", "pool None -> Some(Primary)"][..]),
        (false, &["0 -> 2 +[p/1, p/2] -[]", "pool None -> Some(Primary)", "last resort: true"]),
    ] {
        let config = Arc::new(loaded.config.clone());
        let start = State::awaiting(config, clock, Duration::ZERO).expect("fits");
        assert_eq!(words(&first(&start)), [""; 0]);
        let heard = start.after(&[tell("p/1", Verb::Health(passes))], Duration::from_secs(1));
        let heard = heard.expect("known");
        assert_eq!(words(&between(&start, &heard)), [""; 0]);
        let serves = heard.after(&[Change::Release], Duration::from_secs(1)).expect("known");
        assert_eq!(words(&between(&heard, &serves)), expected, "{passes}");
    }
}
