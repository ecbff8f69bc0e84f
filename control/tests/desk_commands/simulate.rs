use serde_json::{Value, json};

use crate::files::{CONFIG, Files, Said};

fn simulate(files: &Files, scenario: &str) -> Said {
    files.write("s.toml", scenario);
    files.run(&["simulate", "--config", "w.toml", "s.toml"])
}

fn lines(said: &Said) -> Vec<Value> {
    assert_eq!(said.code, 0, "{}", said.err);
    said.out.lines().map(|l| serde_json::from_str(l).expect("JSON")).collect()
}

fn event(at: &str, body: &str) -> String {
    format!("[[event]]\nat = \"{at}\"\n{body}\n")
}

fn up(at: &str, backend: &str) -> String {
    let body = format!("service = \"web\", backend = \"{backend}\", healthy = true");
    event(at, &format!("health = {{ {body} }}"))
}

fn tcp(at: &str, dport: u16, flags: &str) -> String {
    let ends = "src = \"198.51.100.7\", sport = 40000, dst = \"203.0.113.10\"";
    event(
        at,
        &format!("packet = {{ protocol = \"tcp\", {ends}, dport = {dport}, flags = \"{flags}\" }}"),
    )
}

#[test]
fn the_reference_example_is_answered_word_for_word() {
    let files = Files::new();
    let scenario = [up("0s", "rack-a/a1"), tcp("1s", 80, "S"), tcp("2s", 80, "A")].concat();
    let found = lines(&simulate(&files, &scenario));
    let health = json!({"event":0,"at":"0s","eligible":{"web":["rack-a/a1"]},"entries_removed":0});
    let five = ["src", "sport", "proto", "dst", "dport"];
    let packet = json!({"event":1,"at":"1s","verdict":"forward","service":"web","rule":"web-v4",
        "backend":"rack-a/a1","why":"selected","entry":"created","tracking_key":five,
        "selection_hash":five,"eligible":["rack-a/a1"],"pool":"primary","last_resort":false,
        "entries_removed":0});
    assert_eq!(found[..2], [health, packet]);
    assert_eq!((&found[2]["why"], &found[2]["entry"]), (&json!("tracked"), &json!("hit")));
}

#[test]
fn f4_packets_that_no_rule_takes_are_dropped_or_the_hosts() {
    let files = Files::new();
    let esp = |dst| {
        let ends = format!("src = \"198.51.100.7\", dst = \"{dst}\"");
        event("1s", &format!("packet = {{ protocol = \"esp\", {ends} }}"))
    };
    let scenario = [tcp("0s", 81, "S"), esp("203.0.113.10"), esp("203.0.113.11")].concat();
    let found = lines(&simulate(&files, &scenario));
    let verdicts: Vec<_> = found.iter().map(|f| (&f["verdict"], &f["why"], &f["pool"])).collect();
    let none = json!("none");
    let (no_rule, drop, host) = (json!("no_rule"), json!("drop"), json!("host"));
    let drop = (&drop, &no_rule, &none);
    assert_eq!(verdicts, [drop, drop, (&host, &no_rule, &none)]);
}

#[test]
fn s6_fragments_are_held_and_listed_with_the_packet_that_ends_their_waiting() {
    let files = Files::new();
    let later = |at, id| {
        let ends = "src = \"198.51.100.7\", dst = \"203.0.113.10\"";
        let part = format!("fragment = \"middle\", id = {id}");
        event(at, &format!("packet = {{ protocol = \"tcp\", {ends}, {part} }}"))
    };
    let first = tcp("1100ms", 80, "A").replace("flags", "fragment = \"first\", id = 7, flags");
    let scenario = [
        up("0s", "rack-a/a1"),
        later("1s", 7),
        later("1s", 8),
        first,
        later("1200ms", 7),
        tcp("3s", 80, "A"),
    ];
    let found = lines(&simulate(&files, &scenario.concat()));
    let told = |of: &Value| {
        ["verdict", "why", "entry", "backend"].map(|key| of[key].as_str().unwrap_or("-").to_owned())
    };
    let held = ["held", "fragment", "none", "-"];
    let follows = ["forward", "fragment", "hit", "rack-a/a1"];
    assert_eq!([told(&found[1]), told(&found[2])], [held, held]);
    assert_eq!(told(&found[3]), ["forward", "selected", "created", "rack-a/a1"]);
    assert_eq!(found[3]["released"].as_array().map(Vec::len), Some(1));
    assert_eq!(found[3]["released"][0]["event"], 1);
    assert_eq!(told(&found[3]["released"][0]), follows);
    assert_eq!(
        (told(&found[4]), &found[4]["released"]),
        (follows.map(str::to_owned), &Value::Null)
    );
    assert_eq!(found[5]["released"][0]["event"], 2);
    assert_eq!(told(&found[5]["released"][0]), ["drop", "fragment_no_first", "none", "-"]);
}

