//! What a person sees when a file is wrong. `BLESS=1 cargo test` writes the golden text anew; read
//! the difference before committing it.

use std::io::Write;
use std::path::Path;

use control::config::{self, Diagnostics, Environment};

fn errors(text: &str) -> Diagnostics {
    let environment = Environment { online_cpus: vec![0, 1, 2, 3], ..Environment::default() };
    config::parse("windrose.toml", text, &environment).expect_err("refused")
}

#[test]
fn a_file_with_many_errors_shows_them_all_with_their_places() {
    let shown = errors(include_str!("fixtures/bad.toml")).to_string();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/bad.txt");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &shown).expect("written");
    }
    assert_eq!(shown, std::fs::read_to_string(&path).expect("the golden text"));
}

#[test]
fn several_syntax_errors_are_shown_together() {
    let shown = errors("[dataplane\nworkers = [1\n\n[[port]]\nname = \"a\nmtu = 15 00\n");
    assert!(shown.errors() > 1, "{shown}");
    assert_eq!(shown.position(&shown.items()[0]).map(|(line, _)| line), Some(1), "{shown}");
}

/// One line each: the file, and what the only error must say.
const ONE_ERROR: &[(&str, &[&str])] = &[
    ("workerz = 1", &["workerz is not a key", "allowed: dataplane"]),
    ("dataplane = 3", &["dataplane = 3: an integer", "allowed: a table"]),
    ("[dataplane]\nworkers = 1", &["workers = 1: an integer", "allowed: a list"]),
    ("[dataplane]\nconntrack_entries = 999", &["out of bounds", "1000 to 100000000"]),
    ("[dataplane]\nconntrack_entries = 99999999999999999999", &["out of bounds"]),
    ("[dataplane]\ninsert_rate = -1", &["out of bounds", "0 to 100000000"]),
    ("[dataplane]\nhash_seed = \"abc\"", &["3 digits", "32 hexadecimal digits"]),
    ("[dataplane]\nmemory = \"1M\"", &["out of bounds", "\"64M\""]),
    ("[dataplane]\nhugepages = \"of\"", &["did you mean \"off\"?", "\"require\""]),
    ("[dataplane]\nmaglev_table_size = 65536", &["not prime", "65521 and 65537"]),
    ("[admin]\nlisten = \"localhost\"", &["not an address with a port"]),
    (
        "[admin]\nsocket = \"/run/0123456789/0123456789/0123456789/0123456789/0123456789/0123456789/0123456789/0123456789/0123456789/socket\"",
        &["too long for a socket's path", "up to 107 bytes"],
    ),
    (
        "[[port]]\nname = \"a\"\ndevice = \"net_af_packet0,iface=eth1\"\nhost_interface = \"eth1\"",
        &["host_interface = \"eth1\": an interface that is there already", "Windrose makes"],
    ),
    (
        "[[port]]\nname = \"a\"\ndevice = \"net_af_packet0,iface=eth1\"\n\
         [[port]]\nname = \"b\"\ndevice = \"net_null0\"\nhost_interface = \"eth1\"",
        &["port \"b\": host_interface = \"eth1\": an interface that is there already"],
    ),
    (
        "[[port]]\nname = \"a\"\ndevice = \"net_null0\"\nhost_interface = \"lo\"",
        &["host_interface = \"lo\": an interface that is there already", "\"wr-uplink\""],
    ),
    ("[[client_zone]]\nprefix = \"10.0.0.1\"\nzone = \"a\"", &["the prefix length is missing"]),
    ("[[client_zone]]\nprefix = \"10.0.0.1/8\"\nzone = \"a\"", &["10.0.0.0/8"]),
    ("[encapsulation]\nsource = [\"10.0.0.1\", \"10.0.0.2\"]", &["a second source"]),
    (
        "[[service]]\nname = \"s\"\n[[forwarding_rule]]\nname = \"r\"\naddress = \"192.0.2.1\"\n\
         protocol = \"TCP\"\nservice = \"s\"\nports = [\"+80\"]",
        &["ports = \"+80\"", "a port from 1 to 65535"],
    ),
    ("[encapsulation]\nsource = [\"224.0.0.1\"]", &["a multicast address"]),
    ("[encapsulation]\nsource_entropy = true", &["no prefix to spread", "give entropy_prefix"]),
    (
        "[encapsulation]\nentropy_prefix = [\"10.0.0.0/8\", \"11.0.0.0/8\"]",
        &["a second prefix of its family"],
    ),
    ("[encapsulation]\nentropy_prefix = [\"10.0.0.0/29\"]", &["of this length", "8 to 28"]),
    ("[encapsulation]\nentropy_prefix = [\"2001:db8::/31\"]", &["of this length", "32 to 124"]),
    ("[encapsulation]\nentropy_prefix = [\"ff00::/64\"]", &["a multicast address"]),
    ("[encapsulation]\nentropy_prefix = [\"10.1.0.0/8\"]", &["bits beyond", "10.0.0.0/8"]),
    ("[encapsulation]\ngue_port = 0", &["out of bounds", "1 to 65535"]),
    ("[encapsulation]\ngue_variant = 2", &["out of bounds", "0 to 1"]),
    ("[encapsulation]\nl3dsr_dscp = 64", &["out of bounds", "0 to 63"]),
    ("[encapsulation]\nkind = \"l3\"", &["did you mean \"l2\"?", "\"l3dsr\""]),
    ("[encapsulation]\ndscp = 64", &["\"copy\", \"zero\", or a number from 0 to 63"]),
    ("[[port]]\nname = \"a\"", &["port \"a\": device is missing"]),
    (
        "[[port]]\nname = \"a\"\ndevice = \"net_null0\"\nvlan = 5\n[[port]]\nname = \"b\"\ndevice = \"net_null0\"\nvlan = 5",
        &["another port has this device and this vlan", "once for each vlan"],
    ),
    (
        "[[port]]\nname = \"a\"\ndevice = \"net_bonding0\"\nbond = \"lacp\"\nmembers = [\"net_null0\", \"net_null1\"]",
        &["not a name for a bond", "for example \"bond0\""],
    ),
    (
        "[[port]]\nname = \"a\"\ndevice = \"bond0\"\nbond = \"lacp\"",
        &["bond = \"lacp\": without members", "members = [\"DEVICE\", \"DEVICE\"]"],
    ),
    (
        "[[port]]\nname = \"a\"\ndevice = \"bond0\"\nmembers = [\"net_null0\", \"net_null1\"]",
        &["without bond", "\"active-backup\""],
    ),
    (
        "[[port]]\nname = \"a\"\ndevice = \"bond0\"\nbond = \"lacp\"\nmembers = [\"net_null0\"]",
        &["one member", "2 to 8 devices"],
    ),
    (
        "[[port]]\nname = \"a\"\ndevice = \"bond0\"\nbond = \"lacp\"\nmembers = [\"net_null0\", \"net_null0\"]",
        &["this device is a member already"],
    ),
    (
        "[[port]]\nname = \"a\"\ndevice = \"bond0\"\nbond = \"lacp\"\nmembers = [\"net_null0\", \"eth1\"]",
        &["\"eth1\": not a device", "\"net_af_packet0,iface=eth1\""],
    ),
    (
        "[[port]]\nname = \"a\"\ndevice = \"eth1\"",
        &["\"eth1\": not a device of DPDK, nor a bond", "\"net_af_packet0,iface=eth1\""],
    ),
    (
        "[[port]]\nname = \"a\"\ndevice = \"0000:01:00.0\"\nbond = \"lacp\"\nmembers = [\"0000:01:00.1\", \"0000:01:00.2\"]",
        &["not a name for a bond", "with members, device is a name for the bond"],
    ),
    (
        "[[port]]\nname = \"a\"\ndevice = \"bond0\"\nbond = \"lacp\"\nmembers = [\"net_af_packet0,iface=eth1\", \"net_af_packet0,iface=eth2\"]",
        &["has the same name in DPDK, net_af_packet0", "net_af_packet0, net_af_packet1"],
    ),
    (
        "[[port]]\nname = \"a\"\ndevice = \"net_af_packet0,iface=eth1\"\nvlan = 1\n[[port]]\nname = \"b\"\ndevice = \"net_af_packet1,iface=eth1\"\nvlan = 2",
        &[
            "\"net_af_packet0,iface=eth1\" is on the same interface",
            "the same device, to the letter",
        ],
    ),
    (
        "[[port]]\nname = \"a\"\ndevice = \"0000:01:00.0\"\n[[port]]\nname = \"b\"\ndevice = \"01:00.0,rx=1\"",
        &["has the same name in DPDK, 0000:01:00.0", "each card once"],
    ),
    (
        "[[port]]\nname = \"a\"\ndevice = \"bond0\"\nbond = \"lacp\"\nmembers = [\"0000:01:00.0\", \"net_af_packet0,iface=eth1\"]",
        &["not driven as the first member is", "\"active-backup\" takes both"],
    ),
    (
        "[[port]]\nname = \"a\"\ndevice = \"bond0\"\nvlan = 1\nbond = \"lacp\"\nmembers = [\"net_null0\", \"net_null1\"]\n[[port]]\nname = \"b\"\ndevice = \"bond0\"\nvlan = 2\nbond = \"lacp\"\nmembers = [\"net_null2\", \"net_null3\"]",
        &["another port gives the members of this bond", "give them once"],
    ),
    (
        "[[port]]\nname = \"a\"\ndevice = \"net_null0\"\n[[port]]\nname = \"b\"\ndevice = \"bond0\"\nbond = \"lacp\"\nmembers = [\"net_null0\", \"net_null1\"]",
        &["a port of its own has this device"],
    ),
    (
        "[[port]]\nname = \"a\"\ndevice = \"net_null0\"\nannounce_vips = \"sometimes\"",
        &["\"always\", \"while-eligible\", \"never\""],
    ),
    ("[[port]]\nname = \"a/b\"\ndevice = \"net_null0\"", &["'/' may not stand in a name"]),
    (
        "[[port]]\nname = \"a\"\ndevice = \"net_null0\"\nmtu = 1000\naddresses = [\"2001:db8::1/64\"]",
        &["1280"],
    ),
    (
        "[[port]]\nname = \"a\"\ndevice = \"net_null0\"\naddresses = [\"10.0.0.0/24\"]",
        &["the prefix itself"],
    ),
    (
        "[[port]]\nname = \"a\"\ndevice = \"net_null0\"\ngateways = [\"10.0.0.1\"]",
        &["no IPv4 address"],
    ),
    (
        "[[port]]\nname = \"a\"\ndevice = \"net_null0\"\naddresses = [\"10.0.0.2/24\"]\ngateways = [\"10.0.0.255\"]",
        &["the prefix's broadcast address", "10.0.0.0/24"],
    ),
    ("[[service]]\nname = \"s\"\nprofile = \"gcp-proxy\"", &["not served", "\"native\""]),
    ("[[service]]\nname = \"s\"\nconnect_timeout = \"5s\"", &["a key of gcp-proxy services"]),
    ("[[service]]\nname = \"s\"\nidle_timeout = 600", &["an integer", "\"600s\""]),
    (
        "[[service]]\nname = \"s\"\nidle_timeout = \"86401s\"",
        &["profile \"native\"", "1 s to 86400 s"],
    ),
    ("[[service]]\nname = \"s\"\nconnection_draining_timeout = \"3601s\"", &["0 s to 3600 s"]),
    (
        "[[service]]\nname = \"s\"\ndistribution = \"SourceIP\"",
        &["does not take this key", "session_affinity"],
    ),
    (
        "[[service]]\nname = \"s\"\nprofile = \"gcp-external\"\nlocality_lb_policy = \"WEIGHTED_MAGLEV\"",
        &["HTTP health check"],
    ),
    (
        "[[service]]\nname = \"s\"\nlocality_lb_policy = \"RING_HASH\"",
        &["profile \"native\"", "\"WEIGHTED_MAGLEV\""],
    ),
    (
        "[[service]]\nname = \"s\"\nprofile = \"azure\"\nzonal_affinity = {}",
        &["does not take this key"],
    ),
    (
        "[[service]]\nname = \"s\"\nhealth_check = { protocol = \"TCP\", port = 80, timeout = \"6s\" }",
        &["longer than the interval"],
    ),
    (
        "[[service]]\nname = \"s\"\nhealth_check = { protocol = \"HTTP\", port = 80, request_path = \"x\" }",
        &["not a path"],
    ),
    (
        "[[service]]\nname = \"s\"\nhealth_check = { protocol = \"TCP\", port = 80, tls = true }",
        &["has no tls", "\"HTTP2\", \"GRPC\""],
    ),
    (
        "[[service]]\nname = \"s\"\nhealth_check = { protocol = \"HTTP\", port = 80, tls_ca = \"/x\" }",
        &["this check's protocol has no tls_ca", "for \"HTTPS\", \"HTTP2\", \"SSL\", \"GRPC\""],
    ),
    (
        "[[service]]\nname = \"s\"\nhealth_check = { protocol = \"SSL\", port = 80, tls_ca = \"ca.pem\" }",
        &["tls_ca = \"ca.pem\": not a path from \"/\"", "certificates in PEM"],
    ),
    (
        "[[service]]\nname = \"s\"\nhealth_check = { protocol = \"SSL\", port = 80, tls_ca = \"/no/ca.pem\" }",
        &["tls_ca = \"/no/ca.pem\": there is no such file"],
    ),
    (
        "[[service]]\nname = \"s\"\nhealth_check = { protocol = \"SSL\", port = 80, tls_ca = \"/dev/null\" }",
        &["a pipe or a device"],
    ),
    (
        "[[service]]\nname = \"s\"\nhealth_check = { protocol = \"SSL\", port = 80, tls_ca = \"/etc\" }",
        &["this is a directory"],
    ),
    (
        "[[service]]\nname = \"s\"\nhealth_check = { protocol = \"SSL\", port = 80, tls_ca = \"/etc/passwd\" }",
        &["it has no certificate", "BEGIN CERTIFICATE"],
    ),
    (
        "[[service]]\nname = \"s\"\nhealth_check = { protocol = \"HTTP\", port = 80, expect = \"x\" }",
        &["has no expect", "\"TCP\", \"SSL\""],
    ),
    (
        "[[service]]\nname = \"s\"\nhealth_check = { protocol = \"SSL\", port = 80, host = \"a b\" }",
        &["not a host"],
    ),
    // W-8: whether a probe can leave, and its answer come back.
    (
        "[[port]]\nname = \"p\"\ndevice = \"net_null0\"\naddresses = [\"10.0.0.2/24\"]\n\
         [[service]]\nname = \"s\"\nhealth_check = { protocol = \"HTTP\", port = 80 }",
        &["no [[port]] has one", "target = \"address\""],
    ),
    (
        "[[port]]\nname = \"p\"\ndevice = \"net_null0\"\nhost_interface = \"wr0\"\naddresses = [\"10.0.0.2/24\"]\n\
         [[service]]\nname = \"s\"\nhealth_check = { protocol = \"HTTP\", port = 80 }\n\
         [[forwarding_rule]]\nname = \"r\"\naddress = \"2001:db8::9\"\nprotocol = \"TCP\"\nports = [80]\nservice = \"s\"",
        &["2001:db8::9 needs an IPv6 address", "give such a port an IPv6 address"],
    ),
    (
        "[[port]]\nname = \"p\"\ndevice = \"net_null0\"\nhost_interface = \"wr0\"\naddresses = [\"10.0.0.2/24\"]\n\
         [[service]]\nname = \"s\"\nhealth_check = { protocol = \"HTTP\", port = 80 }\n\
         [[forwarding_rule]]\nname = \"r\"\naddress = \"192.0.2.0/24\"\nprotocol = \"TCP\"\nports = [80]\nservice = \"s\"",
        &["for prefixes"],
    ),
    (
        "[[forwarding_rule]]\nname = \"r\"\naddress = \"10.0.0.1\"\nprotocol = \"TCP\"\nports = \"ALL\"",
        &["service is missing"],
    ),
    (
        "[[forwarding_rule]]\nname = \"r\"\naddress = \"10.0.0.1\"\nprotocol = \"TCP\"\nports = [0]\nservice = \"s\"\n[[service]]\nname = \"s\"",
        &["a port from 1 to 65535"],
    ),
    (
        "[[forwarding_rule]]\nname = \"r\"\naddress = \"10.0.0.1\"\nprotocol = \"TCP\"\nports = [80, \"79-81\"]\nservice = \"s\"\n[[service]]\nname = \"s\"",
        &["listed twice"],
    ),
    (
        "[[forwarding_rule]]\nname = \"r\"\naddress = \"10.0.0.0/8\"\nprotocol = \"TCP\"\nports = [80]\nservice = \"s\"\n[[service]]\nname = \"s\"\nprofile = \"gcp-external\"",
        &["takes no prefix"],
    ),
    ("[[tls_route]]\nname = \"t\"\nsni = [\"a.b\"]\nservices = [\"s\"]", &["not served"]),
];

