//! One line an odd frame: how it ends, or what is read from it (N-4, N-5, N-7).

mod ipv4;
mod ipv6;
mod link;
mod loop_guard;
mod transport;

use dataplane::parse::{self, Fragment, Parsed};
use tables::{Family, Outcome, PacketClass};

use crate::frames::*;

/// What is to come of a frame.
#[derive(Debug, PartialEq, Eq)]
enum Expect {
    Ends(Outcome),
    /// Read, with nothing wrong.
    Reads(PacketClass, Fragment),
    /// Read, but malformed behind the IP header.
    Faulty(PacketClass),
    /// Read, but with an address or a hop limit that no balanced packet has.
    Odd(Outcome),
}

fn result(frame: &[u8], vlan: u16) -> Expect {
    match parse::frame(frame, &port(vlan)) {
        Err(outcome) => Expect::Ends(outcome),
        Ok(Parsed { fault: Some(Outcome::MalformedL4), class, .. }) => Expect::Faulty(class),
        Ok(Parsed { fault: Some(outcome), .. }) => Expect::Odd(outcome),
        Ok(parsed) => Expect::Reads(parsed.class, parsed.fragment),
    }
}

fn check(cases: Vec<(&str, Vec<u8>, Expect)>) {
    for (name, frame, expected) in cases {
        assert_eq!(result(&frame, 0), expected, "{name}");
    }
}

fn tcp4() -> Vec<u8> {
    packet(Family::V4, L4::Tcp, 0, b"hello")
}
fn udp4() -> Vec<u8> {
    packet(Family::V4, L4::Udp, 0, b"hello")
}
fn icmp4() -> Vec<u8> {
    packet(Family::V4, L4::Icmp, 0, b"hello")
}
fn tcp6() -> Vec<u8> {
    packet(Family::V6, L4::Tcp, 0, b"hello")
}
fn udp6() -> Vec<u8> {
    packet(Family::V6, L4::Udp, 0, b"hello")
}
fn icmp6() -> Vec<u8> {
    packet(Family::V6, L4::Icmp, 0, b"hello")
}
