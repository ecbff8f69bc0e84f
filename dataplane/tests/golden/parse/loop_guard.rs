//! N-5: what comes from one of our tunnel sources in a tunnel is ours.

use dataplane::parse;
use tables::Tables;

use crate::frames::*;

fn tcp(family: tables::Family) -> Vec<u8> {
    packet(family, L4::Tcp, 0, b"")
}

/// The frame with another protocol number.
fn proto(frame: Vec<u8>, proto: u8) -> Vec<u8> {
    let at = if frame[12] == 8 { 23 } else { 20 };
    with(frame, &[(at, proto)])
}

fn is_loop(frame: &[u8], tables: &Tables) -> bool {
    parse::is_loop(&parse::frame(frame, &port(0)).expect("reads"), tables)
}

#[test]
fn our_own_tunnels_are_known_by_source_and_protocol() {
    let addresses =
        Tables { tunnel_sources: [CLIENT4.into(), CLIENT6.into()].into(), ..Tables::default() };
    let prefixes = ["198.51.0.0/16", "2001:db8:1::/64"].map(|p| p.parse().expect("a prefix"));
    let prefixes = Tables { tunnel_prefixes: prefixes.into(), ..Tables::default() };
    let others = Tables { tunnel_sources: [VIP4.into()].into(), ..Tables::default() };
    let (v4, v6) = (tcp(tables::Family::V4), tcp(tables::Family::V6));
    for (frame, number, expected) in [
        (&v4, 4, true),
        (&v4, 41, true),
        (&v4, 47, true),
        (&v4, 6, false),
        (&v4, 17, false),
        (&v6, 41, true),
        (&v6, 6, false),
    ] {
        let frame = proto(frame.clone(), number);
        assert_eq!(is_loop(&frame, &addresses), expected, "{number}");
        assert_eq!(is_loop(&frame, &prefixes), expected, "{number}, from a prefix");
        assert!(!is_loop(&frame, &others), "another's tunnel");
    }
}

#[test]
fn gue_is_known_by_its_port_too() {
    let tables = |ports: &[u16]| Tables {
        tunnel_sources: [CLIENT4.into(), CLIENT6.into()].into(),
        gue_ports: ports.into(),
        ..Tables::default()
    };
    for family in [tables::Family::V4, tables::Family::V6] {
        let frame = packet(family, L4::Udp, 0, b"to port 80");
        assert!(is_loop(&frame, &tables(&[6080, 80])));
        assert!(!is_loop(&frame, &tables(&[6080])), "another port");
        assert!(!is_loop(&frame, &tables(&[])), "no GUE at all");
        let other = Tables { tunnel_sources: [VIP4.into()].into(), ..tables(&[80]) };
        assert!(!is_loop(&frame, &other), "another's");
    }
}
