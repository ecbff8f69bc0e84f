//! The documented example: our contract with users.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

use control::config::{self, Environment, Loaded};
use control::model::{Affinity, EncapsulationKind, Ports, Profile, TrackingMode};
use serde_json::Value;

const EXAMPLE: &str = include_str!("fixtures/example.toml");
const PROXY: &str = include_str!("fixtures/proxy.toml");
const SHIPPED: &str = include_str!("../../packaging/windrose.toml");
const README: &str = include_str!("../../README.md");

fn load(text: &str) -> Loaded {
    let environment = Environment { online_cpus: vec![0, 1, 2, 3], ..Environment::default() };
    config::parse("windrose.toml", text, &environment).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn the_example_of_the_contract_loads() {
    let config = load(EXAMPLE).config;
    assert_eq!(config.dataplane.workers, [1]);
    assert_eq!(config.dataplane.memory, 512 << 20);
    let port = &config.ports[0];
    assert_eq!((port.mtu, port.host_interface.as_str()), (1500, "wr-uplink"));
    assert_eq!(port.neighbours[0].1.to_string(), "02:00:00:00:00:01");
    let web = &config.services[0];
    assert_eq!((web.profile, web.affinity), (Profile::Native, Affinity::None));
    assert_eq!(web.tracking_mode, TrackingMode::PerConnection);
    assert_eq!(web.idle_timeout, Duration::from_secs(600));
    // The service overrides the kind and takes the rest from [encapsulation].
    assert_eq!(web.encapsulation.kind, EncapsulationKind::Gre);
    assert_eq!(web.encapsulation.source[0], "10.0.0.2".parse::<IpAddr>().expect("an address"));
    assert!(web.failover.expect("a failover group").connection_draining_on_failover);
    assert_eq!(web.groups[0].backends.len(), 2);
    let rule = &config.rules[0];
    assert_eq!(rule.ports, Ports::Ranges(vec![(80, 80), (443, 443)]));
    assert!(rule.client_allow.is_empty(), "every client may");
}

#[test]
fn the_readmes_file_loads_and_only_its_seed_is_warned_about() {
    let after = README.split_once("```toml\n").expect("a file").1;
    let loaded = load(after.split_once("```").expect("its end").0);
    assert_eq!((loaded.config.services.len(), loaded.config.rules.len()), (1, 1));
    let warnings = loaded.warnings.items();
    assert!(
        warnings.len() == 1 && warnings[0].message.contains("hash_seed"),
        "{}",
        loaded.warnings
    );
}

#[test]
fn the_shipped_file_takes_no_card_and_uncommented_it_is_a_whole_load_balancer() {
    let shipped = load(SHIPPED);
    assert!(shipped.config.ports.is_empty());
    let uncomment = |line: &str| match line.strip_prefix("#:") {
        Some(rest) => rest.strip_prefix(' ').unwrap_or(rest).to_owned(),
        None => line.to_owned(),
    };
    let whole = load(&SHIPPED.lines().map(uncomment).collect::<Vec<_>>().join("\n"));
    let counts = (whole.config.ports.len(), whole.config.services.len(), whole.config.rules.len());
    assert_eq!(counts, (1, 1, 1));
    assert_eq!(whole.warnings.items().len(), 1, "the seed: {}", whole.warnings);
}

#[test]
fn the_readme_leads_to_every_page() {
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs");
    for page in std::fs::read_dir(docs).expect("docs") {
        let name = page.expect("a page").file_name().into_string().expect("UTF-8");
        assert!(README.contains(&format!("](docs/{name}")), "README.md has no link to {name}");
    }
}

#[test]
fn an_empty_file_is_every_default() {
    let config = load("").config;
    assert!(config.ports.is_empty() && config.services.is_empty());
    assert_eq!(config.dataplane.conntrack_entries, 1_000_000);
    assert_eq!(config.dataplane.insert_rate, 1_000_000);
    assert_eq!(config.admin.listen, "127.0.0.1:9180");
}

#[test]
fn what_has_no_effect_yet_is_warned_about_once_a_key() {
    let warnings = load(EXAMPLE).warnings;
    let keys = ["hash_seed", "admin.listen"];
    assert_eq!(warnings.items().len(), keys.len(), "{warnings}");
    for (item, key) in warnings.items().iter().zip(keys) {
        assert!(item.message.contains(key), "{key}\n{warnings}");
    }
}

#[test]
fn the_proxy_example_is_known_but_not_served() {
    let errors = config::parse("shop.toml", PROXY, &Environment::default()).expect_err("refused");
    let shown = errors.to_string();
    assert!(!shown.contains("not a key of this table"), "{shown}");
    assert!(shown.contains("is not served by this version"), "{shown}");
}

/// Every key of a document, with the tables around it: `service.group.backends.name`.
fn keys(value: &toml::Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        toml::Value::Table(table) => {
            for (key, value) in table {
                let path = format!("{path}.{key}");
                // The keys of this table are addresses.
                if key != "neighbours" {
                    keys(value, &path, found);
                }
                found.insert(path);
            }
        }
        toml::Value::Array(items) => items.iter().for_each(|item| keys(item, path, found)),
        _ => {}
    }
}

/// The same of a schema.
fn schema_keys(schema: &Value, path: &str, found: &mut BTreeSet<String>) {
    for (key, property) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.{key}");
        schema_keys(property, &path, found);
        schema_keys(&property["items"], &path, found);
        found.insert(path);
    }
}

#[test]
fn the_schema_knows_every_key_of_the_examples() {
    let mut schema = BTreeSet::new();
    schema_keys(&config::schema(), "", &mut schema);
    let mut example = BTreeSet::new();
    for text in [EXAMPLE, PROXY] {
        keys(&toml::from_str(text).expect("TOML"), "", &mut example);
    }
    let unknown: Vec<_> = example.difference(&schema).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

#[test]
fn the_schema_describes_types_defaults_and_choices() {
    let schema = config::schema();
    let port = &schema["properties"]["port"]["items"];
    assert_eq!(port["required"], serde_json::json!(["name", "device"]));
    assert_eq!(port["additionalProperties"], false);
    assert_eq!(port["properties"]["mtu"]["default"], 1500);
    assert_eq!(port["properties"]["mtu"]["maximum"], 9216);
    let profile = &schema["properties"]["service"]["items"]["properties"]["profile"];
    assert!(profile.to_string().contains("gcp-internal"), "{profile}");
    assert_eq!(profile["default"], "native");
}

#[test]
fn the_documentation_mentions_every_key() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/configuration.md");
    let text = std::fs::read_to_string(path).expect("docs/configuration.md");
    let mut schema = BTreeSet::new();
    schema_keys(&config::schema(), "", &mut schema);
    let key = |path: &str| path.rsplit('.').next().unwrap_or_default().to_owned();
    let missing: BTreeSet<_> =
        schema.iter().map(|p| key(p)).filter(|k| !text.contains(&format!("`{k}`"))).collect();
    assert!(missing.is_empty(), "not in docs/configuration.md: {missing:?}");
}
