//! What rules that change do to connections.

use super::*;
use crate::config::{self, Environment};

/// Services web and api, one backend each, and these rules: name, address, protocol, ports, service.
fn config(rules: &[[&str; 5]]) -> Config {
    let mut text = String::new();
    for (name, last) in [("web", 1), ("api", 2)] {
        text += &format!(
            "[[service]]\nname = \"{name}\"\nmaglev_table_size = 251\n[[service.group]]\n\
             name = \"a\"\nbackends = [ {{ name = \"b\", address = \"10.1.0.{last}\" }} ]\n"
        );
    }
    for [name, address, protocol, ports, service] in rules {
        text += &format!(
            "[[forwarding_rule]]\nname = \"{name}\"\naddress = \"{address}\"\n\
             protocol = \"{protocol}\"\nports = {ports}\nservice = \"{service}\"\n"
        );
    }
    let loaded = config::parse("c.toml", &text, &Environment::default());
    loaded.unwrap_or_else(|e| panic!("{e}")).config
}

/// What web loses, a line each.
fn lost(old: &[[&str; 5]], new: &[[&str; 5]]) -> Vec<String> {
    let found = diff(&config(old), &config(new)).expect("fits");
    let web = found.services.get("web").cloned().unwrap_or_default();
    let line = |t: &Traffic| {
        let ports = words::ports(&t.ports);
        let to = t.service.as_deref().unwrap_or("-");
        let (rule, address, protocol, becomes) = (&t.rule, &t.address, &t.protocol, t.becomes);
        format!("{rule} {address} {protocol} {ports}: {becomes:?} {to}: {}", t.why)
    };
    web.traffic.iter().map(line).collect()
}

const VIP: &str = "203.0.113.10";
const WEB: [&str; 5] = ["r", VIP, "TCP", "[80, 443]", "web"];

#[test]
fn a_rule_that_leads_elsewhere_or_nowhere_cuts_its_connections() {
    let with = |place: usize, value| {
        let mut rule = WEB;
        rule[place] = value;
        rule
    };
    let other = ["o", VIP, "UDP", "[53]", "api"];
    for (new, expected) in [
        (
            vec![with(4, "api")],
            "r 203.0.113.10 TCP ports 80, 443: Service api: the rule leads to another service",
        ),
        (vec![], "r 203.0.113.10 TCP ports 80, 443: Host -: the rule is removed"),
        (vec![other], "r 203.0.113.10 TCP ports 80, 443: VipNoRule -: the rule is removed"),
        (
            vec![with(3, "[80]")],
            "r 203.0.113.10 TCP port 443: VipNoRule -: the rule no longer takes port 443",
        ),
        (
            vec![with(2, "UDP")],
            "r 203.0.113.10 TCP ports 80, 443: VipNoRule -: the rule no longer takes TCP",
        ),
        (
            vec![with(1, "203.0.113.11")],
            "r 203.0.113.10 TCP ports 80, 443: Host -: the rule no longer takes 203.0.113.10",
        ),
        (
            vec![with(3, "[80]"), ["s", VIP, "TCP", "[443]", "api"]],
            "r 203.0.113.10 TCP port 443: Service api: another rule takes it",
        ),
    ] {
        assert_eq!(lost(&[WEB], &new), [expected]);
    }
}

#[test]
fn what_another_rule_of_the_service_takes_over_is_not_cut() {
    let split = [["s", VIP, "TCP", "[80]", "web"], ["t", VIP, "TCP", "[\"400-500\"]", "web"]];
    for new in [
        &split[..],
        &[["renamed", VIP, "TCP", "[80, 443]", "web"]],
        &[["r", VIP, "L3_DEFAULT", "\"ALL\"", "web"]],
        &[["r", "203.0.113.0/24", "TCP", "\"ALL\"", "web"]],
        &[WEB, ["n", VIP, "TCP", "[8080]", "api"]],
    ] {
        assert_eq!(lost(&[WEB], new), [""; 0]);
    }
}

