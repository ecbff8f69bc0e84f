use super::*;

const TCP: u8 = 6;
const UDP: u8 = 17;
const ICMP: u8 = 1;
const ESP: u8 = 50;

/// "ADDRESS tcp|udp|l3 all|PORTS", the ports as 80 or 80-90, comma-separated.
fn spec(text: &str) -> RuleSpec {
    let mut words = text.split(' ');
    let mut word = || words.next().expect("three words");
    let address = word();
    let host = |a: &str| a.parse::<IpAddr>().map(IpNet::from).expect("an address");
    RuleSpec {
        name: text.into(),
        address: address.parse().unwrap_or_else(|_| host(address)),
        protocol: match word() {
            "tcp" => Protocol::Tcp,
            "udp" => Protocol::Udp,
            _ => Protocol::L3Default,
        },
        ports: match word() {
            "all" => Ports::All,
            list => Ports::Ranges(list.split(',').map(range).collect()),
        },
        service: ServiceId(7),
        client_allow: vec![],
    }
}

fn range(text: &str) -> (u16, u16) {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    (first.parse().expect("a port"), last.parse().expect("a port"))
}

fn specs(rules: &[&str]) -> Vec<RuleSpec> {
    rules.iter().map(|rule| spec(rule)).collect()
}

fn flow(dst: &str, proto: u8) -> Flow {
    match dst.parse().expect("an address") {
        IpAddr::V4(dst) => Flow::v4([9; 4], dst.octets(), proto, 1000, 0),
        IpAddr::V6(dst) => Flow::v6([9; 16], dst.octets(), proto, 1000, 0),
    }
}

/// Looks up each (destination, protocol, port) and compares with the number of the rule.
fn check(rules: &[&str], cases: &[(&str, u8, Option<u16>, Match)]) {
    let table = RuleTable::build(&specs(rules)).expect("valid");
    for (dst, proto, port, want) in cases {
        let got = table.look_up(&flow(dst, *proto), *port);
        assert_eq!(got, *want, "{dst} protocol {proto} port {port:?} with {rules:?}");
        assert_eq!(table.is_claimed(dst.parse().expect(dst)), *want != Match::Unclaimed);
    }
}

fn rule(id: u16) -> Match {
    Match::Rule(RuleId(id))
}

use Match::{ClaimedNoRule, Unclaimed};

#[test]
fn f1_a_rule_takes_its_protocol_at_its_address() {
    check(
        &["10.0.0.1 tcp all", "10.0.0.2 udp all", "10.0.0.3 l3 all", "2001:db8::1 tcp all"],
        &[
            ("10.0.0.1", TCP, Some(80), rule(0)),
            ("10.0.0.1", UDP, Some(80), ClaimedNoRule),
            ("10.0.0.1", ICMP, None, ClaimedNoRule),
            ("10.0.0.2", UDP, Some(0), rule(1)),
            ("10.0.0.3", TCP, Some(65535), rule(2)),
            ("10.0.0.3", ESP, None, rule(2)),
            ("10.0.0.3", ICMP, None, rule(2)),
            ("2001:db8::1", TCP, Some(1), rule(3)),
            ("2001:db8::2", TCP, Some(1), Unclaimed),
        ],
    );
}

#[test]
fn f1_a_rule_may_claim_a_prefix_the_default_route_too() {
    check(
        &["10.0.0.77/24 tcp all", "::/0 l3 all"],
        &[
            ("10.0.0.0", TCP, Some(80), rule(0)),
            ("10.0.0.255", TCP, Some(80), rule(0)),
            ("10.0.1.0", TCP, Some(80), Unclaimed),
            ("::", ESP, None, rule(1)),
        ],
    );
}

#[test]
fn f2_listed_ports_are_single_ones_and_ranges() {
    check(
        &["10.0.0.1 tcp 80,443,8000-8100,65535", "10.0.0.1 udp 0-53"],
        &[
            ("10.0.0.1", TCP, Some(80), rule(0)),
            ("10.0.0.1", TCP, Some(81), ClaimedNoRule),
            ("10.0.0.1", TCP, Some(8000), rule(0)),
            ("10.0.0.1", TCP, Some(8100), rule(0)),
            ("10.0.0.1", TCP, Some(8101), ClaimedNoRule),
            ("10.0.0.1", TCP, Some(65535), rule(0)),
            ("10.0.0.1", UDP, Some(0), rule(1)),
            ("10.0.0.1", UDP, Some(53), rule(1)),
        ],
    );
}

#[test]
fn f2_a_packet_without_a_port_only_matches_a_rule_for_all_ports() {
    check(
        &["10.0.0.1 udp 0-65535", "10.0.0.1 tcp 80", "10.0.0.2 udp 53", "10.0.0.2 udp all"],
        &[
            ("10.0.0.1", UDP, Some(53), rule(0)),
            ("10.0.0.1", UDP, None, ClaimedNoRule),
            ("10.0.0.1", TCP, None, ClaimedNoRule),
            // A first UDP fragment by its port, its later ones by the rule for all ports.
            ("10.0.0.2", UDP, Some(53), rule(2)),
            ("10.0.0.2", UDP, None, rule(3)),
        ],
    );
}

