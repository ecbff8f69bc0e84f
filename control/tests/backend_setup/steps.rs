//! Which services need what, and who is told that there is nothing.

use control::backend_setup::step::{Step, TunnelKind};
use control::backend_setup::{Setup, netplan};

use crate::{BASE, FOUR, SIX, config, read, rule, setup};

/// Names, and what they take.
type Devices<'a> = &'a [(&'a str, TunnelKind)];

fn devices(setup: &Setup) -> Vec<(&str, TunnelKind)> {
    let tunnels = setup.steps.iter().filter_map(|step| match step {
        Step::Tunnel(tunnel) => Some((&*tunnel.device, tunnel.kind)),
        _ => None,
    });
    tunnels.collect()
}

const V4: &str = "203.0.113.10";
const V6: &str = "2001:db8:f::10";

#[test]
fn each_kind_and_family_has_its_device() {
    use TunnelKind::{Gre, Ip6gre, Ip6tnl, Ipip, Sit};
    let cases: [(&str, &str, &[&str], Devices); 12] = [
        ("kind = \"ipip\"", FOUR, &[V4], &[("wr-ipip", Ipip)]),
        ("kind = \"ipip\"", FOUR, &[V6], &[("wr-sit", Sit)]),
        ("kind = \"ipip\"", FOUR, &[V4, V6], &[("wr-ipip", Ipip), ("wr-sit", Sit)]),
        ("kind = \"ipip\"", SIX, &[V4], &[("wr-ip6tnl", Ip6tnl)]),
        ("kind = \"ipip\"", SIX, &[V6], &[("wr-ip6tnl", Ip6tnl)]),
        ("kind = \"gue\"", FOUR, &[V6], &[("wr-sit", Sit)]),
        ("kind = \"gue\"", SIX, &[V4, V6], &[("wr-ip6tnl", Ip6tnl)]),
        ("kind = \"gre\"", FOUR, &[V4, V6], &[("wr-gre", Gre(None))]),
        ("kind = \"gre\", gre_key = 7", FOUR, &[V4], &[("wrgre-7", Gre(Some(7)))]),
        ("kind = \"gre\"", SIX, &[V6], &[("wr-ip6gre", Ip6gre(None))]),
        (
            "kind = \"gre\", gre_key = 4294967295",
            SIX,
            &[V6],
            &[("wrgre6-ffffffff", Ip6gre(Some(u32::MAX)))],
        ),
        ("kind = \"l2\"", FOUR, &[V4], &[]),
    ];
    for (kind, backends, vips, expected) in cases {
        assert_eq!(devices(&setup(kind, backends, vips)), expected, "{kind} {backends} {vips:?}");
    }
}

#[test]
fn a_key_of_the_service_is_its_names() {
    let key = |setup: &Setup| devices(setup)[0].1;
    let TunnelKind::Gre(Some(one)) =
        key(&setup("kind = \"gre\", gre_key = \"service\"", FOUR, &[V4]))
    else {
        panic!("no key")
    };
    let other = key(&setup("kind = \"gre\", gre_key = \"service\"", SIX, &[V6]));
    assert_eq!(other, TunnelKind::Ip6gre(Some(one)));
}

fn clamps(setup: &Setup) -> Vec<u16> {
    let segments = setup.steps.iter().filter_map(|step| match step {
        Step::Clamp { segments, .. } => Some(segments.iter().map(|(_, mss)| *mss)),
        _ => None,
    });
    segments.flatten().collect()
}

#[test]
fn segments_are_clamped_to_the_ports_mtu_less_the_outer_header_and_40_or_60() {
    let cases: [(&str, &str, [u16; 2]); 6] = [
        ("kind = \"ipip\"", FOUR, [1440, 1420]),
        ("kind = \"ipip\"", SIX, [1420, 1400]),
        ("kind = \"gre\", gre_key = 1", FOUR, [1432, 1412]),
        ("kind = \"gre\"", SIX, [1416, 1396]),
        ("kind = \"gue\"", FOUR, [1428, 1408]),
        ("kind = \"gue\", gue_variant = 1", SIX, [1412, 1392]),
    ];
    for (kind, backends, expected) in cases {
        assert_eq!(clamps(&setup(kind, backends, &[V4, V6])), expected, "{kind} {backends}");
    }
    assert_eq!(
        clamps(&setup("kind = \"l2\"", FOUR, &[V4])),
        Vec::<u16>::new(),
        "no header, no clamp"
    );
}

#[test]
fn nothing_is_clamped_where_whatever_arrives_fits_or_no_tcp_comes() {
    let wide = r#"[[port]]
name = "back"
device = "net_null1"
addresses = ["10.0.2.1/24"]
mtu = 1520
"#;
    let text = BASE.replace("ENCAPSULATION", "kind = \"ipip\"");
    let backends = r#"{ name = "a1", address = "10.0.2.11" }"#;
    let back =
        text.replace("BACKENDS", backends).replace("[[service]]", &format!("{wide}[[service]]"));
    let setup = |text: &str| Setup::new(&read(text), "web", None).expect("a VIP");
    // The port at the back has room for what the one in front takes; but it takes more itself.
    assert_eq!(clamps(&setup(&(back + &rule("r", V4, "TCP")))), [1460]);
    let four = text.replace("BACKENDS", FOUR);
    assert_eq!(clamps(&setup(&(four.clone() + &rule("r", V4, "UDP")))), Vec::<u16>::new());
    assert_eq!(clamps(&setup(&(four + &rule("r", V4, "L3_DEFAULT")))), [1440]);
}

#[test]
fn every_vip_counts_once_whatever_rules_lead_to_it() {
    let text = BASE.replace("ENCAPSULATION", "kind = \"ipip\"").replace("BACKENDS", FOUR)
        + &rule("tcp", V4, "TCP")
        + &rule("udp", V4, "UDP")
        + &rule("net", "203.0.113.128/25", "TCP");
    let setup = Setup::new(&read(&text), "web", None).expect("a VIP");
    let vips: Vec<_> = setup.vips.iter().map(ToString::to_string).collect();
    assert_eq!(vips, ["203.0.113.10/32", "203.0.113.128/25"]);
}

#[test]
fn sources_are_only_loosened_where_ipv4_needs_it() {
    let entropy = "kind = \"ipip\", source_entropy = true, entropy_prefix = [\"172.16.0.0/16\", \"2001:db8:e::/64\"]";
    let cases = [
        ("kind = \"ipip\"", FOUR, V4, true, false),
        ("kind = \"ipip\"", FOUR, V6, false, false),
        ("kind = \"ipip\"", SIX, V4, true, false),
        ("kind = \"ipip\"", SIX, V6, false, false),
        (entropy, FOUR, V6, false, true),
        (entropy, SIX, V6, false, false),
        ("kind = \"l2\"", FOUR, V4, false, true),
        ("kind = \"l2\"", SIX, V6, false, false),
    ];
    for (kind, backends, vip, tunnel, link) in cases {
        let setup = setup(kind, backends, &[vip]);
        let loose = |step: &Step| matches!(step, Step::LooseTunnel { .. });
        assert_eq!(setup.steps.iter().any(loose), tunnel, "{kind} {backends} {vip}");
        assert_eq!(setup.steps.contains(&Step::LooseLink), link, "{kind} {backends} {vip}");
        assert_eq!(setup.steps.contains(&Step::Quiet), vip == V4, "{kind} {backends} {vip}");
    }
}

#[test]
fn what_does_not_exist_is_refused_with_what_does() {
    let config = config("kind = \"ipip\"", FOUR, &[V4]);
    let refused =
        |service, backend| Setup::new(&config, service, backend).expect_err("no such").to_string();
    assert_eq!(refused("wbe", None), "there is no service \"wbe\"; there are: web");
    assert_eq!(refused("webb", None), "there is no service \"webb\"; did you mean \"web\"?");
    assert_eq!(
        refused("web", Some("a1")),
        "service \"web\" has no backend \"a1\"; there are: rack-a/a1, rack-a/a2"
    );
    let error = Setup::new(&super::config("kind = \"ipip\"", FOUR, &[]), "web", None);
    let error = error.expect_err("no VIP").to_string();
    assert!(error.contains("no forwarding_rule leads to service \"web\""), "{error}");
}

#[test]
fn a_netplan_file_is_for_one_host() {
    let config = config("kind = \"ipip\"", FOUR, &[V4]);
    let all = Setup::new(&config, "web", None).expect("a VIP");
    let error = netplan::up(&all).expect_err("two hosts").to_string();
    assert!(error.ends_with("choose one: --backend rack-a/a1, --backend rack-a/a2"), "{error}");
    let one = Setup::new(&config, "web", Some("rack-a/a2")).expect("a VIP");
    let text = netplan::up(&one).expect("one host");
    assert!(text.contains("local: \"10.0.1.12\"") && !text.contains("10.0.1.11"), "{text}");
}
