//! What a program that reads the log finds: each change is one JSON event with the names that
//! docs/service.md gives.

use rustix::process::Signal;
use serde_json::{Value, json};
use testbed::Result;
use testbed::appliance::Appliance;
use testbed::config::Config;
use testbed::topology::{Arms, Topology};

/// Checks that are quick to see a change, and servers that say their weights.
fn checked(config: &Config) -> String {
    let service = "initial_health = \"healthy\"\nlocality_lb_policy = \"WEIGHTED_MAGLEV\"\n\
                   health_check = { protocol = \"HTTP\", port = 80, request_path = \"/healthz\", \
                   interval = \"200ms\", timeout = \"200ms\", healthy_threshold = 1, \
                   unhealthy_threshold = 1 }";
    config.to_string().replace("initial_health = \"healthy\"", service)
}

/// The first event with this message in which all of these stand; there must be one.
fn event<'l>(lines: &'l [Value], message: &str, names: &Value) -> &'l Value {
    let has = |line: &&Value| {
        let names = names.as_object().into_iter().flatten();
        line["message"] == message && names.into_iter().all(|(name, value)| line[name] == *value)
    };
    lines.iter().find(has).unwrap_or_else(|| panic!("no `{message}` with {names}: {lines:#?}"))
}

#[test]
fn health_weights_pools_orders_and_links_are_events_with_names_to_search_for() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let mut appliance =
        Appliance::start_unseen(&topology, &checked(&Config::new(&topology)), "", "")?;
    appliance.wait_for_log("\"message\":\"running\"")?;
    appliance.wait_for_line(0, &["health changed", "web-v4", "rack/b1", "\"to\":\"healthy\""])?;

    topology.backends[1].set_weight(Some(4))?;
    appliance.wait_for_line(0, &["weight changed", "web-v4", "rack/b2"])?;
    topology.backends[0].set_healthy(false)?;
    appliance.wait_for_line(0, &["health changed", "web-v4", "\"to\":\"unhealthy\""])?;
    appliance.tell(&["backend", "drain", "web-v4", "rack/b3"])?;
    appliance.tell(&["service", "drain", "web-v6"])?;
    topology.appliance.ip("link set lb1 down")?;
    appliance.wait_for_line(0, &["link is down", "\"from\":\"up\""])?;
    let log = appliance.log();
    appliance.stop(Signal::TERM)?;

    let lines: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")))
        .collect();
    let unhealthy = json!({"service": "web-v4", "backend": "rack/b1", "from": "healthy",
                           "to": "unhealthy", "level": "WARN"});
    let unhealthy = event(&lines, "health changed", &unhealthy);
    assert!(unhealthy["reason"].as_str().is_some_and(|r| r.contains("503")), "{unhealthy}");
    assert!(unhealthy["address"].is_string(), "{unhealthy}");
    let weight = json!({"service": "web-v4", "backend": "rack/b2", "from": 1, "to": 4});
    let weight = event(&lines, "weight changed", &weight);
    assert!(weight["reason"].is_string() && weight["generation"].is_u64(), "{weight}");
    let drained = json!({"service": "web-v4", "backend": "rack/b3", "to": "drained"});
    event(&lines, "operator's order", &drained);
    let pool = json!({"service": "web-v6", "from": "primary", "to": "none", "level": "WARN"});
    event(&lines, "pool changed", &pool);
    let link = json!({"from": "up", "to": "down", "level": "WARN"});
    let link = event(&lines, "link is down: nothing arrives", &link);
    assert!(link["port"].is_string() && link["device"].is_string(), "{link}");
    Ok(())
}
