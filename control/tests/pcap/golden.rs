//! N-1: every inner packet comes out unchanged in the right tunnel, and tshark finds no checksum
//! to complain about.

use std::process::Command;

use etherparse::{NetSlice, SlicedPacket};

use crate::capture::*;

/// Encapsulation, backend, bytes between the outer and the inner IP header, outer protocol of
/// IPv4 and of IPv6 inside.
const CASES: [(&str, &str, usize, [u8; 2]); 6] = [
    (r#"kind = "ipip""#, "10.1.0.11", 0, [4, 41]),
    (r#"kind = "ipip""#, "2001:db8:9::11", 0, [4, 41]),
    (r#"kind = "gre""#, "10.1.0.11", 4, [47, 47]),
    (r#"kind = "gre""#, "2001:db8:9::11", 4, [47, 47]),
    ("kind = \"gre\"\ngre_key = 7", "10.1.0.11", 8, [47, 47]),
    ("kind = \"gre\"\ngre_key = \"service\"", "2001:db8:9::11", 8, [47, 47]),
];

#[test]
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
        assert_eq!(complaints(&desk), "", "{encapsulation} to {backend}");
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

/// What tshark finds wrong with the checksums of the output; nothing at all where there is no
/// tshark, which is then said.
fn complaints(desk: &Desk) -> String {
    let mut tshark = Command::new("tshark");
    tshark.arg("-r").arg(desk.path("out.pcap"));
    for layer in ["ip", "tcp", "udp"] {
        tshark.arg("-o").arg(format!("{layer}.check_checksum:TRUE"));
    }
    tshark.args(["-Y", "ip.checksum.status==0 || tcp.checksum.status==0 || udp.checksum.status==0 || icmp.checksum.status==0 || icmpv6.checksum.status==0 || _ws.malformed"]);
    match tshark.output() {
        Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout).into(),
        Ok(output) => format!("{output:?}"),
        Err(missing) => {
            eprintln!("skipped: tshark: {missing}");
            String::new()
        }
    }
}
