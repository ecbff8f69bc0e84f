//! Echo requests to a VIP that no rule takes ICMP for.

use dataplane::io::Frame;
use tables::counters::Event;
use tables::rules::Protocol;
use tables::*;

use super::packets::*;
use super::world::World;
use crate::rig::{Rig, VIP};

/// The bytes behind type, code and checksum: identifier, sequence number, data.
fn body(length: usize) -> Vec<u8> {
    (0..length as u32 + 4).map(|i| (i.wrapping_mul(0x9E37_79B1) >> 19) as u8).collect()
}

fn request4(body: &[u8]) -> Vec<u8> {
    icmp4(CLIENT, VIP, 8, 0, body)
}

fn request6(body: &[u8]) -> Vec<u8> {
    icmp6(CLIENT6, VIP6, 128, 0, body)
}

/// The reply: the request's identification, "don't fragment" and TOS, a new TTL.
fn reply4(body: &[u8]) -> Vec<u8> {
    let mut reply = icmp4(VIP, CLIENT, 0, 0, body);
    (reply[8], reply[10], reply[11]) = (64, 0, 0);
    let sum = checksum(&[&reply[..20]]).to_be_bytes();
    reply[10..12].copy_from_slice(&sum);
    reply
}

fn reply6(body: &[u8]) -> Vec<u8> {
    let mut reply = icmp6(VIP6, CLIENT6, 129, 0, body);
    reply[7] = 64;
    reply
}

fn sent(rig: &mut Rig) -> Vec<Vec<u8>> {
    rig.worker.io.ports[0].sent.drain(..).map(|frame| frame.bytes().to_vec()).collect()
}

fn answered(world: &World, frame: &[u8], reply: &[u8], name: &str) {
    let mut rig = world.rig();
    rig.send([frame]);
    assert_eq!(sent(&mut rig), [framed_back(reply, world.vlan)], "{name}");
    assert_eq!(rig.counters.outcome(Outcome::EchoAnswered), 1, "{name}");
    assert_eq!((rig.counters.ended(), rig.counters.event(Event::IcmpSent)), (1, 1), "{name}");
}

fn ends(world: &World, frame: &[u8], outcome: Outcome, name: &str) {
    let mut rig = world.rig();
    rig.send([frame]);
    assert_eq!(rig.counters.outcome(outcome), 1, "{name}");
    assert_eq!(rig.counters.event(Event::IcmpSent), 0, "{name}");
}

#[test]
fn echo_is_answered_with_the_same_data_for_every_length() {
    for vlan in [0, 7] {
        let world = World { vlan, ..World::default() };
        for length in (0..70).chain([255, 1000, 1471, 1472, 8973]) {
            let body = body(length);
            let name = format!("{length} bytes, VLAN {vlan}");
            answered(&world, &framed(&request4(&body), vlan), &reply4(&body), &name);
            answered(&world, &framed(&request6(&body), vlan), &reply6(&body), &name);
        }
    }
}

#[test]
fn echo_of_nothing_but_zeros_and_of_sums_near_the_carry_has_the_right_checksum() {
    for (a, b) in [(0, 0), (0xFF, 0xFF), (0xF7, 0xFF), (0xF7, 0xFE), (0xF8, 0x00), (0x08, 0)] {
        for length in [0, 1, 2, 3] {
            let mut body = vec![0; 4 + length];
            (body[0], body[1]) = (a, b);
            answered(&World::default(), &framed(&request4(&body), 0), &reply4(&body), "IPv4");
            answered(&World::default(), &framed(&request6(&body), 0), &reply6(&body), "IPv6");
        }
    }
}

#[test]
fn a_damaged_request_does_not_become_a_valid_reply() {
    let body = body(20);
    let mut request = request4(&body);
    request[40] ^= 1;
    let mut rig = World::default().rig();
    rig.send([&*framed(&request, 0)]);
    let reply = sent(&mut rig).remove(0);
    assert_ne!(checksum(&[&reply[34..]]), 0, "still wrong");
}