#[test]
fn each_single_mistake_is_one_error_that_says_what_is_allowed() {
    for (text, signs) in ONE_ERROR {
        let shown = errors(text);
        assert_eq!(shown.errors(), 1, "{text}\n{shown}");
        for sign in *signs {
            assert!(shown.to_string().contains(sign), "{sign}\n{text}\n{shown}");
        }
    }
}

#[test]
fn more_backends_than_a_tenth_of_the_slots_are_refused() {
    let backend = |i: usize| format!("{{ name = \"b{i}\", address = \"10.0.1.{i}\" }}");
    let file = |n: usize| {
        let backends = (1..=n).map(backend).collect::<Vec<_>>().join(", ");
        format!(
            "[[service]]\nname = \"s\"\nmaglev_table_size = 101\ngroup = [{{ name = \"g\", backends = [{backends}] }}]"
        )
    };
    assert!(config::parse("f", &file(10), &Environment::default()).is_ok());
    let shown = errors(&file(11)).to_string();
    assert!(shown.contains("11 backends are too many") && shown.contains("= 113"), "{shown}");
}

#[test]
fn a_thousand_errors_and_endless_lines_stay_readable() {
    let long = format!("[dataplane]\neal_args = [{}]\n", "1, ".repeat(3_000));
    let shown = errors(&long).to_string();
    assert!(shown.contains("3000 errors, 1 warning (the last 2801 not shown)"));
    assert!(shown.len() < 100_000, "{}", shown.len());
}

