use crate::files::{CONFIG, Files};

#[test]
fn equal_files_differ_in_nothing() {
    let files = Files::new();
    let said = files.run(&["diff", "w.toml", "w.toml"]);
    assert_eq!(said.code, 0);
    assert!(said.out.contains("a reload would change nothing"), "{}", said.out);
}

#[test]
fn a_removed_backend_is_told_with_its_connections() {
    let files = Files::new();
    let line = ", { name = \"a2\", address = \"10.1.0.12\" }";
    files.write("n.toml", &CONFIG.replace(line, ""));
    let said = files.run(&["diff", "w.toml", "n.toml"]);
    assert_eq!(said.code, 0, "{}", said.err);
    for words in [
        "Service web\n  - rack-a/a2: 10.1.0.12, primary, weight 1, zone a\n",
        "new connections that go elsewhere: ",
        "on rack-a/a2, at once: the backend is removed (T-13)\n",
    ] {
        assert!(said.out.contains(words), "{words}\n{}", said.out);
    }
    let said = files.run(&["diff", "w.toml", "n.toml", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&said.out).expect("JSON");
    let service = &json["services"]["web"];
    let cut = service["established_cut"][0]["share"].as_f64().expect("a share");
    let moved = service["new_connections_moved"].as_f64().expect("a share");
    assert!((0.45..0.55).contains(&cut) && (cut - moved).abs() < 1e-9, "{cut} {moved}");
}

#[test]
fn r5_a_restart_is_told_first() {
    let files = Files::new();
    files.write("n.toml", &CONFIG.replace("net_null0", "net_null1"));
    let said = files.run(&["diff", "w.toml", "n.toml"]);
    assert!(
        said.out.starts_with("A reload would be REFUSED: these need a restart"),
        "{}",
        said.out
    );
}

#[test]
fn the_faults_of_both_files_are_shown() {
    let files = Files::new();
    files.write("a.toml", &CONFIG.replace("[80, 443]", "[70000]"));
    files.write("b.toml", &CONFIG.replace("\"TCP\"", "\"SCTP\""));
    let said = files.run(&["diff", "a.toml", "b.toml"]);
    said.refused(78, "70000");
    said.refused(78, "SCTP");
    files.run(&["diff", "a.toml"]).refused(64, "NEW");
}

#[test]
fn a_dropped_port_cuts_its_connections() {
    let files = Files::new();
    files.write("n.toml", &CONFIG.replace("[80, 443]", "[80]"));
    let said = files.run(&["diff", "w.toml", "n.toml"]);
    for words in [
        "Rule web-v4\n  ~ ports: [80, 443] → [80]\n",
        "Service web\n  rule web-v4: 203.0.113.10, TCP, port 443: dropped (vip_no_rule)\n    \
         100.00 % of these established connections end, at once: the rule no longer takes port 443\n",
        "established connections that end: 0.00 %",
    ] {
        assert!(said.out.contains(words), "{words}\n{}", said.out);
    }
    let said = files.run(&["diff", "w.toml", "n.toml", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&said.out).expect("JSON");
    let traffic = serde_json::json!([{
        "rule": "web-v4", "address": "203.0.113.10", "protocol": "TCP", "ports": [443],
        "becomes": "vip_no_rule", "service": null, "by_rule": null, "established_cut": 1.0,
        "why": "the rule no longer takes port 443",
    }]);
    assert_eq!(json["services"]["web"]["traffic"], traffic);
    let ports = serde_json::json!([{ "key": "ports", "old": [80, 443], "new": [80] }]);
    assert_eq!(json["rules"]["web-v4"], ports);
}

#[test]
fn settings_are_told_as_the_file_writes_them() {
    let files = Files::new();
    let policy = "name = \"web\"\nlocality_lb_policy = \"WEIGHTED_MAGLEV\"\n\
                  failover_policy = { failover_ratio = 0.5 }\n[[service.group]]";
    let new = CONFIG
        .replace("name = \"web\"\n[[service.group]]", policy)
        .replace("[dataplane]", "[dataplane]\nhugepages = \"off\"\nmemory = \"768M\"")
        .replace("gateways", "neighbours = { \"10.0.0.1\" = \"02:00:00:00:00:01\" }\ngateways");
    files.write("n.toml", &new);
    let said = files.run(&["diff", "w.toml", "n.toml"]);
    for words in [
        "  dataplane.hugepages: \"auto\" → \"off\"\n",
        "  dataplane.memory: \"512M\" → \"768M\"\n",
        "  ~ port \"uplink\" neighbours: {} → { \"10.0.0.1\" = \"02:00:00:00:00:01\" }\n",
        "  ~ locality_lb_policy: \"MAGLEV\" → \"WEIGHTED_MAGLEV\"\n",
        "  ~ failover_policy.failover_ratio: 0.0 → 0.5\n",
        "  established connections that end: 0.00 %\n",
    ] {
        assert!(said.out.contains(words), "{words}\n{}", said.out);
    }
}
