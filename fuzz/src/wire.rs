//! Whether a frame that we send is right: by a strict parser that is not ours, and by checksums as
//! RFC 1071 words them.

use etherparse::{NetSlice, SlicedPacket, TransportSlice};

/// Panics if the frame's outer headers are wrong.
pub fn check(frame: &[u8]) {
    let sliced = SlicedPacket::from_ethernet(frame);
    let sliced = sliced.unwrap_or_else(|error| panic!("{error}: {frame:x?}"));
    let l3 = if frame[12..14] == [0x81, 0] { 18 } else { 14 };
    match sliced.net.as_ref().unwrap_or_else(|| panic!("no IP: {frame:x?}")) {
        NetSlice::Ipv4(ip) => {
            let header = ip.header();
            assert_eq!(header.header_checksum(), header.to_header().calc_header_checksum());
            assert_eq!(usize::from(header.total_len()), frame.len() - l3, "its length");
        }
        NetSlice::Ipv6(ip) => {
            assert_eq!(usize::from(ip.header().payload_length()), frame.len() - l3 - 40);
        }
        NetSlice::Arp(_) => panic!("ARP"),
    }
    let packet = &frame[l3..];
    match sliced.transport {
        Some(TransportSlice::Udp(udp)) if packet[0] >> 4 == 6 || udp.checksum() != 0 => {
            assert_eq!(sum(packet, 17), 0, "the UDP checksum");
        }
        // An echo reply's is as right or wrong as the request's was.
        Some(TransportSlice::Icmpv6(icmp)) if icmp.type_u8() != 129 => {
            assert_eq!(sum(packet, 58), 0, "the ICMPv6 checksum");
        }
        Some(TransportSlice::Icmpv4(icmp)) if icmp.type_u8() != 0 => {
            assert_eq!(fold(add(0, &packet[20..])), 0, "the ICMP checksum");
        }
        _ => {}
    }
}

/// Zero if the checksum of a packet without options and its pseudo-header is right.
fn sum(packet: &[u8], proto: u8) -> u16 {
    let (addresses, payload) = match packet[0] >> 4 {
        4 => (&packet[12..20], &packet[20..]),
        _ => (&packet[8..40], &packet[40..]),
    };
    let length = (payload.len() as u32).to_be_bytes();
    fold(add(add(add(add(0, addresses), &length), &[0, proto]), payload))
}

fn add(sum: u64, bytes: &[u8]) -> u64 {
    let words = bytes.chunks(2).map(|w| u64::from(w[0]) << 8 | u64::from(*w.get(1).unwrap_or(&0)));
    sum + words.sum::<u64>()
}

fn fold(mut sum: u64) -> u16 {
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    !(sum as u16)
}
