//! A script → events → what they come to.

use std::path::Path;

use control::config::{self, Environment};
use control::simulate::{Scenario, Simulator};
use serde_json::Value;

use crate::desk::WorkerDesk;

/// Two primaries and one failover backend, unhealthy until a script says otherwise.
fn file(settings: &str) -> String {
    let (keys, tables) = match settings.find("[service.") {
        Some(at) => settings.split_at(at),
        None => (settings, ""),
    };
    let check = if keys.contains("WEIGHTED") {
        "[service.health_check]\nprotocol = \"HTTP\"\nport = 80\n"
    } else {
        ""
    };
    let failover = if keys.contains("azure") {
        ""
    } else {
        "[[service.group]]\nname = \"f\"\nrole = \"failover\"\n\
         backends = [ { name = \"1\", address = \"10.2.0.1\" } ]\n"
    };
    format!(
        "[[service]]\nname = \"s\"\nmaglev_table_size = 251\n{keys}\n{check}{tables}\n\
         [[service.group]]\nname = \"p\"\nbackends = [ {{ name = \"1\", address = \"10.1.0.1\" }}, \
         {{ name = \"2\", address = \"10.1.0.2\" }} ]\n{failover}\
         [[forwarding_rule]]\nname = \"r\"\naddress = \"203.0.113.10\"\n\
         protocol = \"L3_DEFAULT\"\nports = \"ALL\"\nservice = \"s\"\n"
    )
}

/// Runs a script; each line that expects something gets it.
#[track_caller]
pub(crate) fn play(settings: &str, script: &str) {
    let text = file(settings);
    let loaded = config::parse("script", &text, &Environment::default());
    let config = loaded.unwrap_or_else(|errors| panic!("{errors}\n{text}")).config;
    let desk = WorkerDesk::new(&config, 100).expect("memory");
    let mut simulator = Simulator::new(config, desk).unwrap_or_else(|e| panic!("{e}"));
    let mut first = None;
    for line in script.lines().map(str::trim) {
        let (event, expected) = line.split_once("=>").unwrap_or((line, ""));
        let scenario = Scenario::parse(line, &toml(event)).unwrap_or_else(|e| panic!("{e}"));
        let none = |_: &Path| Err("no other file".into());
        let result = simulator.run(&scenario.events[0], &none).unwrap_or_else(|e| panic!("{e}"));
        let result = serde_json::to_value(result).expect("JSON");
        first = first.or_else(|| result["backend"].as_str().map(str::to_owned));
        let expected = expected.trim().replace('@', first.as_deref().unwrap_or("@"));
        assert!(expected.is_empty() || expected == told(&result), "{settings}\n{line}\n{result}");
    }
}

/// A result in a few words.
fn told(result: &Value) -> String {
    if result["verdict"].is_null() {
        return format!("removed {}", result["entries_removed"]);
    }
    let word = |key: &str| result[key].as_str().unwrap_or("-");
    format!("{} {} {} {}", word("verdict"), word("why"), word("entry"), word("backend"))
}

fn toml(event: &str) -> String {
    let words: Vec<_> = event.split_whitespace().collect();
    let milliseconds = (words[0].parse::<f64>().expect("seconds") * 1000.0).round();
    let who = |backend| format!("service = \"s\", backend = \"{backend}\"");
    let body = match words[1..] {
        ["up", backend] => format!("health = {{ {}, healthy = true }}", who(backend)),
        ["down", backend] => format!("health = {{ {}, healthy = false }}", who(backend)),
        ["weight", backend, weight] => {
            format!("weight = {{ {}, weight = {weight} }}", who(backend))
        }
        [verb @ ("drain" | "disable" | "enable"), backend] => {
            format!("{verb} = {{ {} }}", who(backend))
        }
        ["error", protocol, sport] => error(protocol, sport),
        [protocol, ref more @ ..] => packet(protocol, more),
        [] => String::new(),
    };
    format!("[[event]]\nat = \"{milliseconds}ms\"\n{body}\n")
}

fn packet(protocol: &str, more: &[&str]) -> String {
    let protocol = match protocol.parse::<u8>() {
        Ok(number) => number.to_string(),
        Err(_) => format!("\"{protocol}\""),
    };
    let ends = "src = \"198.51.100.7\", dst = \"203.0.113.10\"";
    let ports = more.first().map(|sport| format!(", sport = {sport}, dport = 80"));
    let flags = more.get(1).map(|flags| format!(", flags = \"{flags}\""));
    let (ports, flags) = (ports.unwrap_or_default(), flags.unwrap_or_default());
    format!("packet = {{ protocol = {protocol}, {ends}{ports}{flags} }}")
}

/// What a router says about the service's answer to the client's port.
fn error(protocol: &str, sport: &str) -> String {
    let quote = format!(
        "{{ protocol = \"{protocol}\", src = \"203.0.113.10\", sport = 80, dst = \"198.51.100.7\", dport = {sport} }}"
    );
    let ends = "src = \"192.0.2.1\", dst = \"203.0.113.10\"";
    format!("packet = {{ protocol = \"icmp\", {ends}, quote = {quote} }}")
}
