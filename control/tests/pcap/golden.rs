//! N-1: every inner packet comes out unchanged in the right tunnel, and tshark finds no checksum
//! to complain about.

use etherparse::{NetSlice, SlicedPacket};

use crate::capture::*;
use crate::tshark::{complaints, packets as found};

/// Encapsulation, backend, bytes between the outer and the inner IP header, outer protocol of
/// IPv4 and of IPv6 inside.
const CASES: [(&str, &str, usize, [u8; 2]); 13] = [
    (r#"kind = "ipip""#, "10.1.0.11", 0, [4, 41]),
    (r#"kind = "ipip""#, "2001:db8:9::11", 0, [4, 41]),
    (r#"kind = "gre""#, "10.1.0.11", 4, [47, 47]),
    (r#"kind = "gre""#, "2001:db8:9::11", 4, [47, 47]),
    ("kind = \"gre\"\ngre_key = 7", "10.1.0.11", 8, [47, 47]),
    ("kind = \"gre\"\ngre_key = \"service\"", "2001:db8:9::11", 8, [47, 47]),
    (r#"kind = "gue""#, "10.1.0.11", 12, [17, 17]),
    (r#"kind = "gue""#, "2001:db8:9::11", 12, [17, 17]),
    ("kind = \"gue\"\ngue_variant = 1\ngue_port = 6081", "10.1.0.11", 8, [17, 17]),
    ("kind = \"gue\"\ngue_variant = 1\ngue_port = 6081", "2001:db8:9::11", 8, [17, 17]),
    (SPREAD, "10.1.0.11", 0, [4, 41]),
    (SPREAD, "2001:db8:9::11", 0, [4, 41]),
    ("kind = \"ipip\"\ndscp = 10\nttl = 9", "10.1.0.11", 0, [4, 41]),
];

const SPREAD: &str =
    "source_entropy = true\nentropy_prefix = [\"172.16.0.0/16\", \"2001:db8:e::/64\"]";

#[test]
#[cfg_attr(no_tshark, ignore = "no tshark: testbed/setup.sh installs it")]
fn n1_every_tunnel_carries_every_packet_unchanged() {
    for (encapsulation, backend, between, protocols) in CASES {
        let frames = [packets(b""), packets(&[0xA5; 1000])].concat();
        let desk = Desk::new(&config(encapsulation, backend), &frames);
        let output = desk.run(&[]);
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{output:?}");
        assert!(said.contains("forwarded                          12"), "{said}");
        let sent = desk.sent();
        assert_eq!(sent.len(), frames.len());
        for (frame, out) in frames.iter().zip(&sent) {
            judge(frame, out, backend, between, protocols);
        }
        assert_eq!(complaints(&desk.path("out.pcap")), "", "{encapsulation} to {backend}");
    }
}

fn judge(frame: &[u8], out: &[u8], backend: &str, between: usize, protocols: [u8; 2]) {
    let inner = &frame[14..];
    assert_eq!(&out[out.len() - inner.len()..], inner);
    let outer_v6 = backend.contains(':');
    let hop = if outer_v6 { 0x01 } else { 0x99 };
    assert_eq!(out[..6], [2, 0, 0, 0, 0, hop]);
    let header = if outer_v6 { 40 } else { 20 };
    assert_eq!(out.len(), 14 + header + between + inner.len());
    let expected = protocols[usize::from(inner[0] >> 4 == 6)];
    match SlicedPacket::from_ethernet(out).expect("a packet").net.expect("IP") {
        NetSlice::Ipv4(ip) => {
            let header = ip.header();
            assert_eq!(header.destination_addr().to_string(), backend);
            assert_eq!(header.protocol().0, expected);
            assert_eq!(header.header_checksum(), header.to_header().calc_header_checksum());
            assert!(header.dont_fragment());
        }
        NetSlice::Ipv6(ip) => {
            assert_eq!(ip.header().destination_addr().to_string(), backend);
            assert_eq!(ip.header().next_header().0, expected);
        }
        NetSlice::Arp(_) => panic!("not IP"),
    }
}

/// The source address and port of the outer header.
fn source(out: &[u8]) -> (String, Option<u16>) {
    let port = |at: usize| Some(u16::from_be_bytes([out[at], out[at + 1]]));
    match SlicedPacket::from_ethernet(out).expect("a packet").net.expect("IP") {
        NetSlice::Ipv4(ip) => (ip.header().source_addr().to_string(), port(34)),
        NetSlice::Ipv6(ip) => (ip.header().source_addr().to_string(), port(54)),
        NetSlice::Arp(_) => panic!("not IP"),
    }
}

#[test]
fn n2_a_flow_keeps_its_source_and_others_have_others() {
    let flows: Vec<_> = (0..64).map(|i| datagram(40_000 + i, b"x", true)).collect();
    let frames = [flows.clone(), flows].concat();
    for (encapsulation, prefix) in
        [(SPREAD, ["172.16.", "2001:db8:e::"]), (r#"kind = "gue""#, ["10.0.0.2", "2001:db8::2"])]
    {
        for (backend, prefix) in ["10.1.0.11", "2001:db8:9::11"].iter().zip(prefix) {
            let desk = Desk::new(&config(encapsulation, backend), &frames);
            assert!(desk.run(&[]).status.success());
            let sources: Vec<_> = desk.sent().iter().map(|out| source(out)).collect();
            let (first, again) = sources.split_at(64);
            assert_eq!(first, again);
            assert!(first.iter().all(|(address, _)| address.starts_with(prefix)), "{first:?}");
            let distinct: std::collections::BTreeSet<_> = if encapsulation == SPREAD {
                first.iter().map(|(address, _)| address.clone()).collect()
            } else {
                assert!(first.iter().all(|(_, port)| *port >= Some(0x8000)));
                first.iter().map(|(_, port)| format!("{port:?}")).collect()
            };
            assert!(distinct.len() > 60, "{distinct:?}");
        }
    }
}

#[test]
#[cfg_attr(no_tshark, ignore = "no tshark: testbed/setup.sh installs it")]
fn l2_and_l3dsr_send_the_packet_itself() {
    let frames: Vec<_> = packets(&[0x5A; 100]).into_iter().take(3).collect();
    let l2 = Desk::new(&four(&config(r#"kind = "l2""#, "10.0.0.11")), &frames);
    assert!(l2.run(&[]).status.success());
    for (frame, out) in frames.iter().zip(l2.sent()) {
        assert_eq!((&out[..6], &out[12..]), (&[2, 0, 0, 0, 0, 1][..], &frame[12..]));
    }
    assert_eq!(complaints(&l2.path("out.pcap")), "");
    let dsr = "kind = \"l3dsr\"\nl3dsr_dscp = 42";
    let dsr = Desk::new(&four(&config(dsr, "10.1.0.11")), &frames);
    assert!(dsr.run(&[]).status.success());
    for (frame, out) in frames.iter().zip(dsr.sent()) {
        assert_eq!((out[15], &out[30..34]), (42 << 2, &[10, 1, 0, 11][..]));
        assert_eq!((out.len(), &out[54..]), (frame.len(), &frame[54..]));
    }
    assert_eq!(complaints(&dsr.path("out.pcap")), "");
}

/// The configuration without its IPv6 rule.
fn four(config: &str) -> String {
    let rule = config.rfind("[[forwarding_rule]]").expect("a second rule");
    config[..rule].to_owned()
}

#[test]
#[cfg_attr(no_tshark, ignore = "no tshark: testbed/setup.sh installs it")]
fn d8_what_is_too_big_and_may_be_is_fragmented() {
    let frames = [datagram(40_000, &[0xC3; 3000], false), datagram(40_000, &[0xC3; 1453], false)];
    for (encapsulation, backend) in [
        (r#"kind = "ipip""#, "10.1.0.11"),
        ("kind = \"gue\"\ngue_variant = 1\ngue_port = 6081", "2001:db8:9::11"),
        ("kind = \"l3dsr\"\nl3dsr_dscp = 3", "10.1.0.11"),
    ] {
        let config = four(&config(encapsulation, backend));
        let config = config.replace("host_interface", "fragment_oversize = true\nhost_interface");
        let desk = Desk::new(&config, &frames);
        let output = desk.run(&[]);
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains("forwarded                           2"), "{said}");
        assert_eq!(desk.sent().len(), if encapsulation.contains("l3dsr") { 4 } else { 5 });
        let out = desk.path("out.pcap");
        assert_eq!(complaints(&out), "", "{encapsulation}");
        // Its own reassembly, and its own checksum over the whole.
        let whole = found(&out, "ip.reassembled.length == 3008 && udp.checksum.status==1");
        assert_eq!(whole.lines().count(), 1, "{encapsulation}: {whole}");
    }
}
