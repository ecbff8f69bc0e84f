//! Scenarios that are accepted, and every way in which one is not.

use super::*;

fn event(body: &str) -> Result<Event, String> {
    let scenario = Scenario::parse("s.toml", &format!("[[event]]\n{body}"));
    scenario.map(|mut s| s.events.remove(0)).map_err(|e| e.to_string())
}

fn error(body: &str) -> String {
    event(body).expect_err(body)
}

fn packet(fields: &str) -> Result<Event, String> {
    event(&format!("at = \"1s\"\npacket = {{ {fields} }}"))
}

const TCP: &str =
    r#"protocol = "tcp", src = "198.51.100.7", sport = 4, dst = "203.0.113.10", dport = 80"#;

#[test]
fn every_kind_of_event_is_read() {
    let backend = |verb| Step::Backend { service: "web".into(), backend: "a/1".into(), verb };
    let change = |body: &str| event(&format!("at = \"0s\"\n{body}")).expect(body).what;
    let who = r#"service = "web", backend = "a/1""#;
    for (body, verb) in [
        (format!("health = {{ {who}, healthy = true }}"), Verb::Health(true)),
        (format!("weight = {{ {who}, weight = 1000 }}"), Verb::Weight(1000)),
        (format!("drain = {{ {who} }}"), Verb::Drain),
        (format!("disable = {{ {who} }}"), Verb::Disable),
        (format!("enable = {{ {who} }}"), Verb::Enable),
    ] {
        assert_eq!(change(&body), What::Change(vec![backend(verb)]));
    }
    assert_eq!(change("reload = \"b.toml\""), What::Change(vec![Step::Reload("b.toml".into())]));
    assert_eq!(change(""), What::Nothing);
    let batch = format!("batch = [ {{ drain = {{ {who} }} }}, {{ reload = \"b.toml\" }} ]");
    let steps = vec![backend(Verb::Drain), Step::Reload("b.toml".into())];
    assert_eq!(change(&batch), What::Change(steps));
}

#[test]
fn every_kind_of_packet_is_read() {
    for fields in [
        TCP,
        r#"protocol = 6, src = "2001:db8::7", sport = 0, dst = "2001:db8::10", dport = 0, flags = "SAFRP""#,
        r#"protocol = "esp", src = "198.51.100.7", dst = "203.0.113.10""#,
        r#"protocol = 253, src = "198.51.100.7", dst = "203.0.113.10", port = "uplink""#,
        r#"protocol = "udp", src = "198.51.100.7", dst = "203.0.113.10", fragment = "middle", id = 9"#,
        r#"protocol = "icmp", src = "192.0.2.1", dst = "203.0.113.10", quote = { protocol = "udp", src = "203.0.113.10", sport = 53, dst = "198.51.100.7", dport = 9 }"#,
    ] {
        packet(fields).expect(fields);
    }
}

#[test]
fn a_bad_packet_says_what_is_wrong_with_it() {
    let with = |extra: &str| format!("{TCP}, {extra}");
    let replaced = |from: &str, to: &str| TCP.replace(from, to);
    for (fields, message) in [
        (replaced("tcp", "sctp"), "protocol = \"sctp\" is unknown; allowed: \"tcp\""),
        (replaced("\"tcp\"", "256"), "protocol = 256 is unknown"),
        (replaced("198.51.100.7", "198.51.100"), "src = \"198.51.100\" is no IPv4 or IPv6 address"),
        (replaced("203.0.113.10", "2001:db8::1"), "are not of one address family"),
        (replaced(", dport = 80", ""), "tcp has ports: dport is missing"),
        (replaced("tcp", "gre"), "gre has no ports"),
        (replaced("sport = 4", "sport = 400000"), "sport = 400000; allowed: 0 to 65535"),
        (replaced("dport = 80", "dport = -1"), "dport = -1; allowed: 0 to 65535"),
        (with("flags = \"SX\""), "flags = \"SX\": 'X' is no flag; allowed: any of S A F R P"),
        (with("flags = \"S\"").replace("tcp", "udp"), "flags: udp has none, only tcp has"),
        (with("fragment = \"second\", id = 1"), "fragment = \"second\"; allowed: \"first\""),
        (with("fragment = \"first\""), "fragment: give the id of the datagram"),
        (with("fragment = \"last\", id = 1"), "a middle or last fragment of tcp has no ports"),
        (with("fragment = \"first\", id = 65536"), "id = 65536 does not fit"),
        (with("id = 1"), "id: only a fragment has one"),
        (with("quote = { protocol = \"esp\", src = \"::1\", dst = \"::2\" }"), "quote: only icmp"),
        (with("colour = \"red\""), "unknown field `colour`, expected one of"),
        (replaced("src = \"198.51.100.7\", ", ""), "missing field `src`"),
    ] {
        let found = packet(&fields).expect_err(&fields);
        assert!(found.starts_with("s.toml:"), "{found}");
        assert!(found.contains(": event 0: ") && found.contains(message), "{found} / {message}");
    }
}

#[test]
fn a_fault_names_the_event_its_line_and_its_column_and_all_are_shown() {
    let text =
        "[[event]]\nat = \"2s\"\n\n[[event]]\nat = \"1s\"\n[[event]]\nat = \"3s\"\nhalth = 1\n";
    let faults = Scenario::parse("s.toml", text).expect_err("two faults");
    assert_eq!(
        faults
            .to_string()
            .lines()
            .map(|l| l.split(", expected").next().unwrap_or(l))
            .collect::<Vec<_>>(),
        [
            "s.toml:4:1: event 1: at = \"1s\" goes back in time: event 0 is at \"2s\"; events run in order",
            "s.toml:8:1: event 2: unknown field `halth`",
        ]
    );
}

#[test]
fn an_event_is_one_thing_at_a_time_that_can_be_read() {
    for (body, message) in [
        ("", "missing field `at`"),
        ("at = 1", "invalid type"),
        ("at = \"1\"", "at = \"1\" is no time; allowed"),
        ("at = \"1d\"", "at = \"1d\" is no time"),
        ("at = \"-1s\"", "at = \"-1s\" is no time"),
        ("at = \"289h\"", "a scenario lasts at most 12 days"),
        ("at = \"0s\"\nreload = \"x\"\nbatch = []", "this one has reload and batch"),
        ("at = \"0s\"\nbatch = [ {} ]", "exactly one of"),
        (
            "at = \"0s\"\nweight = { service = \"w\", backend = \"a/1\", weight = 1001 }",
            "0 to 1000",
        ),
        ("at = \"0s\"\nhealth = { service = \"w\", backend = \"a/1\" }", "missing field `healthy`"),
    ] {
        let found = error(body);
        assert!(found.contains("event 0: ") && found.contains(message), "{found} / {message}");
    }
}

#[test]
fn what_is_no_scenario_is_refused() {
    for (text, message) in [
        ("[[event]", "s.toml:1:9: not TOML"),
        ("[event]\nat = \"0s\"", "write each as [[event]]"),
        ("[[events]]\nat = \"0s\"", "unknown key \"events\"; a scenario has only [[event]]"),
    ] {
        let found = Scenario::parse("s.toml", text).expect_err(text).to_string();
        assert!(found.contains(message), "{found} / {message}");
    }
    assert!(Scenario::parse("s.toml", "").expect("empty").events.is_empty());
}