/// What a valid file is warned about, beside its seed.
fn warnings(port: &str, backends: &str) -> Vec<String> {
    let seed = "[dataplane]\nhash_seed = \"000102030405060708090a0b0c0d0e0f\"\n";
    let port = format!("{seed}{port}\n[encapsulation]\nsource = [\"10.0.0.2\"]");
    let service =
        format!("[[service]]\nname = \"s\"\ngroup = [{{ name = \"g\", backends = [{backends}] }}]");
    let text = format!("{port}\n{service}\n");
    let loaded = config::parse("f", &text, &Environment::default()).expect("valid");
    assert!(loaded.warnings.clone().off_the_wire().is_empty(), "{}", loaded.warnings);
    let said = loaded.warnings.items().iter().map(|w| format!("{}; {}", w.message, w.help));
    said.collect()
}

#[test]
fn a_vip_or_a_backend_that_no_host_of_the_segment_can_have_is_refused() {
    let text = |vip: &str, backend: &str| {
        format!(
            "[[port]]\nname = \"up\"\ndevice = \"net_null0\"\nhost_interface = \"wr-up\"\n\
             addresses = [\"10.0.0.2/24\", \"10.9.0.0/31\", \"2001:db8::2/64\"]\n\
             [encapsulation]\nsource = [\"10.0.0.2\", \"2001:db8::2\"]\n\
             [[service]]\nname = \"s\"\n[[service.group]]\nname = \"g\"\n\
             backends = [ {{ name = \"b\", address = \"{backend}\" }} ]\n\
             [[forwarding_rule]]\nname = \"r\"\naddress = \"{vip}\"\nprotocol = \"TCP\"\n\
             ports = [80]\nservice = \"s\""
        )
    };
    let (vip, backend) = ("203.0.113.10", "10.1.0.11");
    for (edge, why) in [
        ("10.0.0.0", "the prefix itself, of port \"up\""),
        ("10.0.0.255", "the prefix's broadcast address, of port \"up\""),
        ("2001:db8::", "the prefix itself, of port \"up\""),
        ("fe80::9", "a link-local address"),
    ] {
        for text in [text(edge, backend), text(vip, edge)] {
            let shown = errors(&text);
            assert_eq!(shown.errors(), 1, "{text}\n{shown}");
            assert!(shown.to_string().contains(why), "{shown}");
        }
    }
    // A prefix of two has hosts only, IPv6 has no broadcast, and a network is a network by its port.
    for fine in ["10.9.0.1", "2001:db8::ffff:ffff:ffff:ffff", "10.1.0.255", "10.0.1.0"] {
        for text in [text(fine, backend), text(vip, fine)] {
            assert!(config::parse("w.toml", &text, &Environment::default()).is_ok(), "{text}");
        }
    }
}

