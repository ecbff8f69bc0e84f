//! What only reads: status, health, counters; and what is said when nobody answers.

use std::process::Command;

use serde_json::{Value, json};

use crate::rig::Rig;

#[test]
fn status_shows_rules_services_and_why_each_backend_serves_or_does_not() {
    let rig = Rig::new();
    rig.tell(&["backend", "disable", "web", "rack-a/a2"]);
    let text = rig.tell(&["status"]);
    for words in [
        "windrose 0.",
        "generation 2 of ",
        "2 workers\n",
        "connections: 2 IPv4, 0 IPv6; 1 have seen more than one packet (counted up to ",
        "PORT    LINK  ADDRESSES    HOST INTERFACE  DEVICE\nuplink  up    10.0.0.2/24  -               net_null0\n",
        "RULE    ADDRESS       PROTOCOL  PORTS          SERVICE\nweb-v4  203.0.113.10  TCP       ports 80, 443  web\n",
        "SERVICE web (native): 1 of 3 backends eligible, primary: enough primaries can serve (E-3); 2 connections\n",
        "rack-a/a2  10.1.0.12  a     disabled",
        "disabled by the operator (T-18)",
        "failover, and enough primaries serve (E-3, E-5)",
        "SERVICE dns (native): 1 of 1 backend eligible, primary: the last resort: none of those that should serve can (E-1)",
    ] {
        assert!(text.contains(words), "{words}\n{text}");
    }
    assert!(!text.contains('\u{1b}'), "no colours but on a terminal");
}

#[test]
fn status_as_json_has_these_keys() {
    let rig = Rig::new();
    let status = rig.json(&["status"]);
    let keys =
        |value: &Value| value.as_object().expect("an object").keys().cloned().collect::<Vec<_>>();
    assert_eq!(
        keys(&status),
        [
            "connections",
            "file",
            "generation",
            "last_reload",
            "pid",
            "ports",
            "rates",
            "rules",
            "services",
            "uptime_seconds",
            "version",
            "waiting_orders",
            "workers"
        ]
    );
    let services = status["services"].as_array().expect("services");
    assert_eq!((&services[0]["name"], &services[1]["name"]), (&json!("dns"), &json!("web")));
    assert_eq!(
        keys(&services[1]),
        [
            "backends",
            "connections",
            "drained",
            "eligible",
            "in_file",
            "last_resort",
            "name",
            "pool",
            "profile",
            "rates",
            "why"
        ]
    );
    let backend = &services[1]["backends"][0];
    assert_eq!(
        keys(backend),
        [
            "address",
            "backend",
            "check",
            "connections",
            "disabled",
            "drained",
            "drains_for_seconds",
            "eligible",
            "health",
            "rates",
            "reason",
            "role",
            "share",
            "since_seconds",
            "weight",
            "why",
            "zone"
        ]
    );
    let shares = services[1]["backends"].as_array().expect("backends").iter();
    let sum: f64 = shares.map(|b| b["share"].as_f64().expect("a share")).sum();
    assert!((sum - 1.0).abs() < 1e-9, "{sum}");
    assert_eq!(status["rates"], Value::Null, "this appliance takes no samples");
}

#[test]
fn health_shows_every_backend_or_only_those_that_fail() {
    let rig = Rig::new();
    let text = rig.tell(&["health"]);
    assert_eq!(text.lines().count(), 5, "{text}");
    assert!(
        text.starts_with("SERVICE  BACKEND    ADDRESS    HEALTH     SINCE  WEIGHT  LAST CHECK\n"),
        "{text}"
    );
    let text = rig.tell(&["health", "--failing"]);
    assert_eq!(text.lines().count(), 2, "{text}");
    assert!(text.contains("dns      rack-a/a1  10.1.0.11  unhealthy"), "{text}");
    let said = rig.json(&["health"]);
    let (asked, not_yet) = (&said[1]["backends"][0], &said[1]["backends"][1]);
    assert_eq!(asked["health"], "healthy");
    assert_eq!(
        [&asked["check"], &asked["reason"], &not_yet["check"], &not_yet["reason"]],
        [&json!("HTTP GET / at port 80"), &json!("HTTP 503"), &asked["check"], &Value::Null]
    );
}

