use crate::files::{CONFIG, Files, Said};

fn explain(files: &Files, arguments: &[&str]) -> Said {
    files.run(&[&["explain", "--config", "w.toml"], arguments].concat())
}

#[track_caller]
fn answer(said: &Said, all: &[&str]) {
    assert_eq!(said.code, 0, "{}", said.err);
    for words in all {
        assert!(said.out.contains(words), "{words}\n{}", said.out);
    }
}

const TCP: &str = "tcp 198.51.100.7:40000 > 203.0.113.10:80";

#[test]
fn it_says_the_rule_the_service_the_backend_and_why_the_others_not() {
    let files = Files::new();
    answer(
        &explain(&files, &["--health", "web rack-a/a1=up", TCP]),
        &[
            "tcp 198.51.100.7:40000 > 203.0.113.10:80, SYN\n\nIt goes to rack-a/a1 at 10.1.0.11.\n",
            "Rule       web-v4: 203.0.113.10, TCP, ports 80, 443 → web\n",
            "Service    web: profile native, session affinity NONE, tracking PER_CONNECTION\n",
            "a new connection; its entry lives until nothing has matched it for 600 s (T-8)",
            "Selection  the hash of source address, source port, protocol, destination address",
            "Eligible   1 backend, primary\n",
            "  rack-a/a1  eligible, and chosen\n",
            "  rack-a/a2  not eligible: unhealthy\n",
            "  rack-b/b1  not eligible: failover, and enough primaries serve (E-3, E-5)\n",
        ],
    );
}

#[test]
fn as_json_it_says_what_a_program_asks_for() {
    let files = Files::new();
    let said = explain(&files, &["--health", "web rack-a/a1=up", "--format", "json", TCP]);
    let json: serde_json::Value = serde_json::from_str(&said.out).expect("JSON");
    assert_eq!((&json["verdict"], &json["backend"]), (&"forward".into(), &"rack-a/a1".into()));
    assert!(json["words"].as_str().is_some_and(|words| words.contains("It goes to rack-a/a1")));
}

#[test]
fn it_says_when_nobody_who_should_serve_can() {
    let files = Files::new();
    let last =
        "Eligible   2 backends, primary, as the last resort: none of those that should serve can";
    let said = explain(&files, &[TCP]);
    answer(
        &said,
        &[
            last,
            "  unhealthy, but eligible as the last resort (E-4), and chosen\n",
            "  unhealthy, but eligible as the last resort (E-4)\n",
            "  rack-b/b1  not eligible: failover, and the last resort is the primaries (E-4, E-6)\n",
        ],
    );
    assert!(!said.out.contains("a1  eligible"), "{}", said.out);
    files.write("w.toml", &CONFIG.replace(
        "[[service.group]]\nname = \"rack-a\"",
        "[service.failover_policy]\ndrop_traffic_if_unhealthy = true\n[[service.group]]\nname = \"rack-a\"",
    ));
    let nobody = "It is dropped (no_eligible_backend): no backend can serve, and drop_traffic_if_unhealthy is set";
    answer(
        &explain(&files, &[TCP]),
        &[nobody, "Eligible   nobody", "rack-a/a1  not eligible: unhealthy"],
    );
}

#[test]
fn it_says_why_no_rule_takes_a_packet() {
    let files = Files::new();
    let closed = TCP.replace(":80", ":81");
    answer(
        &explain(&files, &[&closed]),
        &["It is dropped (vip_no_rule)", "  web-v4: 203.0.113.10"],
    );
    let host = TCP.replace(".113.10", ".113.11");
    answer(&explain(&files, &[&host]), &["It goes to the host: no rule claims 203.0.113.11"]);
    let denied = TCP.replace("198.51.100.7", "192.0.2.7");
    answer(&explain(&files, &[&denied]), &["It is dropped (client_denied)"]);
}

#[test]
fn ipv6_and_the_other_pool_are_explained_too() {
    let files = Files::new();
    let down =
        ["--all-healthy", "--health", "web rack-a/a1=down", "--health", "web rack-a/a2=down"];
    let said =
        explain(&files, &[&down[..], &["tcp [2001:db8::7]:5 > [2001:db8::10]:80 A"]].concat());
    answer(
        &said,
        &["It goes to rack-b/b1", "Rule       web-v6", "primary, and too few primaries can serve"],
    );
}

#[test]
fn what_is_not_understood_is_answered_with_an_example() {
    let files = Files::new();
    for (arguments, message) in [
        (
            vec!["tcp 198.51.100.7 203.0.113.10"],
            "is no packet: write PROTOCOL SOURCE > DESTINATION",
        ),
        (vec!["tcp 198.51.100.7 > 203.0.113.10:80"], "sport is missing; for example 'tcp"),
        (vec!["--health", "web", TCP], "--health \"web\": write it as 'SERVICE GROUP/NAME=up'"),
        (vec!["--health", "web a/b=up", TCP], "service \"web\" has no backend \"a/b\""),
    ] {
        explain(&files, &arguments).refused(65, message);
    }
    files.run(&["explain"]).refused(64, "PACKET");
}
