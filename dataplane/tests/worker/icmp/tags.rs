//! N-4: an answer is tagged as its port is, whatever tag the frame came in with.

use dataplane::io::Frame;
use tables::counters::Event;
use tables::{Family, Outcome};

use super::packets::*;
use super::world::World;
use crate::rig::VIP;

/// Every way for a frame to be of the port's VLAN: the port's, then the bytes of the tag.
const TAGS: [(&str, u16, &[u8]); 7] = [
    ("none", 0, &[]),
    ("a priority tag", 0, &[0x81, 0, 0, 0]),
    ("a priority tag with all priorities", 0, &[0x81, 0, 0xF0, 0]),
    ("a service tag of VLAN 0", 0, &[0x88, 0xA8, 0xE0, 0]),
    ("the port's", 7, &[0x81, 0, 0, 7]),
    ("the port's, drop-eligible, with priority", 7, &[0x81, 0, 0xB0, 7]),
    ("a service tag of the port's VLAN", 7, &[0x88, 0xA8, 0xE0, 7]),
];

/// `packet` in a frame with this tag.
fn tagged(packet: &[u8], tag: &[u8]) -> Vec<u8> {
    let mut frame = framed(packet, 0);
    frame.splice(12..12, tag.iter().copied());
    frame
}

/// A request that is answered, and how it ends.
fn requests() -> Vec<(&'static str, Vec<u8>, Outcome)> {
    vec![
        ("echo", icmp4(CLIENT, VIP, 8, 0, &[1; 12]), Outcome::EchoAnswered),
        ("echo over IPv6", icmp6(CLIENT6, VIP6, 128, 0, &[1; 12]), Outcome::EchoAnswered),
        ("too big", request(Family::V4, TCP, 1481), Outcome::TooBig),
        ("too big over IPv6", request(Family::V6, TCP, 1481), Outcome::TooBig),
        ("a report about a tunnel", report(), Outcome::TunnelError),
    ]
}

/// "Fragmentation needed" that quotes enough of the packet in our tunnel to tell its client.
fn report() -> Vec<u8> {
    let inner = request(Family::V4, TCP, 1400);
    let quote = ipv4(crate::rig::OUR_TUNNEL, [10, 1, 0, 0], 4, &[], &inner[..64]);
    icmp4(HOP, crate::rig::OUR_TUNNEL, 3, 4, &[&[0, 0, 0x05, 0x14], &quote[..]].concat())
}

#[test]
fn n4_an_answer_is_tagged_as_the_port_is_and_not_as_the_frame_was() {
    for (name, packet, outcome) in requests() {
        for (tag, vlan, bytes) in TAGS {
            let mut rig = World { vlan, ..World::default() }.rig();
            rig.send([&*tagged(&packet, bytes)]);
            assert_eq!(rig.counters.outcome(outcome), 1, "{name}, {tag}");
            assert_eq!(rig.counters.event(Event::IcmpSent), 1, "{name}, {tag}");
            let sent = rig.worker.io.ports[0].sent.pop_back().expect("answered");
            let l3 = if vlan == 0 { 14 } else { 18 };
            let expected = framed_back(&sent.bytes()[l3..], vlan);
            assert_eq!(sent.bytes()[..l3], expected[..l3], "{name}, {tag}");
            assert_eq!(sent.bytes()[l3] >> 4, packet[0] >> 4, "{name}, {tag}: IP is behind it");
        }
    }
}

#[test]
fn n4_what_goes_to_a_backend_is_tagged_as_its_way_is_fragments_too() {
    let mut fragmented = request(Family::V4, UDP, 1490);
    (fragmented[6], fragmented[10], fragmented[11]) = (0, 0, 0);
    let sum = checksum(&[&fragmented[..20]]).to_be_bytes();
    fragmented[10..12].copy_from_slice(&sum);
    for (name, packet, pieces) in
        [("whole", request(Family::V4, TCP, 100), 1), ("in fragments", fragmented, 2)]
    {
        for (tag, vlan, bytes) in TAGS {
            let mut rig = World { vlan, fragments: true, ..World::default() }.rig();
            rig.send([&*tagged(&packet, bytes)]);
            let sent: Vec<_> = rig.worker.io.ports[0].sent.drain(..).collect();
            assert_eq!(sent.len(), pieces, "{name}, {tag}");
            for frame in sent {
                let expected = framed_back(&[0x45], vlan);
                assert_eq!(frame.bytes()[..expected.len()], expected, "{name}, {tag}");
            }
        }
    }
}
