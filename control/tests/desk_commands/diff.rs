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
