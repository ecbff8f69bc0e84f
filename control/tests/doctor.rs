//! What `windrose doctor` finds, as a table: one fault in the facts, one finding with its cure.

use std::net::IpAddr;

use control::config::{self, Environment};
use control::doctor::facts::{Device, FAR, Facts, Interface, Tun};
use control::doctor::{Severity, examine};
use control::model::Config;
use control::netlink::{Neighbour, Step, Verdict, Way};
use tables::Mac;

const FILE: &str = r#"
[dataplane]
workers = [1]
memory = "512M"
hash_seed = "000102030405060708090a0b0c0d0e0f"
[[port]]
name = "uplink"
device = "net_af_packet0,iface=eth1"
addresses = ["10.0.1.1/24"]
gateways = ["10.0.1.254"]
mtu = 1600
host_interface = "wr-uplink"
[[port]]
name = "bare"
device = "0000:01:00.0"
addresses = ["10.0.2.1/24"]
neighbours = { "10.0.2.11" = "02:00:00:00:00:11" }
[[service]]
name = "web"
[[service.group]]
name = "rack"
backends = [
  { name = "near", address = "10.0.1.11" },
  { name = "far", address = "192.0.2.99" },
  { name = "static", address = "10.0.2.11" },
]
[[forwarding_rule]]
name = "web"
address = "203.0.113.10"
protocol = "TCP"
ports = [80]
service = "web"
"#;

fn config() -> Config {
    // With room for the tunnel at the second port too.
    let text =
        FILE.replace("addresses = [\"10.0.2.1/24\"]", "addresses = [\"10.0.2.1/24\"]\nmtu = 1520");
    config::parse("w.toml", &text, &Environment::default()).expect("a valid file").config
}

fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

const MAC: Mac = Mac([2, 0, 0, 0, 0, 1]);

fn interface(name: &str) -> Interface {
    Interface { name: name.into(), mtu: 1600, up: true, carrier: true, ..Interface::default() }
}

fn way(neighbour: &str, known: Option<Neighbour>) -> Verdict {
    let step = Step { interface: 0, neighbour: address(neighbour), weight: 1, known };
    Verdict::Through(Way { length: 24, steps: vec![step], mtu: None })
}

/// A machine on which it runs and nothing is wrong.
fn running() -> Facts {
    let known = Neighbour::Known(MAC);
    Facts {
        running: true,
        devices: vec![
            Device::Interface { name: "eth1".into(), shared: true },
            Device::Pci {
                address: "0000:01:00.0".into(),
                present: true,
                driver: Some("vfio-pci".into()),
            },
        ],
        interfaces: vec![
            Interface { rp_filter: 1, arp_ignore: 8, ..interface("eth1") },
            Interface { addresses: vec![address("10.0.1.1")], ..interface("wr-uplink") },
            interface("eth0"),
        ],
        routes: [
            (address("10.0.1.11"), way("10.0.1.11", Some(known))),
            (address("192.0.2.99"), way("10.0.1.254", Some(known))),
            (FAR, Verdict::NoRoute),
        ]
        .into(),
        neighbours: [((0, address("10.0.1.254")), known)].into(),
        online_cpus: vec![0, 1],
        huge_pages_mb: 1024,
        available_mb: 4096,
        connections_mb: 56,
        tun: Tun::Ready,
    }
}

/// The same before it runs.
fn stopped() -> Facts {
    let mut facts = Facts { running: false, neighbours: [].into(), ..running() };
    facts.interfaces.retain(|interface| interface.name != "wr-uplink");
    facts.routes.values_mut().for_each(|verdict| *verdict = Verdict::NoRoute);
    facts
}

#[test]
fn a_machine_without_a_fault_is_well_running_or_not() {
    let report = examine(&config(), &running());
    assert!(report.findings.is_empty(), "{}", report.words());
    assert_eq!(report.words(), "nothing is wrong; windrose is running\n");
    let report = examine(&config(), &stopped());
    assert!(report.is_well(), "{}", report.words());
    assert_eq!(report.findings.len(), 1, "what cannot be seen is told once: {}", report.words());
    assert_eq!(report.findings[0].severity, Severity::Note);
}

