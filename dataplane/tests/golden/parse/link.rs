//! The Ethernet header: addresses and tags (N-4).

use dataplane::parse::{self, Fragment::Whole};
use tables::PacketClass::Tcp;
use tables::{Family, Outcome};

use super::Expect::{Ends, Reads};
use super::{check, result, tcp4, tcp6};
use crate::frames::*;

#[test]
fn whose_frame_it_is() {
    check(vec![
        ("nothing", vec![], Ends(Outcome::MalformedIp)),
        ("a runt", cut(tcp4(), 13), Ends(Outcome::MalformedIp)),
        ("to another unicast address", with(tcp4(), &[(5, 1)]), Ends(Outcome::NotOurMac)),
        ("from our own address", with(tcp4(), &[(11, 0x0A)]), Ends(Outcome::NotOurMac)),
        ("IP to a group", with(tcp6(), &[(0, 0x33), (1, 0x33)]), Ends(Outcome::Host)),
        ("IP to everyone", with(tcp4(), &[(0, 0xFF)]), Ends(Outcome::Host)),
        ("ARP to us", with(tcp4(), &[(13, 6)]), Ends(Outcome::Host)),
        ("ARP to everyone", with(tcp4(), &[(0, 0xFF), (13, 6)]), Ends(Outcome::Host)),
        ("ARP to another", with(tcp4(), &[(5, 1), (13, 6)]), Ends(Outcome::NotOurMac)),
        ("LLDP", with(tcp4(), &[(0, 1), (12, 0x88), (13, 0xCC)]), Ends(Outcome::Host)),
        ("802.3 length", with(tcp4(), &[(12, 0), (13, 40)]), Ends(Outcome::Host)),
        ("only an Ethernet header, of IP", cut(tcp4(), 14), Ends(Outcome::MalformedIp)),
        ("only an Ethernet header, of ARP", with(cut(tcp4(), 14), &[(13, 6)]), Ends(Outcome::Host)),
    ]);
}

#[test]
fn a_capture_takes_every_destination() {
    let port = tables::Port { any_mac: true, ..port(0) };
    for first in [0x02, 0x33, 0xFF] {
        let frame = with(tcp4(), &[(0, first), (5, 0x77)]);
        assert!(parse::frame(&frame, &port).is_ok(), "{first:#x}");
    }
}

#[test]
fn which_vlan_it_is_of() {
    let tagged = |id| packet(Family::V4, L4::Tcp, id, b"hello");
    let priority = with(tagged(7), &[(14, 0xF0), (15, 0)]);
    let double = with(tagged(7), &[(16, 0x81), (17, 0)]);
    for (name, frame, port, expected) in [
        ("untagged, port untagged", tcp4(), 0, Reads(Tcp, Whole)),
        ("untagged, port tagged", tcp4(), 7, Ends(Outcome::WrongVlan)),
        ("tagged as the port", tagged(7), 7, Reads(Tcp, Whole)),
        ("tagged, drop-eligible, priority 7", with(tagged(7), &[(14, 0xF0)]), 7, Reads(Tcp, Whole)),
        ("tagged otherwise", tagged(8), 7, Ends(Outcome::WrongVlan)),
        ("tagged, port untagged", tagged(7), 0, Ends(Outcome::WrongVlan)),
        ("priority tag, port untagged", priority.clone(), 0, Reads(Tcp, Whole)),
        ("priority tag, port tagged", priority, 7, Ends(Outcome::WrongVlan)),
        ("a service tag", with(tagged(7), &[(12, 0x88), (13, 0xA8)]), 7, Reads(Tcp, Whole)),
        ("two tags", double.clone(), 7, Ends(Outcome::WrongVlan)),
        (
            "a service tag, then a tag",
            with(double.clone(), &[(12, 0x88), (13, 0xA8)]),
            7,
            Ends(Outcome::WrongVlan),
        ),
        (
            "a priority tag, then the port's",
            with(double.clone(), &[(15, 0)]),
            0,
            Ends(Outcome::WrongVlan),
        ),
        ("two tags, the outer another's", double.clone(), 8, Ends(Outcome::WrongVlan)),
        ("two priority tags", with(double, &[(15, 0), (19, 0)]), 0, Ends(Outcome::WrongVlan)),
        ("the reserved VLAN 4095", tagged(4095), 0, Ends(Outcome::WrongVlan)),
        ("a tag that is none of ours", with(tagged(7), &[(12, 0x91)]), 0, Ends(Outcome::Host)),
        ("half a tag", cut(tagged(7), 17), 7, Ends(Outcome::MalformedIp)),
        ("a tag and nothing", cut(tagged(7), 18), 7, Ends(Outcome::MalformedIp)),
        ("ARP of another VLAN", with(tagged(8), &[(17, 6)]), 7, Ends(Outcome::WrongVlan)),
    ] {
        assert_eq!(result(&frame, port), expected, "{name}");
    }
}