#[test]
fn counters_are_told_without_the_zeros_or_with_them_by_worker() {
    let rig = Rig::new();
    let expected = "OUTCOME    TOTAL\nforwarded      1\n\nEVENT  TOTAL\n\n1 received = outcomes + 0 held\n\nPORT    LOST       TOTAL\nuplink  rx_missed      3\n";
    assert_eq!(rig.tell(&["counters"]), expected);
    let all = rig.tell(&["counters", "--all", "--by-worker"]);
    let forwarded = all.lines().find(|line| line.starts_with("forwarded ")).expect("a line");
    assert_eq!(forwarded.split_whitespace().collect::<Vec<_>>(), ["forwarded", "1", "0", "1"]);
    assert!(all.contains("vip_no_rule") && all.contains("tx_errors"), "{all}");
    let json = rig.json(&["counters"]);
    assert_eq!(json["total"]["outcomes"]["forwarded"], 1);
    assert_eq!(json["workers"][0]["outcomes"]["forwarded"], 0);
    assert_eq!(json["ports"][0]["losses"]["rx_missed"], 3);
    let web = &json["services"][1];
    assert_eq!((&web["name"], &web["given"]["packets"]), (&json!("web"), &json!(0)));
    let nothing = json!({ "packets": 0, "bytes": 0, "new_connections": 0 });
    let first = json!({ "backend": "rack-a/a1", "address": "10.1.0.11", "given": nothing });
    assert_eq!(web["backends"][0], first);
}

#[test]
fn explain_is_asked_of_the_process_that_runs() {
    let rig = Rig::new();
    let said =
        rig.tell(&["explain", "--state-from-running", "tcp 198.51.100.7:1 > 203.0.113.10:80"]);
    assert_eq!(said, "tcp 198.51.100.7:1 > 203.0.113.10:80 is explained\n");
    let packet = "tcp 198.51.100.7:1 > 203.0.113.10:80";
    let json = rig.json(&["explain", "--state-from-running", packet]);
    assert_eq!((&json["verdict"], &json["words"]), (&"forward".into(), &said.into()));
}

#[test]
fn with_nobody_there_every_command_says_so_in_a_sentence() {
    for words in [
        "status",
        "health",
        "counters",
        "connections",
        "reload",
        "backend drain web rack-a/a1",
        "backend disable web rack-a/a1",
        "backend enable web rack-a/a1",
        "service drain web",
        "service enable web",
        "explain --state-from-running 8.8.8.8>9.9.9.9",
        "status --format json",
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_windrose"));
        command.args(words.split(' ')).args(["--socket", "/nonexistent/control.sock"]);
        let output = command.output().expect("windrose");
        assert_eq!(output.status.code(), Some(69), "{words}");
        let said = String::from_utf8(output.stderr).expect("UTF-8");
        let sentence =
            "windrose: windrose is not running: nobody listens at /nonexistent/control.sock\n";
        assert_eq!(said, sentence, "{words}");
        assert!(output.stdout.is_empty(), "{words}");
    }
}

#[test]
fn the_check_against_nobody_says_what_the_file_is_and_that_nobody_is_there() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_windrose"));
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/example.toml");
    command.args(["check", "--against-running", "--config", file]);
    let output =
        command.args(["--socket", "/nonexistent/control.sock"]).output().expect("windrose");
    assert_eq!(output.status.code(), Some(69));
    assert!(String::from_utf8_lossy(&output.stdout).contains("valid: 1 port"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.ends_with("windrose is not running: nobody listens at /nonexistent/control.sock\n")
    );
}

/// With a terminal of its own (script(1) is in every Debian).
#[test]
fn colours_are_there_on_a_terminal_unless_they_are_not_wanted() {
    let rig = Rig::new();
    let socket = rig.path("s").display().to_string();
    let status = format!("{} status --socket {socket}", env!("CARGO_BIN_EXE_windrose"));
    for (no_colour, coloured) in [(None, true), (Some("1"), false)] {
        let mut script = Command::new("script");
        script.args(["-qec", &status, "/dev/null"]).env_remove("NO_COLOR");
        script.envs(no_colour.map(|value| ("NO_COLOR", value)));
        let output = script.output().expect("script");
        let said = String::from_utf8(output.stdout).expect("UTF-8");
        assert!(said.contains("SERVICE web"), "{said}");
        assert_eq!(said.contains('\u{1b}'), coloured, "{said}");
    }
}

#[test]
fn a_service_that_there_is_not_is_named_with_those_that_there_are() {
    let rig = Rig::new();
    let said = rig.run(&["status", "wbe"]);
    assert_eq!((said.code, &*said.out), (65, ""));
    assert_eq!(said.err, "windrose: there is no service \"wbe\"; there are dns, web\n");
}
