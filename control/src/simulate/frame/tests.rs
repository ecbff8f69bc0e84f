//! Frames, read back by another parser.

use etherparse::{NetSlice, SlicedPacket, TransportSlice};

use super::super::scenario::{Flags, Tuple};
use super::*;

const PORT: Mac = Mac([2, 0, 0, 0, 0, 9]);

fn packet(protocol: u8, v6: bool) -> Packet {
    let [src, dst] = match v6 {
        false => ["198.51.100.7", "203.0.113.10"],
        true => ["2001:db8::7", "2001:db8::10"],
    }
    .map(|a| a.parse().expect("an address"));
    let tuple = Tuple { protocol, src, dst, sport: 40000, dport: 80 };
    Packet { tuple, flags: Flags(0x12), fragment: None, quote: None, port: None }
}

#[test]
fn tcp_and_udp_frames_carry_ports_flags_and_right_checksums() {
    for v6 in [false, true] {
        let bytes = frame(&packet(6, v6), PORT, 0);
        let sliced = SlicedPacket::from_ethernet(&bytes).expect("well-formed");
        let Some(TransportSlice::Tcp(tcp)) = sliced.transport else { panic!("not TCP") };
        assert_eq!((tcp.source_port(), tcp.destination_port()), (40000, 80));
        assert!(tcp.syn() && tcp.ack() && !tcp.fin() && !tcp.rst() && !tcp.psh());
        let sum = match sliced.net {
            Some(NetSlice::Ipv4(ip)) => {
                tcp.calc_checksum_ipv4(ip.header().source(), ip.header().destination())
            }
            Some(NetSlice::Ipv6(ip)) => {
                tcp.calc_checksum_ipv6(ip.header().source(), ip.header().destination())
            }
            _ => panic!("not IP"),
        };
        assert_eq!(sum.ok(), Some(tcp.checksum()));
        let bytes = frame(&packet(17, v6), PORT, 0);
        let sliced = SlicedPacket::from_ethernet(&bytes).expect("well-formed");
        let Some(TransportSlice::Udp(udp)) = sliced.transport else { panic!("not UDP") };
        assert_eq!((udp.source_port(), udp.length()), (40000, 16));
    }
}

#[test]
fn the_ipv4_header_checksum_is_right() {
    let bytes = frame(&packet(6, false), PORT, 0);
    let header = etherparse::Ipv4HeaderSlice::from_slice(&bytes[14..]).expect("a header");
    assert_eq!(header.header_checksum(), header.to_header().calc_header_checksum());
}

#[test]
fn frames_are_for_the_port_and_its_vlan() {
    let bytes = frame(&packet(6, false), PORT, 7);
    assert_eq!(&bytes[..6], &PORT.0);
    assert_eq!(&bytes[12..18], &[0x81, 0, 0, 7, 8, 0]);
}

#[test]
fn fragments_say_their_place() {
    for (part, offset, more) in [
        (FragmentPart::First, 0, true),
        (FragmentPart::Middle, 8, true),
        (FragmentPart::Last, 16, false),
    ] {
        for v6 in [false, true] {
            let fragment = Some((part, 77));
            let bytes = frame(&Packet { fragment, ..packet(17, v6) }, PORT, 0);
            let sliced = SlicedPacket::from_ethernet(&bytes).expect("well-formed");
            let found = match sliced.net {
                Some(NetSlice::Ipv4(ip)) => {
                    let h = ip.header();
                    (
                        h.fragments_offset().value(),
                        h.more_fragments(),
                        u32::from(h.identification()),
                    )
                }
                Some(NetSlice::Ipv6(_)) => {
                    let h = &bytes[54..62];
                    let place = u16::from_be_bytes([h[2], h[3]]);
                    (place >> 3, place & 1 == 1, u32::from_be_bytes([h[4], h[5], h[6], h[7]]))
                }
                _ => panic!("not IP"),
            };
            assert_eq!(found, (offset, more, 77));
        }
    }
}

#[test]
fn an_icmp_error_quotes_the_packet_that_it_is_about() {
    for (protocol, v6, at) in [(1, false, 14 + 20 + 8), (58, true, 14 + 40 + 8)] {
        let quote = packet(17, v6).tuple;
        let quote = Tuple { src: quote.dst, dst: quote.src, ..quote };
        let bytes = frame(&Packet { quote: Some(quote), ..packet(protocol, v6) }, PORT, 0);
        let ports = at + if v6 { 40 } else { 20 };
        assert_eq!(bytes.len(), ports + 8);
        assert_eq!(&bytes[ports..ports + 4], &[0x9C, 0x40, 0, 80]);
    }
}
