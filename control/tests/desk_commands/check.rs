use serde_json::json;

use crate::files::Files;

#[test]
fn it_says_what_the_connection_table_takes() {
    let files = Files::new();
    let said = files.run(&["check", "--config", "w.toml"]);
    assert_eq!(said.code, 0, "{}", said.err);
    // A million IPv4 connections and a quarter of a million IPv6 ones, in whole huge pages.
    let expected = "connection table: 56 MB (39 bytes an IPv4 entry, 75 an IPv6 entry, tags and spare slots included)\n";
    assert!(said.out.ends_with(expected), "{}", said.out);
}

#[test]
fn as_json_it_has_every_finding_with_its_place_and_what_the_file_has() {
    let files = Files::new();
    let check = |code: i32| {
        let said = files.run(&["check", "--config", "w.toml", "--format", "json"]);
        assert_eq!((said.code, &*said.err), (code, ""), "{}", said.out);
        serde_json::from_str::<serde_json::Value>(&said.out).expect("JSON")
    };
    let valid = check(0);
    assert_eq!(
        (&valid["valid"], &valid["errors"], &valid["running"]),
        (&true.into(), &json!([]), &json!(null))
    );
    let contents = json!({ "ports": 1, "services": 1, "backends": 3, "forwarding_rules": 2 });
    assert_eq!(valid["contents"], contents);
    assert_eq!(valid["connection_table_bytes"].as_u64().map(|bytes| bytes >> 20), Some(56));
    let warned = valid["warnings"][0]["message"].as_str().expect("a warning");
    assert!(warned.contains("has no neighbour 10.0.0.1"), "{valid}");
    files.write("w.toml", &crate::files::CONFIG.replace("\"TCP\"", "\"SCTP\""));
    let invalid = check(78);
    assert_eq!((&invalid["valid"], &invalid["contents"]), (&false.into(), &json!(null)));
    let places: Vec<_> = invalid["errors"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|e| (&e["line"], &e["column"]))
        .collect();
    assert_eq!(places, [(&json!(28), &json!(12)), (&json!(35), &json!(12))], "{invalid}");
    let first = &invalid["errors"][0];
    assert!(first["message"].as_str().is_some_and(|m| m.contains("SCTP")), "{invalid}");
    assert!(first["help"].as_str().is_some_and(|h| h.contains("\"UDP\"")), "{invalid}");
    std::fs::remove_file(files.path().join("w.toml")).expect("removes");
    let gone = check(78);
    assert_eq!(gone["errors"][0]["line"], json!(null));
}

#[test]
fn it_warns_of_a_gateway_without_a_neighbour_and_the_desk_commands_do_not() {
    let files = Files::new();
    let neighbour = "port \"uplink\" has no neighbour 10.0.0.1";
    let said = files.run(&["check", "--config", "w.toml"]);
    assert!(said.err.contains(neighbour), "{}", said.err);
    let packet = "tcp 198.51.100.7:40000 > 203.0.113.10:80";
    let said = files.run(&["explain", "--config", "w.toml", packet]);
    assert_eq!((said.code, &*said.err), (0, ""), "not even an empty line");
}
