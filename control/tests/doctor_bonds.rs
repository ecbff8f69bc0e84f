//! What `windrose doctor` finds of a bond that is two ports: one fault in the facts, one finding.

use std::net::IpAddr;

use control::config::{self, Environment};
use control::doctor::facts::{Device, Facts, Interface};
use control::doctor::{Severity, examine};
use control::model::Config;

const FILE: &str = r#"
[dataplane]
workers = [1]
memory = "512M"
hash_seed = "000102030405060708090a0b0c0d0e0f"
[[port]]
name = "front"
device = "bond0"
members = ["net_af_packet0,iface=eth1", "net_af_packet1,iface=eth2"]
bond = "lacp"
vlan = 10
addresses = ["10.0.1.1/24"]
host_interface = "wr-front"
[[port]]
name = "back"
device = "bond0"
vlan = 20
addresses = ["10.0.2.1/24"]
mtu = 1600
host_interface = "wr-back"
"#;

fn config(mode: &str) -> Config {
    let text = FILE.replace("\"lacp\"", &format!("{mode:?}"));
    config::parse("w.toml", &text, &Environment::default()).expect("a valid file").config
}

fn member(name: &str) -> Interface {
    Interface {
        name: name.into(),
        mtu: 1600,
        up: true,
        carrier: true,
        rp_filter: 1,
        arp_ignore: 8,
        speed: Some(10_000),
        ..Interface::default()
    }
}

fn well() -> Facts {
    let device = |name: &str| Device::Interface { name: name.into(), shared: true };
    Facts {
        devices: vec![device("eth1"), device("eth2")],
        interfaces: vec![member("eth1"), member("eth2")],
        online_cpus: vec![0, 1],
        huge_pages_mb: 1024,
        available_mb: 4096,
        connections_mb: 56,
        ..Facts::default()
    }
}

type Fault = fn(&mut Facts);
/// Severity, check, and what the finding and its cure contain.
type Expected = (Severity, &'static str, &'static str, &'static str);

#[track_caller]
fn found(mode: &str, fault: Fault, expected: Expected) {
    let mut facts = well();
    fault(&mut facts);
    let report = examine(&config(mode), &facts);
    let found: Vec<_> = report.findings.iter().filter(|f| f.severity != Severity::Note).collect();
    let (severity, check, what, cure) = expected;
    let [finding] = found.as_slice() else { panic!("{expected:?}: {}", report.words()) };
    assert_eq!((finding.severity, finding.check), (severity, check), "{}", report.words());
    assert!(finding.what.starts_with("ports front, back (bond0): "), "{}", finding.what);
    assert!(finding.what.contains(what), "{what}: {}", finding.what);
    assert!(finding.cure.contains(cure), "{cure}: {}", finding.cure);
}

use Severity::{Error, Warning};

#[test]
fn a_bond_without_a_fault_is_well() {
    for mode in ["lacp", "active-backup", "balance-xor"] {
        let report = examine(&config(mode), &well());
        assert!(report.findings.is_empty(), "{mode}: {}", report.words());
    }
}

#[test]
fn each_fault_of_a_member_is_found_once_with_the_bonds_ports() {
    let cases: [(Fault, Expected); 9] = [
        (
            |f| {
                f.interfaces.remove(1);
            },
            (Error, "device", "there is no interface eth2", "that there is: eth1"),
        ),
        (
            |f| f.interfaces[1].up = false,
            (Warning, "device", "eth2 is down", "ip link set eth2 up"),
        ),
        (|f| f.interfaces[0].carrier = false, (Warning, "device", "eth1 has no carrier", "cable")),
        (
            |f| f.interfaces[1].mtu = 1500,
            (Error, "mtu", "mtu = 1600, but interface eth2 has 1500", "ip link set eth2 mtu 1600"),
        ),
        (
            |f| f.interfaces[0].speed = Some(1000),
            (Warning, "bond", "eth1 1000, eth2 10000", "members of one speed"),
        ),
        (
            |f| {
                f.running = true;
                f.interfaces[1].addresses.push(IpAddr::from([192, 0, 2, 7]));
                for (name, net) in [("wr-front", 1), ("wr-back", 2)] {
                    let addresses = vec![IpAddr::from([10, 0, net, 1])];
                    f.interfaces.push(Interface { rp_filter: 0, addresses, ..member(name) });
                }
            },
            (Warning, "bond", "member eth2 has 192.0.2.7", "ip address flush dev eth2"),
        ),
        (
            |f| {
                f.interfaces[0].on_top.push("bond7".into());
                f.interfaces[0].master = Some("bond7".into());
            },
            (
                Warning,
                "in-use",
                "bond7 of the kernel is on top of eth1",
                "ip link set eth1 nomaster",
            ),
        ),
        (
            |f| f.interfaces[0].on_top.push("eth1.10".into()),
            (Warning, "in-use", "eth1.10 of the kernel is on top of eth1", "ip link del eth1.10"),
        ),
        (
            |f| f.interfaces[1].offloads.push("gro".into()),
            (Error, "offloads", "eth2 joins segments", "ethtool -K eth2"),
        ),
    ];
    for (fault, expected) in cases {
        found("lacp", fault, expected);
    }
}

#[test]
fn without_a_member_that_carries_on_one_that_is_down_is_an_error() {
    let mut facts = well();
    facts.interfaces.iter_mut().for_each(|interface| interface.up = false);
    let words = examine(&config("lacp"), &facts).words();
    assert!(words.contains("2 errors, 0 warnings"), "{words}");
}

#[test]
fn speeds_matter_only_where_members_share_the_traffic() {
    let mut facts = well();
    facts.interfaces[0].speed = Some(1000);
    assert!(examine(&config("active-backup"), &facts).is_well());
    assert!(!examine(&config("balance-xor"), &facts).is_well());
    facts.interfaces[0].speed = None;
    assert!(examine(&config("balance-xor"), &facts).is_well(), "one that nobody knows");
}
