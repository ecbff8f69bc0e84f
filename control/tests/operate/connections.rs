//! `windrose connections`

use serde_json::{Value, json};

use crate::rig::Rig;

/// The rows of a table, without its head and its last line, by words.
fn rows(text: &str) -> Vec<String> {
    let lines: Vec<_> = text.lines().collect();
    let words = |line: &&str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    lines[1..lines.len() - 1].iter().map(words).collect()
}

#[test]
fn connections_are_listed_by_every_condition() {
    let rig = Rig::new();
    let text = rig.tell(&["connections"]);
    assert!(
        text.starts_with(
            "PROTOCOL  CLIENT              VIP               SERVICE  BACKEND     IDLE  PACKETS\n"
        ),
        "{text}"
    );
    assert!(text.contains("4 connections; the table was walked through in "), "{text}");
    let matching = |filter: &[&str]| {
        let list = rig.json(&[&["connections"], filter].concat());
        list["matched"].as_u64().expect("a number")
    };
    for (filter, expected) in [
        (&["--service", "web"][..], 3),
        (&["--service", "web", "--backend", "rack-a/a1"], 2),
        (&["--client", "198.51.100.7"], 2),
        (&["--client", "198.51.100.8/31"], 2),
        (&["--vip", "203.0.113.0/24"], 3),
        (&["--vip", "203.0.113.53"], 0),
        (&["--service", "dns", "--client", "198.51.100.7"], 0),
    ] {
        assert_eq!(matching(filter), expected, "{filter:?}");
    }
}

#[test]
fn what_a_key_does_not_hold_is_null() {
    let rig = Rig::new();
    let session = rig.json(&["connections", "--service", "dns"])["connections"][0].clone();
    assert_eq!(session["client"], "198.51.100.9");
    for key in ["protocol", "client_port", "vip", "vip_port"] {
        assert_eq!(session[key], Value::Null, "{key}");
    }
    let text = rig.tell(&["connections", "--service", "dns"]);
    assert!(rows(&text)[0].starts_with("- 198.51.100.9 - dns rack-a/a1 "), "{text}");
}

#[test]
fn a_list_that_is_cut_says_so() {
    let rig = Rig::new();
    let text = rig.tell(&["connections", "--limit", "1"]);
    assert!(text.contains("4 connections; the first 1 are shown (--limit)"), "{text}");
    assert_eq!(rows(&text).len(), 1);
}

#[test]
fn connections_are_counted_the_most_frequent_first() {
    let rig = Rig::new();
    let count = |by: &str| rows(&rig.tell(&["connections", "--count-by", by]));
    assert_eq!(count("backend"), ["web rack-a/a1 2", "dns rack-a/a1 1", "web rack-a/a2 1"]);
    assert_eq!(count("client"), ["198.51.100.7 2", "198.51.100.8 1", "198.51.100.9 1"]);
    assert_eq!(count("service"), ["web 3", "dns 1"]);
    let json = rig.json(&["connections", "--count-by", "client", "--limit", "1"]);
    assert_eq!(
        json["counts"],
        json!([{ "service": null, "backend": null, "client": "198.51.100.7", "connections": 2 }])
    );
    assert_eq!((&json["others"], &json["matched"]), (&json!(2), &json!(4)));
}

#[test]
fn what_makes_no_sense_is_refused_with_what_does() {
    let rig = Rig::new();
    for (words, code, why) in [
        (
            &["--client", "198.51.100"][..],
            65,
            "client \"198.51.100\" is neither an address nor a prefix; for example",
        ),
        (&["--service", "wbe"], 65, "there is no service \"wbe\""),
        (&["--service", "dns", "--backend", "rack-a/a2"], 65, "it has rack-a/a1"),
        (&["--limit", "10001"], 65, "limit 10001 is more than 10000"),
        (&["--backend", "rack-a/a1"], 64, "--service"),
        (&["--count-by", "vip"], 64, "[possible values: backend, client, service]"),
    ] {
        let said = rig.run(&[&["connections"], words].concat());
        assert_eq!(said.code, code, "{said:?}");
        assert!(said.err.contains(why), "{why}\n{said:?}");
    }
}
