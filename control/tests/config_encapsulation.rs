//! What each kind of encapsulation needs of the rest of the file.

use control::config::{self, Environment};

fn load(text: &str) -> Result<config::Loaded, config::Diagnostics> {
    config::parse(
        "windrose.toml",
        text,
        &Environment { online_cpus: vec![0, 1, 2, 3], ..Environment::default() },
    )
}

/// Two ports, one service with one backend, one rule.
fn file(encapsulation: &str, backend: &str, vip: &str) -> String {
    format!(
        r#"
[dataplane]
hash_seed = "000102030405060708090a0b0c0d0e0f"
[[port]]
name = "uplink"
device = "net_null0"
addresses = ["10.0.0.2/24", "2001:db8::2/64"]
gateways = ["10.0.0.1", "2001:db8::1"]
[[port]]
name = "back"
device = "net_null1"
addresses = ["10.7.0.2/24"]
[encapsulation]
{encapsulation}
[[service]]
name = "web"
[[service.group]]
name = "a"
backends = [{{ name = "a1", address = "{backend}" }}]
[[forwarding_rule]]
name = "web"
address = "{vip}"
protocol = "TCP"
ports = [80]
service = "web"
"#
    )
}

/// Encapsulation, backend, VIP, and what the only error must say; nothing: it loads.
const CASES: &[(&str, &str, &str, &[&str])] = &[
    (r#"kind = "gue""#, "10.1.0.11", "203.0.113.10", &[]),
    ("kind = \"gue\"\ngue_variant = 1\ngue_port = 6081", "2001:db8:9::1", "203.0.113.10", &[]),
    (
        r#"source = ["10.0.0.9"]"#,
        "10.0.0.9",
        "203.0.113.10",
        &["the encapsulation's own source", "another host"],
    ),
    ("", "10.0.0.2", "203.0.113.10", &["the appliance's own address, of port \"uplink\""]),
    ("", "2001:db8::2", "203.0.113.10", &["the appliance's own address, of port \"uplink\""]),
    (
        r#"source = ["10.0.0.9"]"#,
        "10.7.0.2",
        "203.0.113.10",
        &["the appliance's own address, of port \"back\""],
    ),
    ("", "203.0.113.10", "203.0.113.10", &["the VIP of forwarding_rule \"web\""]),
    (r#"entropy_prefix = ["10.9.0.0/16"]"#, "10.9.3.3", "203.0.113.10", &["in an entropy_prefix"]),
    (
        "source_entropy = true\nentropy_prefix = [\"172.16.0.0/16\"]",
        "10.1.0.11",
        "203.0.113.10",
        &[],
    ),
    (
        "source_entropy = true\nentropy_prefix = [\"172.16.0.0/16\"]",
        "2001:db8:9::1",
        "203.0.113.10",
        &["source_entropy has no IPv6 prefix", "give entropy_prefix an IPv6 prefix"],
    ),
    (
        "kind = \"gue\"\nsource_entropy = true\nentropy_prefix = [\"172.16.0.0/16\"]",
        "2001:db8:9::1",
        "203.0.113.10",
        &[],
    ),
    ("kind = \"l3dsr\"\nl3dsr_dscp = 1", "10.1.0.11", "203.0.113.10", &[]),
    (r#"kind = "l3dsr""#, "10.1.0.11", "203.0.113.10", &["no code for the VIP", "1 to 63"]),
    (
        "kind = \"l3dsr\"\nl3dsr_dscp = 1",
        "10.1.0.11",
        "2001:db8:2::10",
        &["has no tunnel, and backend \"a1\" is IPv4"],
    ),
    (
        "kind = \"l3dsr\"\nl3dsr_dscp = 1",
        "10.1.0.11",
        "203.0.113.0/24",
        &["one VIP, not for a prefix", "one address"],
    ),
    (r#"kind = "l2""#, "10.7.0.11", "203.0.113.10", &[]),
    (r#"kind = "l2""#, "10.7.0.11", "203.0.113.0/24", &[]),
    (r#"kind = "l2""#, "10.1.0.11", "203.0.113.10", &["not on link at any port"]),
    (r#"kind = "l2""#, "2001:db8::11", "203.0.113.10", &["has no tunnel", "is IPv6"]),
];

#[test]
fn each_kind_says_what_it_needs() {
    for (encapsulation, backend, vip, signs) in CASES {
        let text = file(encapsulation, backend, vip);
        match load(&text) {
            Ok(_) => assert!(signs.is_empty(), "{text}\nloads, but must say {signs:?}"),
            Err(shown) => {
                assert_eq!(shown.errors(), usize::from(!signs.is_empty()), "{text}\n{shown}");
                let shown = shown.to_string();
                assert!(signs.iter().all(|sign| shown.contains(sign)), "{signs:?}\n{shown}");
            }
        }
    }
}

#[test]
fn a_code_of_l3dsr_stands_for_one_vip_of_each_family() {
    let base = file("kind = \"l3dsr\"\nl3dsr_dscp = 9", "10.1.0.11", "203.0.113.10");
    let with = |vip: &str, port: u16| {
        format!(
            "{base}[[forwarding_rule]]\nname = \"more\"\naddress = \"{vip}\"\nprotocol = \"TCP\"\nports = [{port}]\nservice = \"web\"\n"
        )
    };
    assert!(load(&with("203.0.113.10", 443)).is_ok(), "the same VIP, another port");
    let shown = load(&with("203.0.113.11", 80)).expect_err("another VIP").to_string();
    assert!(shown.contains("l3dsr_dscp = 9 already stands for 203.0.113.10"), "{shown}");
}

#[test]
fn a_service_overrides_each_key() {
    let text = file("kind = \"gue\"\ngue_port = 6081", "10.1.0.11", "203.0.113.10")
        .replace("name = \"web\"\n[[service.group]]", "name = \"web\"\nencapsulation = { source_entropy = true, kind = \"gre\", entropy_prefix = [\"172.16.0.0/16\"] }\n[[service.group]]");
    let loaded = load(&text).unwrap_or_else(|shown| panic!("{shown}"));
    let encapsulation = &loaded.config.services[0].encapsulation;
    assert_eq!(encapsulation.gue_port, 6081);
    let prefix = "172.16.0.0/16".parse().expect("a prefix");
    assert_eq!(encapsulation.spread(), Some(&[prefix][..]));
}
