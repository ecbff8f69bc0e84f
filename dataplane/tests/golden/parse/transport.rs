//! TCP, UDP and ICMP headers.

use dataplane::parse::Fragment::Whole;
use tables::PacketClass::{Icmp, Tcp, Udp};

use super::Expect::{Faulty, Reads};
use super::{check, icmp4, tcp4, udp4};
use crate::frames::*;

#[test]
fn transport_headers() {
    let tcp = |n: u8| with(cut(tcp4(), 34 + usize::from(n)), &[(17, 20 + n)]);
    let udp = |n: u8| with(cut(udp4(), 34 + usize::from(n)), &[(17, 20 + n)]);
    let icmp = |n: u8| with(cut(icmp4(), 34 + usize::from(n)), &[(17, 20 + n)]);
    check(vec![
        ("TCP without data", tcp(20), Reads(Tcp, Whole)),
        ("TCP of 19 bytes", tcp(19), Faulty(Tcp)),
        ("TCP of no bytes", tcp(0), Faulty(Tcp)),
        ("TCP short, but padded", padded(tcp(19), 20), Faulty(Tcp)),
        ("data offset 4", with(tcp4(), &[(46, 0x40)]), Faulty(Tcp)),
        ("data offset 6 over data", with(tcp4(), &[(46, 0x60)]), Reads(Tcp, Whole)),
        ("data offset 7 in 25 bytes", with(tcp4(), &[(46, 0x70)]), Faulty(Tcp)),
        ("null flags", with(tcp4(), &[(47, 0)]), Reads(Tcp, Whole)),
        ("xmas flags", with(tcp4(), &[(47, 0x29)]), Reads(Tcp, Whole)),
        ("SYN and FIN", with(tcp4(), &[(47, 0x03)]), Reads(Tcp, Whole)),
        ("SYN and RST", with(tcp4(), &[(47, 0x06)]), Reads(Tcp, Whole)),
        ("ports 0", with(tcp4(), &[(34, 0), (35, 0), (36, 0), (37, 0)]), Reads(Tcp, Whole)),
        ("UDP of 7 bytes", udp(7), Faulty(Udp)),
        ("UDP length 0", with(udp4(), &[(39, 0)]), Faulty(Udp)),
        ("UDP length 7", with(udp4(), &[(39, 7)]), Faulty(Udp)),
        ("UDP length 8 before 5 bytes", with(udp4(), &[(39, 8)]), Reads(Udp, Whole)),
        ("UDP length one beyond", with(udp4(), &[(39, 14)]), Faulty(Udp)),
        ("UDP length one beyond, padded", padded(with(udp4(), &[(39, 14)]), 9), Faulty(Udp)),
        ("UDP checksum 0", with(udp4(), &[(40, 0), (41, 0)]), Reads(Udp, Whole)),
        ("ICMP of 4 bytes", icmp(4), Reads(Icmp, Whole)),
        ("ICMP of 3 bytes", icmp(3), Faulty(Icmp)),
    ]);
}
