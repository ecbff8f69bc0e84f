//! Golden answers.

use super::*;
use crate::config::{self, Environment};

fn config(service: &str, backends: &[&str]) -> Config {
    let backends: Vec<_> = backends
        .iter()
        .map(|b| {
            let (name, last) = b.split_once('@').unwrap_or((b, &b[1..]));
            format!("{{ name = \"{name}\", address = \"10.1.0.{last}\" }}")
        })
        .collect();
    let text = format!(
        "[[service]]\nname = \"web\"\nmaglev_table_size = 251\n{service}\n[[service.group]]\n\
         name = \"a\"\nbackends = [ {} ]\n[[forwarding_rule]]\nname = \"r\"\n\
         address = \"203.0.113.10\"\nprotocol = \"TCP\"\nports = [80]\nservice = \"web\"\n",
        backends.join(", ")
    );
    let loaded = config::parse("c.toml", &text, &Environment::default());
    loaded.unwrap_or_else(|e| panic!("{e}")).config
}

fn compare(old: &Config, new: &Config) -> ServiceDiff {
    diff(old, new).expect("fits").services.remove("web").unwrap_or_default()
}

#[test]
fn equal_files_have_no_difference_whatever_the_order() {
    let found = diff(&config("", &["b1", "b2"]), &config("", &["b2", "b1"])).expect("fits");
    assert!(found.is_empty(), "{found:?}");
    assert!(found.words().contains("would change nothing"));
}

#[test]
fn s3_a_newcomer_takes_its_share_and_cuts_nothing() {
    let found = compare(&config("", &["b1", "b2", "b3"]), &config("", &["b1", "b2", "b3", "b4"]));
    let moved = found.new_connections_moved.expect("some");
    assert!((0.24..0.32).contains(&moved), "{moved}");
    assert_eq!(found.established_cut, []);
    assert_eq!(found.backends.len(), 1);
}

#[test]
fn t13_a_removed_backend_is_cut_at_once_or_when_it_has_drained() {
    for (draining, after) in [("", 0.0), ("connection_draining_timeout = \"30s\"", 30.0)] {
        let found = compare(&config(draining, &["b1", "b2"]), &config(draining, &["b1"]));
        let [cut] = &*found.established_cut else { panic!("{found:?}") };
        assert_eq!((&*cut.backend, cut.after_seconds), ("a/b2", after));
        assert_eq!(cut.why, "the backend is removed (T-13)");
        assert!((cut.share - 0.5).abs() < 0.01);
        assert!((found.new_connections_moved.expect("some") - cut.share).abs() < 1e-9);
    }
}

#[test]
fn r4_a_changed_address_is_a_removal_and_an_addition() {
    let found = compare(&config("", &["b1", "b2"]), &config("", &["b1", "b2@9"]));
    let [cut] = &*found.established_cut else { panic!("{found:?}") };
    assert_eq!(cut.why, "its address changes, which is a removal and an addition (R-4, T-13)");
}

#[test]
fn r3_a_changed_affinity_moves_new_connections_and_cuts_none() {
    let client_ip = "session_affinity = \"CLIENT_IP\"";
    let found = compare(&config("", &["b1", "b2"]), &config(client_ip, &["b1", "b2"]));
    assert!(found.hash_changes);
    assert!((found.new_connections_moved.expect("some") - 0.5).abs() < 0.01);
    assert_eq!(found.established_cut, []);
}

#[test]
fn tables_of_two_sizes_are_compared_exactly() {
    let larger = config("", &["b1", "b2"]);
    let mut old = larger.clone();
    old.services[0].maglev_table_size = 13;
    let found = compare(&old, &larger);
    let moved = found.new_connections_moved.expect("some");
    assert!(moved > 0.0 && moved < 1.0, "{moved}");
    assert!(!found.hash_changes);
}

#[test]
fn r5_what_needs_a_restart_is_told_first() {
    let old = config("", &["b1"]);
    let mut new = old.clone();
    new.dataplane.conntrack_entries = 5;
    let found = diff(&old, &new).expect("fits");
    assert!(found.words().starts_with("A reload would be REFUSED"), "{}", found.words());
}

#[test]
fn a_service_that_goes_is_cut_whole() {
    let old = config("", &["b1", "b2"]);
    let mut new = old.clone();
    new.services.clear();
    new.rules.clear();
    let found = diff(&old, &new).expect("fits");
    let cut: f64 = found.services["web"].established_cut.iter().map(|c| c.share).sum();
    assert!((cut - 1.0).abs() < 1e-9);
    assert!(found.words().contains("the service is removed"), "{}", found.words());
    assert_eq!(found.rules["r"].len(), 1);
}

/// The lines that tell what differs.
fn differing(old: &str, new: &str) -> Vec<String> {
    let backends = &["b1", "b2"];
    let found = diff(&config(old, backends), &config(new, backends)).expect("fits");
    let words = found.words();
    assert!(!words.contains("-0.00 %"), "{words}");
    words.lines().filter(|l| l.starts_with("  ~")).map(str::to_owned).collect()
}

#[test]
fn settings_are_told_by_the_keys_and_words_of_the_file() {
    for (old, new, expected) in [
        (
            "",
            "locality_lb_policy = \"WEIGHTED_MAGLEV\"",
            "  ~ locality_lb_policy: \"MAGLEV\" → \"WEIGHTED_MAGLEV\"",
        ),
        ("", "idle_timeout = \"90s\"", "  ~ idle_timeout: \"600s\" → \"90s\""),
        ("", "initial_health = \"healthy\"", "  ~ initial_health: \"unhealthy\" → \"healthy\""),
        ("", "encapsulation = { kind = \"gre\" }", "  ~ encapsulation.kind: \"ipip\" → \"gre\""),
        (
            "health_check = { protocol = \"TCP\", port = 80 }",
            "health_check = { protocol = \"TCP\", port = 80, interval = \"6s\" }",
            "  ~ health_check.interval: \"5s\" → \"6s\"",
        ),
        (
            "profile = \"azure\"",
            "profile = \"azure\"\ndistribution = \"SourceIP\"",
            "  ~ distribution: \"Default\" → \"SourceIP\"",
        ),
    ] {
        assert_eq!(differing(old, new), [expected]);
    }
}

#[test]
fn the_hash_seed_is_not_shown() {
    let old = config("", &["b1", "b2"]);
    let mut new = old.clone();
    new.dataplane.hash_seed = tables::HashSeed([0xab; 16]);
    let found = diff(&old, &new).expect("fits");
    let told = found.words() + &serde_json::json!(found).to_string();
    assert!(told.contains("dataplane.hash_seed: one → another (a secret: not shown)"), "{told}");
    assert!(!told.contains("abab") && !told.contains("171"), "{told}");
}

#[test]
fn other_certificates_in_the_same_file_are_a_difference() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ca.pem");
    let certificates = ["authority.pem", "certificate.pem"]
        .map(|name| format!("{}/tests/probes/{name}", env!("CARGO_MANIFEST_DIR")));
    let with = |certificate: &str| {
        std::fs::copy(certificate, &path).expect("copies");
        let check = "health_check = { protocol = \"SSL\", port = 443, tls_ca =";
        config(&format!("{check} {path:?} }}"), &["b1", "b2"])
    };
    let [old, new] = certificates.each_ref().map(|c| with(c));
    let found = diff(&old, &new).expect("fits").words();
    let expected = format!(
        "health_check.tls_ca = {path:?}: 1 certificate in it → 1 certificate, not the same, in it"
    );
    assert!(found.contains(&expected), "{found}");
    assert!(diff(&new, &with(&certificates[1])).expect("fits").is_empty());
}