#[test]
fn f3_the_longest_prefix_wins_then_the_protocol_then_listed_ports() {
    check(
        &[
            "10.0.0.0/8 tcp 80",
            "10.0.0.1 l3 all",
            "10.0.0.2 tcp all",
            "10.0.0.2 tcp 80",
            "10.0.0.2 l3 all",
        ],
        &[
            // The prefix is longer, though it lists no port and no protocol.
            ("10.0.0.1", TCP, Some(80), rule(1)),
            ("10.0.0.2", TCP, Some(80), rule(3)),
            ("10.0.0.2", TCP, Some(81), rule(2)),
            ("10.0.0.2", TCP, None, rule(2)),
            ("10.0.0.2", UDP, Some(80), rule(4)),
            ("10.0.0.3", TCP, Some(80), rule(0)),
        ],
    );
}

#[test]
fn f3_only_rules_that_take_the_packet_count() {
    check(
        &[
            "10.0.0.1 tcp 80",
            "10.0.0.0/24 tcp 70-90",
            "10.0.0.0/16 udp all",
            "10.0.0.0/8 l3 all",
            "10.0.0.1 udp 53",
        ],
        &[
            ("10.0.0.1", TCP, Some(80), rule(0)),
            ("10.0.0.1", TCP, Some(79), rule(1)),
            ("10.0.0.1", TCP, Some(91), rule(3)),
            ("10.0.0.1", TCP, None, rule(3)),
            ("10.0.0.1", UDP, Some(53), rule(4)),
            ("10.0.0.1", UDP, Some(54), rule(2)),
            ("10.0.0.1", UDP, None, rule(2)),
            ("10.0.0.1", ICMP, None, rule(3)),
            ("10.0.0.9", TCP, Some(80), rule(1)),
            ("10.1.0.0", UDP, Some(53), rule(3)),
        ],
    );
}

#[test]
fn f3_rules_of_equal_specificity_for_one_packet_are_refused() {
    let conflict = |rules: &[&str]| RuleTable::build(&specs(rules)).err();
    let refused = Some(Error::Conflict { a: 0, b: 1 });
    for (rules, want) in [
        (["10.0.0.1 tcp all", "10.0.0.1 tcp all"], refused),
        (["10.0.0.1 tcp 80", "10.0.0.1 tcp 70-80"], refused),
        (["10.0.0.1/24 tcp all", "10.0.0.2/24 tcp all"], refused),
        (["10.0.0.1 l3 all", "10.0.0.1/32 l3 all"], refused),
        (["10.0.0.1 tcp 80", "10.0.0.1 udp 80"], None),
        (["10.0.0.1 tcp 80", "10.0.0.1 tcp all"], None),
        (["10.0.0.1 tcp 80", "10.0.0.1 tcp 81"], None),
        (["10.0.0.1 tcp 80", "10.0.0.0/31 tcp 80"], None),
        (["10.0.0.1 tcp all", "10.0.0.1 l3 all"], None),
        (["0.0.0.0/0 tcp all", "::/0 tcp all"], None),
    ] {
        assert_eq!(conflict(&rules), want, "{rules:?}");
    }
}

#[test]
fn every_rule_in_conflict_is_named() {
    let rules = ["::1 tcp 1-100", "::1 tcp 5", "::1 udp all", "::1 tcp 7,9", "::1 udp all"];
    assert_eq!(conflicts(&specs(&rules)), [(0, 1), (0, 3), (2, 4)]);
}

#[test]
fn a_rule_may_list_a_port_twice() {
    check(&["10.0.0.1 tcp 80,70-90,91"], &[("10.0.0.1", TCP, Some(91), rule(0))]);
}

#[test]
fn ports_that_no_packet_has_are_refused() {
    let mut rules = specs(&["10.0.0.1 tcp 80", "10.0.0.1 l3 80"]);
    assert_eq!(RuleTable::build(&rules).err(), Some(Error::BadPorts(1)));
    for ranges in [vec![], vec![(2, 1)]] {
        rules[1] = RuleSpec { ports: Ports::Ranges(ranges), ..spec("10.0.0.1 udp all") };
        assert_eq!(RuleTable::build(&rules).err(), Some(Error::BadPorts(1)));
    }
}

#[test]
fn there_are_as_many_rules_as_numbers() {
    let numbered = |i: u32| RuleSpec {
        address: IpAddr::from(i.to_be_bytes()).into(),
        ..spec("10.0.0.1 tcp all")
    };
    let mut rules: Vec<_> = (0..65_535).map(numbered).collect();
    let table = RuleTable::build(&rules).expect("valid");
    assert_eq!(table.look_up(&flow("0.0.255.254", TCP), Some(1)), rule(65_534));
    assert_eq!(table.iter().count(), 65_535);
    rules.push(numbered(65_535));
    assert_eq!(RuleTable::build(&rules).err(), Some(Error::TooMany(65_536)));
}

#[test]
fn a_rule_admits_the_clients_that_it_lists() {
    let admits = |allow: &[&str], client: &str| {
        let client_allow = allow.iter().map(|prefix| prefix.parse().expect(prefix)).collect();
        let rule = RuleSpec { client_allow, ..spec("10.0.0.1 tcp all") };
        let table = RuleTable::build(&[rule]).expect("valid");
        let rule = table.rule(RuleId(0)).expect("the only one");
        rule.admits(client.parse().expect(client))
    };
    assert!(admits(&[], "192.0.2.1"));
    assert!(admits(&["0.0.0.0/0", "::/0"], "2001:db8::1"));
    assert!(admits(&["192.0.2.0/24"], "192.0.2.1"));
    assert!(!admits(&["192.0.2.0/24"], "192.0.3.1"));
    assert!(!admits(&["0.0.0.0/0"], "2001:db8::1"));
}

#[test]
fn without_rules_nothing_is_claimed() {
    check(&[], &[("10.0.0.1", TCP, Some(80), Unclaimed), ("::1", ICMP, None, Unclaimed)]);
}