#[test]
fn backends_without_a_known_next_hop_are_warned_about_once_for_each_that_is_missing() {
    let port = "[[port]]\nname = \"up\"\ndevice = \"net_null0\"\naddresses = [\"10.0.0.2/24\"]";
    let gateway = format!("{port}\ngateways = [\"10.0.0.1\"]");
    let known = format!("{gateway}\nneighbours = {{ \"10.0.0.1\" = \"02:00:00:00:00:01\" }}");
    let host = format!("{port}\nhost_interface = \"wr-up\"");
    let far = r#"{ name = "a", address = "10.1.0.11" }, { name = "b", address = "10.1.0.12" }"#;
    let near = r#"{ name = "a", address = "10.0.0.11" }"#;
    let dropped = "so its packets are dropped (next_hop_unresolved)";
    let of_far = "backend 10.1.0.11, and 1 backend like it";
    for (port, backends, expected) in [
        ("", far, None),
        (&*known, far, None),
        // The kernel has routes there, and finds neighbours out.
        (&*host, far, None),
        (&*host, near, None),
        (
            port,
            far,
            Some(format!(
                "{of_far}: no port's prefix and no gateway leads there, {dropped}; give a [[port]] a host_interface, or an IPv4 gateway"
            )),
        ),
        (
            &*gateway,
            far,
            Some(format!(
                "{of_far}: port \"up\" has no neighbour 10.0.0.1, {dropped}; give port \"up\" a host_interface, or neighbours = {{ \"10.0.0.1\" = \"MAC\" }}"
            )),
        ),
        (
            &*known,
            near,
            Some(format!(
                "backend 10.0.0.11: port \"up\" has no neighbour 10.0.0.11, {dropped}; give port \"up\" a host_interface, or neighbours = {{ \"10.0.0.11\" = \"MAC\" }}"
            )),
        ),
    ] {
        assert_eq!(warnings(port, backends), Vec::from_iter(expected), "{port}\n{backends}");
    }
}

fn load_error(bytes: &[u8]) -> String {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(bytes).expect("written");
    config::load(file.path()).expect_err("refused").to_string()
}

#[test]
fn a_file_that_cannot_be_read_ends_in_one_sentence() {
    let error = |path: &str| config::load(Path::new(path)).expect_err("refused").to_string();
    assert!(error("/nonexistent/windrose.toml").contains("there is no such file"));
    assert!(error("/").contains("this is a directory"));
    assert!(error("/dev/zero").contains("larger than 16 MB"));
    assert!(load_error(b"a = 1\n\0").contains("a NUL byte in line 2"));
    assert!(load_error(b"a = 1\n\xff").contains("not UTF-8 in line 2"));
    assert!(load_error(&vec![b'#'; 50 << 20]).contains("larger than 16 MB"));
}