#[test]
fn a_more_specific_rule_takes_from_one_that_stays() {
    let all = ["all", "203.0.113.0/24", "L3_DEFAULT", "\"ALL\"", "web"];
    let one = ["one", "203.0.113.64", "TCP", "[\"8000-8100\", 9000]", "api"];
    assert_eq!(
        lost(&[all], &[all, one]),
        ["all 203.0.113.64 TCP ports 8000-8100, 9000: Service api: another rule takes it"]
    );
    // The other way round nothing of web is lost, and the removed rule's traffic is api's.
    assert_eq!(lost(&[all, one], &[all]), [""; 0]);
}

#[test]
fn parts_of_a_prefix_are_told_as_ranges() {
    let all = ["all", "203.0.113.0/24", "L3_DEFAULT", "\"ALL\"", "web"];
    let half = ["all", "203.0.113.0/25", "L3_DEFAULT", "\"ALL\"", "web"];
    let why = "the rule no longer takes 203.0.113.128/25";
    assert_eq!(
        lost(&[all], &[half]),
        [format!("all 203.0.113.128/25 L3_DEFAULT all ports: Host -: {why}")]
    );
    let tcp = ["all", "203.0.113.0/24", "TCP", "\"ALL\"", "web"];
    assert_eq!(
        lost(&[all], &[tcp]),
        ["all 203.0.113.0/24 UDP, other protocols all ports: VipNoRule -: \
             the rule no longer takes UDP, other protocols"]
    );
    let six = ["all", "2001:db8::/64", "UDP", "\"ALL\"", "web"];
    let one = ["one", "2001:db8::", "UDP", "[53]", "api"];
    let found = lost(&[six], &[one]);
    assert_eq!(found[0], "all 2001:db8:: UDP port 53: Service api: the rule is removed");
    assert!(found.iter().any(|line| line.contains("2001:db8::1-2001:db8::ffff:ffff:ffff:ffff")));
}

#[test]
fn clients_that_are_left_out_are_told_without_a_share() {
    let old = config(&[WEB]);
    let mut new = old.clone();
    new.rules[0].client_allow = vec!["198.51.100.0/24".parse().expect("a prefix")];
    let found = diff(&old, &new).expect("fits");
    let [traffic] = &*found.services["web"].traffic else { panic!("{found:?}") };
    assert_eq!((traffic.becomes, traffic.established_cut), (Becomes::ClientDenied, None));
    assert!(found.words().contains("dropped (client_denied) by rule r for some clients"));
    // More clients than before: nobody is left out.
    assert!(diff(&new, &old).expect("fits").services.is_empty());
}

/// Each rule looks at its own ports only: a thousand times a thousand would be a reload's minute.
#[test]
fn of_thousands_of_rules_at_one_address_each_tells_of_its_own_ports() {
    let rule = |i: u16, last| {
        let ports = format!("[\"{}-{}\"]", 2 * i, 2 * i + last);
        [format!("r{i}"), VIP.into(), "TCP".into(), ports, "web".into()]
    };
    let rules = |last| (1..=10_000).map(|i| rule(i, last)).collect::<Vec<_>>();
    let borrowed = |rules: &[[String; 5]]| {
        let rows = rules.iter().map(|rule| rule.each_ref().map(String::as_str));
        config(&rows.collect::<Vec<_>>())
    };
    let (wide, narrow) = (borrowed(&rules(1)), borrowed(&rules(0)));
    let found = diff(&wide, &narrow).expect("fits");
    let told = &found.services["web"].traffic;
    assert_eq!(told.len(), 10_000);
    let [first, .., last] = &**told else { panic!("{found:?}") };
    assert_eq!(
        (words::ports(&first.ports), words::ports(&last.ports)),
        ("port 3".into(), "port 20001".into())
    );
    assert!(diff(&narrow, &wide).expect("fits").services.is_empty(), "nothing is lost");
}
