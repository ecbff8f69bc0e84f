//! The compiled rules against the sentence of F-3: of all rules that take the packet, the most
//! specific one.

use std::net::IpAddr;

use ipnet::IpNet;
use proptest::collection::vec;
use proptest::prelude::*;
use tables::rules::{Match, Ports, Protocol, RuleSpec, RuleTable, conflicts};
use tables::{Flow, RuleId, ServiceId};

/// Addresses and ports are few, so that rules meet.
fn address() -> impl Strategy<Value = IpNet> {
    let v4 = (0u8..4, prop::sample::select(vec![0, 8, 30, 31, 32]))
        .prop_map(|(last, length)| IpNet::new([10, 0, 0, last].into(), length));
    let v6 = (0u16..4, prop::sample::select(vec![0, 64, 127, 128]))
        .prop_map(|(last, length)| IpNet::new([0x2001, 0, 0, 0, 0, 0, 0, last].into(), length));
    prop_oneof![v4, v6].prop_map(|net| net.expect("a valid length"))
}

fn ports() -> impl Strategy<Value = Ports> {
    let range = (0u16..10, 0u16..4).prop_map(|(first, more)| (first, first + more));
    prop_oneof![Just(Ports::All), vec(range, 1..4).prop_map(Ports::Ranges)]
}

fn rule() -> impl Strategy<Value = RuleSpec> {
    let protocol = prop::sample::select(vec![Protocol::Tcp, Protocol::Udp, Protocol::L3Default]);
    (address(), protocol, ports()).prop_map(|(address, protocol, ports)| RuleSpec {
        name: "rule".into(),
        address,
        protocol,
        ports: if protocol == Protocol::L3Default { Ports::All } else { ports },
        service: ServiceId(0),
        client_allow: vec![],
    })
}

fn takes_port(ports: &Ports, port: Option<u16>) -> bool {
    match ports {
        Ports::All => true,
        Ports::Ranges(ranges) => {
            port.is_some_and(|port| ranges.iter().any(|(a, b)| (*a..=*b).contains(&port)))
        }
    }
}

fn takes(spec: &RuleSpec, dst: IpAddr, proto: u8, port: Option<u16>) -> bool {
    let protocol = match spec.protocol {
        Protocol::Tcp => proto == 6,
        Protocol::Udp => proto == 17,
        Protocol::L3Default => true,
    };
    protocol && spec.address.contains(&dst) && takes_port(&spec.ports, port)
}

fn specificity(spec: &RuleSpec) -> (u8, bool, bool) {
    let length = spec.address.prefix_len();
    (length, spec.protocol != Protocol::L3Default, spec.ports != Ports::All)
}

fn obvious(specs: &[RuleSpec], dst: IpAddr, proto: u8, port: Option<u16>) -> Match {
    let taking = specs.iter().enumerate().filter(|(_, spec)| takes(spec, dst, proto, port));
    match taking.max_by_key(|(_, spec)| specificity(spec)) {
        Some((id, _)) => Match::Rule(RuleId(id as u16)),
        None if specs.iter().any(|spec| spec.address.contains(&dst)) => Match::ClaimedNoRule,
        None => Match::Unclaimed,
    }
}

/// Every packet that the rules above could tell apart, and some beside.
fn packets() -> impl Iterator<Item = (Flow, Option<u16>)> {
    let v4 =
        [[10, 0, 0, 0], [10, 0, 0, 1], [10, 0, 0, 2], [10, 0, 0, 3], [10, 0, 0, 4], [11, 0, 0, 0]];
    let v6 = (0..6).map(|last| std::net::Ipv6Addr::from([0x2001, 0, 0, 0, 0, 0, 0, last]).octets());
    let kinds = || {
        [6, 17, 1]
            .into_iter()
            .flat_map(|proto| (0..14).map(Some).chain([None]).map(move |port| (proto, port)))
    };
    let v4 = v4.into_iter().flat_map(move |dst| {
        kinds().map(move |(proto, port)| (Flow::v4([1; 4], dst, proto, 1, 1), port))
    });
    let v6 = v6.flat_map(move |dst| {
        kinds().map(move |(proto, port)| (Flow::v6([1; 16], dst, proto, 1, 1), port))
    });
    v4.chain(v6)
}

fn is_tied(specs: &[RuleSpec], flow: &Flow, port: Option<u16>) -> bool {
    let mut seen = std::collections::HashSet::new();
    let taking = specs.iter().filter(|spec| takes(spec, flow.dst(), flow.proto(), port));
    taking.map(specificity).any(|specificity| !seen.insert(specificity))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn look_up_finds_the_most_specific_rule(candidates in vec(rule(), 0..16)) {
        let mut specs: Vec<RuleSpec> = Vec::new();
        for candidate in candidates {
            specs.push(candidate);
            if !conflicts(&specs).is_empty() {
                specs.pop();
            }
        }
        let table = RuleTable::build(&specs).expect("no conflict");
        for (flow, port) in packets() {
            let want = obvious(&specs, flow.dst(), flow.proto(), port);
            prop_assert_eq!(table.look_up(&flow, port), want, "{:?} {:?}", flow, port);
        }
    }

    #[test]
    fn a_conflict_is_a_packet_that_two_rules_claim_alike(specs in vec(rule(), 2..5)) {
        let is_tied = packets().any(|(flow, port)| is_tied(&specs, &flow, port));
        prop_assert_eq!(!conflicts(&specs).is_empty(), is_tied);
        prop_assert_eq!(RuleTable::build(&specs).is_err(), is_tied);
    }
}
