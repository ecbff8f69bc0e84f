//! The conformance vectors that are about the configuration: every case is written as TOML and
//! loaded.

mod common;

use common::vectors::cases;
use control::config::{self, Environment};
use serde_json::Value;

/// A service with what the case's `config` sets, and with `groups`.
fn toml(config: &Value, groups: &str) -> String {
    let mut service = vec!["[[service]]".to_owned(), "name = \"s\"".into()];
    let profile = match config["scheme"].as_str() {
        Some("proxy") => "gcp-proxy".into(),
        Some("azure") => "azure".into(),
        Some(scheme) => format!("gcp-{scheme}"),
        None => panic!("no scheme in {config}"),
    };
    service.push(format!("profile = \"{profile}\""));
    let text = [
        ("affinity", "session_affinity"),
        ("mode", "tracking_mode"),
        ("persistence", "connection_persistence_on_unhealthy_backends"),
    ];
    for (name, key) in text {
        service.extend(config[name].as_str().map(|value| format!("{key} = {value:?}")));
    }
    service.extend(config["idle_timeout"].as_i64().map(|s| format!("idle_timeout = \"{s}s\"")));
    if let Some(policy) = config["failover_policy"].as_object() {
        service.push("[service.failover_policy]".into());
        service.push(format!("failover_ratio = {}", policy["ratio"]));
    }
    format!("{}\n{groups}", service.join("\n"))
}

/// A group of one backend.
fn group(role: &str, number: usize) -> String {
    let third = if role == "primary" { 1 } else { 2 };
    format!(
        "[[service.group]]\nname = \"{role}-{number}\"\nrole = \"{role}\"\n\
         backends = [{{ name = \"b\", address = \"10.0.{third}.{}\" }}]\n",
        number + 1
    )
}

/// The groups that a case describes: by backends, by numbers, or not at all.
fn groups(input: &Value) -> String {
    let config = &input["config"];
    let numbers = |role: &str| config["groups"][role].as_u64().unwrap_or(0) as usize;
    let backends = input["backends"].as_array();
    let roles: Vec<&str> = match backends {
        Some(backends) => backends.iter().filter_map(|b| b["role"].as_str()).collect(),
        None if config["groups"].is_object() => {
            let roles = ["primary", "failover"];
            roles.iter().flat_map(|role| vec![*role; numbers(role)]).collect()
        }
        None => vec!["primary"],
    };
    roles.iter().enumerate().map(|(i, role)| group(role, i)).collect()
}

/// What an error of the vectors' vocabulary looks like in ours.
fn sign(error: &str) -> &'static str {
    match error {
        "always-persist-with-per-session" => "does not allow it with tracking_mode",
        "affinity-not-supported" => "does not have this affinity",
        "failover-ratio-out-of-range" => "not within 0.0 to 1.0",
        "too-many-groups" => "more than 50",
        "failover-needs-primary-and-failover-group" => "group",
        other => panic!("the test does not know the error {other}"),
    }
}

#[test]
fn every_configuration_of_the_vectors_is_allowed_or_refused_as_they_say() {
    let cases = cases("config.json");
    assert!(!cases.is_empty());
    for case in cases {
        let text = toml(&case["input"]["config"], &groups(&case["input"]));
        let loaded = config::parse("case.toml", &text, &Environment::default());
        let expected = case["expect"]["errors"].as_array().expect("a list");
        match loaded {
            Ok(_) => assert_eq!(case["expect"]["ok"], true, "{}\n{text}", case["id"]),
            Err(errors) => {
                assert_eq!(errors.errors(), expected.len(), "{}\n{text}\n{errors}", case["id"]);
                for error in expected {
                    let shown = errors.to_string();
                    let sign = sign(error.as_str().expect("text"));
                    assert!(shown.contains(sign), "{} {sign}\n{shown}", case["id"]);
                }
            }
        }
    }
}

/// The idle timeout in force, or `None` where the file is refused. (T-8)
fn idle(input: &Value, seconds: Option<i64>) -> Option<u64> {
    let mut config = input.clone();
    config["idle_timeout"] = seconds.into();
    let text = toml(&config, &group("primary", 0));
    let loaded = config::parse("case.toml", &text, &Environment::default()).ok()?;
    Some(loaded.config.services[0].idle_timeout.as_secs())
}

#[test]
fn idle_timeouts_are_accepted_and_in_force_as_the_vectors_say() {
    let mut ran = 0;
    for case in cases("timeouts.json") {
        let (input, expect) = (&case["input"], &case["expect"]);
        let id = &case["id"];
        match case["kind"].as_str() {
            Some("set") => {
                let effective = idle(input, input["idle_timeout"].as_i64());
                assert_eq!(effective.is_some(), expect["accepted"] == true, "{id}");
                assert_eq!(effective, expect["effective"].as_u64(), "{id}");
            }
            Some("rule") => rule(id, input, expect),
            Some("expiry") => continue,
            other => panic!("{id}: kind {other:?}"),
        }
        ran += 1;
    }
    assert!(ran > 0);
}

/// Default, both bounds, and one second beyond each.
fn rule(id: &Value, input: &Value, expect: &Value) {
    let number = |key: &str| expect[key].as_i64().expect("a number");
    let (min, max) = (number("min"), number("max"));
    assert_eq!(idle(input, None), expect["default"].as_u64(), "{id}");
    let inside = expect["configurable"] == true;
    assert_eq!(idle(input, Some(min)).is_some(), inside, "{id}");
    assert_eq!(idle(input, Some(max)).is_some(), inside, "{id}");
    assert_eq!(idle(input, Some(min - 1)), None, "{id}");
    assert_eq!(idle(input, Some(max + 1)), None, "{id}");
}