#[test]
fn t13_a_drain_ends_its_entries_when_its_deadline_comes() {
    let files = Files::new();
    files.write(
        "w.toml",
        &CONFIG.replace(
            "name = \"web\"\n[[service.group]]",
            "name = \"web\"\nconnection_draining_timeout = \"30s\"\n[[service.group]]",
        ),
    );
    let drain = "drain = { service = \"web\", backend = \"rack-a/a1\" }";
    let scenario = [
        up("0s", "rack-a/a1"),
        tcp("1s", 80, "S"),
        event("2s", drain),
        tcp("31s", 80, "A"),
        event("32s", ""),
    ];
    let found = lines(&simulate(&files, &scenario.concat()));
    assert_eq!(found[2]["entries_removed"], 0);
    // The only other primary is unhealthy, and so is the failover backend: a last resort (E-4).
    assert_eq!(found[2]["eligible"]["web"], json!(["rack-a/a2"]));
    assert_eq!(found[3]["why"], "tracked");
    assert_eq!(found[4]["entries_removed"], 1);
}

#[test]
fn t10_a_batch_is_decided_once() {
    let files = Files::new();
    files.write(
        "w.toml",
        &CONFIG.replace(
            "[[service.group]]\nname = \"rack-a\"",
            "[service.failover_policy]\nconnection_draining_on_failover = false\n\
         [[service.group]]\nname = \"rack-a\"",
        ),
    );
    let health = |healthy| {
        format!(
            "{{ health = {{ service = \"web\", backend = \"rack-a/a1\", healthy = {healthy} }} }}"
        )
    };
    let one = event("3s", &format!("batch = [ {}, {} ]", health(false), health(true)));
    let two = event("4s", &format!("batch = [ {} ]", health(false)));
    let scenario =
        [up("0s", "rack-a/a1"), up("0s", "rack-b/b1"), tcp("1s", 80, "S"), one, two].concat();
    let found = lines(&simulate(&files, &scenario));
    assert_eq!(found[3]["entries_removed"], 0);
    assert_eq!(found[4]["entries_removed"], 1);
    assert_eq!(found[4]["eligible"]["web"], json!(["rack-b/b1"]));
}

#[test]
fn r1_r5_a_refused_reload_changes_nothing_and_is_told() {
    let files = Files::new();
    files.write("bad.toml", &CONFIG.replace("ports = [80, 443]", "ports = [99999]"));
    files.write("restart.toml", &CONFIG.replace("net_null0", "net_null1"));
    files.write("good.toml", &CONFIG.replace("a2\"", "a3\"").replace(".0.12", ".0.13"));
    let reload = |name: &str| event("2s", &format!("reload = \"{name}\""));
    let scenario = [
        up("0s", "rack-a/a1"),
        tcp("1s", 80, "S"),
        reload("bad.toml"),
        reload("restart.toml"),
        reload("nowhere.toml"),
        reload("good.toml"),
        tcp("3s", 80, "A"),
    ];
    let said = simulate(&files, &scenario.concat());
    let found = lines(&said);
    for (number, message) in [(2, "99999"), (3, "restart"), (4, "no such file")] {
        let refused = found[number]["refused"].as_str().expect("refused");
        assert!(refused.contains(message), "{refused}");
        assert_eq!(found[number]["eligible"]["web"], json!(["rack-a/a1"]));
    }
    assert!(said.err.contains("event 2: the reload is refused"), "{}", said.err);
    assert_eq!(found[5].get("refused"), None);
    assert_eq!(found[6]["why"], "tracked");
}

#[test]
fn a_fault_in_the_scenario_names_its_event_and_nothing_of_it_is_applied() {
    let files = Files::new();
    let other = up("2s", "rack-a/a1").replace("web", "wob");
    let unknown = [up("0s", "rack-a/a1"), up("1s", "rack-a/a9"), other].concat();
    let said = simulate(&files, &unknown);
    let backend = "service \"web\" has no backend \"rack-a/a9\"; it has rack-a/a1";
    said.refused(65, &format!("s.toml:6:39: event 1: {backend}"));
    said.refused(65, "s.toml:9:22: event 2: there is no service \"wob\"");
    assert_eq!(said.out, "");

    let after_a_reload = event("0s", "reload = \"w.toml\"") + &up("1s", "rack-a/a9");
    let said = simulate(&files, &after_a_reload);
    said.refused(65, &format!("s.toml:4:1: event 1: {backend}"));
    assert_eq!(said.out.lines().count(), 1);

    let service = up("0s", "rack-a/a1").replace("web", "wob");
    simulate(&files, &service).refused(65, "event 0: there is no service \"wob\"");
    let back = [up("2s", "rack-a/a1"), up("1s", "rack-a/a1")].concat();
    simulate(&files, &back).refused(65, "s.toml:4:1: event 1: at = \"1s\" goes back in time");
    let packet = tcp("0s", 80, "S").replace("198.51.100.7", "198.51.100");
    simulate(&files, &packet)
        .refused(65, "event 0: src = \"198.51.100\" is no IPv4 or IPv6 address");
    let port = tcp("0s", 80, "S").replace("flags", "port = \"downlink\", flags");
    simulate(&files, &port).refused(65, "event 0: there is no port \"downlink\"");
}

#[test]
fn files_that_cannot_be_had_are_refused() {
    let files = Files::new();
    files
        .run(&["simulate", "--config", "w.toml", "none.toml"])
        .refused(65, "the scenario cannot be read");
    files
        .run(&["simulate", "--config", "none.toml", "s.toml"])
        .refused(78, "there is no such file");
    files.run(&["simulate"]).refused(64, "SCENARIO");
}
