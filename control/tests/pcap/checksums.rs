//! N-1, N-2: 5,000 packets of random sizes, identifications and contents, and of checksums at the
//! edges of the arithmetic, in each kind of tunnel; tshark verifies every checksum.

use etherparse::{IpHeaders, IpNumber, Ipv4Header, Ipv6FlowLabel, Ipv6Header, PacketBuilder};

use crate::capture::*;
use crate::tshark::{complaints, packets};

const PACKETS: usize = 5000;

/// Numbers that look random and are the same in every run (SplitMix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

/// A datagram; every third one has a payload that makes its own checksum a number within 8 of
/// 0xFFFF or of 0.
fn frame(numbers: &mut Numbers) -> Vec<u8> {
    let size = 2 + numbers.below(1392) as usize;
    let mut payload: Vec<u8> = (0..size).map(|_| numbers.next() as u8).collect();
    let plain = build(numbers.next(), &payload);
    if numbers.below(3) > 0 {
        return plain;
    }
    let seed = numbers.next();
    payload[..2].copy_from_slice(&[0, 0]);
    let now = checksum(&build(seed, &payload));
    let wanted = 0xFFF8_u16.wrapping_add(numbers.below(16) as u16);
    // A word more in the sum is one less in its complement.
    let (word, borrow) = now.overflowing_sub(wanted);
    payload[..2].copy_from_slice(&word.wrapping_sub(borrow.into()).to_be_bytes());
    build(seed, &payload)
}

fn build(seed: u64, payload: &[u8]) -> Vec<u8> {
    let length = (8 + payload.len()) as u16;
    let link = PacketBuilder::ethernet2([2, 0, 0, 0, 0, 11], [2, 0, 0, 0, 0, 10]);
    let ip = if seed & 1 == 0 {
        let mut ip = Ipv4Header::new(length, 61, IpNumber::UDP, CLIENT4, VIP4).expect("it fits");
        ip.identification = (seed >> 8) as u16;
        IpHeaders::Ipv4(ip, Default::default())
    } else {
        let ip = Ipv6Header {
            traffic_class: (seed >> 32) as u8,
            flow_label: Ipv6FlowLabel::ZERO,
            payload_length: length,
            next_header: IpNumber::UDP,
            hop_limit: 61,
            source: CLIENT6,
            destination: VIP6,
        };
        IpHeaders::Ipv6(ip, Default::default())
    };
    let mut frame = Vec::new();
    let udp = link.ip(ip).udp((seed >> 40) as u16 | 0x8000, 80);
    udp.write(&mut frame, payload).expect("built");
    frame
}

/// The datagram's own.
fn checksum(frame: &[u8]) -> u16 {
    let at = if frame[12] == 0x08 { 40 } else { 60 };
    u16::from_be_bytes([frame[at], frame[at + 1]])
}

#[test]
#[cfg_attr(no_tshark, ignore = "no tshark: testbed/setup.sh installs it")]
fn n2_every_checksum_of_5000_packets_is_right_in_every_tunnel() {
    let mut numbers = Numbers(1);
    let frames: Vec<_> = (0..PACKETS).map(|_| frame(&mut numbers)).collect();
    let edges = frames.iter().filter(|f| checksum(f).wrapping_add(8) < 16).count();
    assert!(edges > PACKETS / 4, "{edges} at the edges");
    for (encapsulation, backend, outer) in [
        (r#"kind = "ipip""#, "10.1.0.11", "ip.checksum.status==1"),
        ("kind = \"gre\"\ngre_key = 7", "10.1.0.11", "ip.checksum.status==1 && gre"),
        (r#"kind = "gue""#, "2001:db8:9::11", "udp.checksum.status==1 && udp.dstport==6080"),
        (
            "source_entropy = true\nentropy_prefix = [\"172.16.0.0/16\"]",
            "10.1.0.11",
            "ip.checksum.status==1 && ip.src==172.16.0.0/16",
        ),
    ] {
        let desk = Desk::new(&config(encapsulation, backend), &frames);
        let output = desk.run(&[]);
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains("forwarded                        5000"), "{said}");
        let out = desk.path("out.pcap");
        assert_eq!(complaints(&out), "", "{encapsulation} to {backend}");
        let found = packets(&out, outer);
        assert_eq!(found.lines().count(), PACKETS, "{encapsulation} to {backend}");
    }
}