#[test]
fn options_extension_headers_and_padding_are_left_out() {
    let body = body(9);
    let message = message(8, 0, &body, &[]);
    let reply = reply4(&body);
    for words in 1..=10 {
        let request = ipv4(CLIENT, VIP, 1, &vec![1; words * 4], &message);
        answered(&World::default(), &framed(&request, 0), &reply, "options");
    }
    let padded = [framed(&request4(&body), 0), vec![0xEE; 20]].concat();
    answered(&World::default(), &padded, &reply, "padding");

    let whole = request6(&body);
    for kind in [0, 43, 60, 44] {
        let chain = [&[58, 0, 0, 0, 0, 0, 0, 0], &whole[40..]].concat();
        let request = ipv6(CLIENT6, VIP6, kind, &chain);
        answered(&World::default(), &framed(&request, 0), &reply6(&body), "an extension header");
    }
}

#[test]
fn tos_identification_and_dont_fragment_come_from_the_request() {
    let body = body(8);
    let mut request = request4(&body);
    (request[1], request[6]) = (0xB8, 0);
    let mut reply = reply4(&body);
    (reply[1], reply[6], reply[10], reply[11]) = (0xB8, 0, 0, 0);
    let sum = checksum(&[&reply[..20]]).to_be_bytes();
    reply[10..12].copy_from_slice(&sum);
    answered(&World::default(), &framed(&request, 0), &reply, "IPv4");

    let mut request = request6(&body);
    (request[0], request[1]) = (0x6B, 0x8F);
    let mut reply = reply6(&body);
    (reply[0], reply[1]) = (0x6B, 0x80);
    answered(&World::default(), &framed(&request, 0), &reply, "IPv6, without its label");
}

#[test]
fn a_rule_that_takes_icmp_gets_it_instead() {
    let world = World { rules: vec![(Protocol::L3Default, None)], ..World::default() };
    ends(&world, &framed(&request4(&body(8)), 0), Outcome::Forwarded, "to the backend");
}

#[test]
fn what_is_not_ours_or_not_whole_or_not_an_echo_request_is_not_answered() {
    let world = World { prefixes: vec!["192.0.2.0/24"], ..World::default() };
    let body = body(8);
    let mut fragment = request4(&body);
    fragment[6] = 0x20;
    let mut later = request4(&body);
    later[7] = 1;
    let to = |to| framed(&icmp4(CLIENT, to, 8, 0, &body), 0);
    let kind = |kind| framed(&icmp4(CLIENT, VIP, kind, 0, &body), 0);
    let mut from_group = framed(&request4(&body), 0);
    from_group[6] = 1;
    for (name, frame, outcome) in [
        ("to nobody's address", to([203, 0, 113, 99]), Outcome::Host),
        ("to one of a prefix of others'", to([192, 0, 2, 9]), Outcome::VipNoRule),
        ("a first fragment", framed(&fragment, 0), Outcome::VipNoRule),
        ("a later fragment", framed(&later, 0), Outcome::VipNoRule),
        ("an echo reply", kind(0), Outcome::VipNoRule),
        ("a timestamp request", kind(13), Outcome::VipNoRule),
        (
            "four bytes of it",
            framed(&ipv4(CLIENT, VIP, 1, &[], &[8, 0, 0xF7, 0xFF]), 0),
            Outcome::VipNoRule,
        ),
        ("from an Ethernet group", from_group, Outcome::VipNoRule),
    ] {
        ends(&world, &frame, outcome, name);
    }
    let silent = World { echo: false, ..World::default() };
    ends(&silent, &framed(&request4(&body), 0), Outcome::VipNoRule, "answer_echo = false");
}

#[test]
fn n3_echo_and_too_big_share_one_rate() {
    let mut rig = World { rate: 2, ..World::default() }.rig();
    let large = framed(&request(Family::V4, TCP, 1500), 0);
    let echo = framed(&request4(&body(8)), 0);
    rig.send([&*echo, &*large, &*echo, &*large]);
    assert_eq!(sent(&mut rig).len(), 2);
    assert_eq!(rig.counters.outcome(Outcome::EchoAnswered), 1);
    assert_eq!(rig.counters.outcome(Outcome::IcmpRateLimited), 1);
    assert_eq!(rig.counters.outcome(Outcome::TooBig), 2);
    assert_eq!(rig.counters.event(Event::IcmpSuppressed), 2);
}