type Fault = fn(&mut Facts);
/// Severity, check, and what the finding and its cure contain.
type Expected = (Severity, &'static str, &'static str, &'static str);

/// The finding that a fault makes of a machine that is well.
#[track_caller]
fn found(facts: Facts, fault: Fault, expected: Expected) {
    let mut facts = facts;
    fault(&mut facts);
    let report = examine(&config(), &facts);
    let found: Vec<_> = report.findings.iter().filter(|f| f.severity != Severity::Note).collect();
    let (severity, check, what, cure) = expected;
    let [finding] = found.as_slice() else { panic!("{expected:?}: {}", report.words()) };
    assert_eq!((finding.severity, finding.check), (severity, check), "{}", report.words());
    assert!(finding.what.contains(what), "{what}: {}", finding.what);
    assert!(finding.cure.contains(cure), "{cure}: {}", finding.cure);
}

use Severity::{Error, Warning};

#[test]
fn each_fault_of_a_machine_that_is_to_run_is_found() {
    let cases: [(Fault, Expected); 10] = [
        (|f| f.huge_pages_mb = 0, (Warning, "huge-pages", "want 568 MB", "vm.nr_hugepages=284")),
        (|f| f.tun = Tun::Missing, (Error, "tun", "/dev/net/tun", "modprobe tun")),
        (|f| f.tun = Tun::Denied, (Error, "tun", "/dev/net/tun", "CAP_NET_ADMIN")),
        (
            |f| f.interfaces.retain(|i| i.name != "eth1"),
            (Error, "device", "there is no interface eth1", "that there is: eth0"),
        ),
        (|f| f.interfaces[0].up = false, (Error, "device", "eth1 is down", "ip link set eth1 up")),
        (|f| f.interfaces[0].carrier = false, (Warning, "device", "no carrier", "cable")),
        (|f| f.interfaces[0].mtu = 1500, (Error, "mtu", "has 1500", "ip link set eth1 mtu 1600")),
        (
            |f| {
                f.devices[1] =
                    Device::Pci { address: "0000:01:00.0".into(), present: false, driver: None };
            },
            (Error, "device", "no PCI device 0000:01:00.0", "lspci"),
        ),
        (
            |f| {
                f.devices[1] = Device::Pci {
                    address: "0000:01:00.0".into(),
                    present: true,
                    driver: Some("ixgbe".into()),
                };
            },
            (Error, "device", "driver ixgbe has it", "dpdk-devbind.py --bind=vfio-pci"),
        ),
        (
            |f| f.interfaces.push(interface("wr-uplink")),
            (Error, "host-interface", "wr-uplink is there already", "ip link del wr-uplink"),
        ),
    ];
    for (fault, expected) in cases {
        found(stopped(), fault, expected);
    }
}

#[test]
fn a_kernel_that_windrose_will_quieten_is_no_fault_but_one_that_it_leaves_alone_is() {
    let loud = |facts: &mut Facts| facts.interfaces[0].arp_ignore = 0;
    let mut facts = stopped();
    loud(&mut facts);
    facts.interfaces[0].addresses = vec![address("fe80::1")];
    assert!(examine(&config(), &facts).is_well(), "its own start sets it");
    facts.interfaces[0].addresses.push(address("192.0.2.7"));
    found(facts, loud, (Warning, "answers-too", "duplicates", "eth1.arp_ignore=8"));
}

#[test]
fn too_little_memory_is_an_error_beside_the_huge_pages_that_are_missing() {
    let facts = Facts { huge_pages_mb: 0, available_mb: 100, ..stopped() };
    let report = examine(&config(), &facts);
    assert!(report.words().starts_with("error: beside huge pages 568 MB"), "{}", report.words());
    let enough = Facts { huge_pages_mb: 568, available_mb: 0, ..stopped() };
    assert!(examine(&config(), &enough).is_well(), "all of it is in huge pages");
    let taken = Facts { huge_pages_mb: 0, available_mb: 0, ..running() };
    assert!(examine(&config(), &taken).is_well(), "they are its own already");
}

#[test]
fn each_fault_of_a_running_appliance_is_found() {
    let cases: [(Fault, Expected); 14] = [
        (
            |f| f.interfaces[0].arp_ignore = 1,
            (Warning, "answers-too", "duplicates", "sysctl -w net.ipv4.conf.eth1.arp_ignore=8"),
        ),
        (|f| f.interfaces[0].rp_filter = 2, (Warning, "answers-too", "", "eth1.rp_filter=1")),
        (|f| f.interfaces[0].ipv6 = true, (Warning, "answers-too", "", "eth1.disable_ipv6=1")),
        (
            |f| f.interfaces[0].offloads = vec!["gro".into()],
            (Error, "offloads", "(gro)", "ethtool -K eth1"),
        ),
        (
            |f| f.interfaces[1].rp_filter = 1,
            (Warning, "rp-filter", "wr-uplink drops", "net.ipv4.conf.wr-uplink.rp_filter=2"),
        ),
        (
            |f| f.interfaces[2].addresses.push(address("203.0.113.10")),
            (Error, "vip-here", "VIP of rule web", "ip address flush dev eth0 to 203.0.113.10"),
        ),
        (
            |f| f.interfaces[0].addresses.push(address("10.0.1.1")),
            (Error, "address-here", "is on eth1", "windrose puts it on wr-uplink"),
        ),
        (
            |f| f.interfaces[1].addresses.clear(),
            (Error, "address-here", "10.0.1.1, of port uplink, is not on", "windrose reload"),
        ),
        (
            |f| f.neighbours.clear(),
            (Warning, "next-hop", "gateway 10.0.1.254 has not been asked", "ping -I wr-uplink"),
        ),
        (
            |f| {
                f.neighbours.insert((0, address("10.0.1.254")), Neighbour::Unresolved);
            },
            (Error, "next-hop", "gateway 10.0.1.254 does not answer", "is it up"),
        ),
        (
            |f| {
                f.routes
                    .insert(address("10.0.1.11"), way("10.0.1.11", Some(Neighbour::Unresolved)));
            },
            (Error, "next-hop", "backend 10.0.1.11: its next hop 10.0.1.11", "ping -I wr-uplink"),
        ),
        (
            |f| {
                f.routes.insert(address("192.0.2.99"), Verdict::Nowhere(24));
            },
            (Error, "next-hop", "unreachable", "ip route get 192.0.2.99"),
        ),
        (
            |f| f.interfaces.retain(|i| i.name != "wr-uplink"),
            (Error, "host-interface", "is gone", "restart windrose"),
        ),
        (
            |f| {
                let Some(Verdict::Through(way)) = f.routes.get_mut(&address("10.0.1.11")) else {
                    return;
                };
                way.mtu = Some(1400);
            },
            (Warning, "room", "up to 1380 bytes", "windrose backend-setup web"),
        ),
    ];
    for (fault, expected) in cases {
        found(running(), fault, expected);
    }
}

#[test]
fn a_strict_check_harms_nobody_where_the_default_route_is_over_the_host_interface() {
    let mut facts = running();
    facts.interfaces[1].rp_filter = 1;
    facts.routes.insert(FAR, way("10.0.1.254", Some(Neighbour::Known(MAC))));
    assert!(examine(&config(), &facts).is_well());
}

fn of(text: &str) -> Config {
    config::parse("w.toml", text, &Environment::default()).expect("a valid file").config
}

#[test]
fn the_tunnels_room_is_the_ports_mtu_less_the_outer_header() {
    let cases = [
        ("kind = \"ipip\"", "1520", None),
        ("kind = \"ipip\"", "1519", Some("up to 1499 bytes")),
        ("kind = \"gue\"", "1500", Some("up to 1468 bytes")),
        ("kind = \"l2\"", "1500", None),
    ];
    for (kind, mtu, expected) in cases {
        let text = FILE.replace("mtu = 1600", &format!("mtu = {mtu}"));
        let text = text
            .replace("addresses = [\"10.0.2.1/24\"]", "addresses = [\"10.0.2.1/24\"]\nmtu = 1600");
        let text =
            text.replace("[[service]]\n", &format!("[[service]]\nencapsulation = {{ {kind} }}\n"));
        let text = text.replace("  { name = \"far\", address = \"192.0.2.99\" },\n", "");
        let report = examine(&of(&text), &running());
        let room: Vec<_> = report.findings.iter().filter(|f| f.check == "room").collect();
        match expected {
            None => assert!(room.is_empty(), "{kind} {mtu}: {room:?}"),
            Some(what) => assert!(room[0].what.contains(what), "{kind} {mtu}: {room:?}"),
        }
    }
}

#[test]
fn json_has_the_same_as_the_words() {
    let facts = Facts { tun: Tun::Missing, ..stopped() };
    let json = serde_json::json!(examine(&config(), &facts));
    assert_eq!(json["running"], false);
    assert_eq!(json["findings"][0]["severity"], "error");
    assert_eq!(json["findings"][0]["check"], "tun");
    assert!(json["findings"][0]["cure"].as_str().is_some_and(|cure| cure.contains("modprobe")));
}
