//! What kinds of encapsulation have to do with other stages: fragments and the sums of D-7, the
//! loop guard (N-5), errors about the tunnel (S-7).

use dataplane::io::Frame;
use etherparse::{IpHeaders, IpNumber, Ipv4Header, PacketBuilder};
use tables::counters::Event;
use tables::template::{GueVariant, TemplateSpec, Tunnel};
use tables::*;

use crate::rig::{self, OUR_TUNNEL, OURS, ROUTER, Rig, spec};

const CLIENT: [u8; 4] = [198, 51, 100, 7];
/// A rule takes everything for it.
const VIP: [u8; 4] = [203, 0, 113, 11];
const GUE: Tunnel = Tunnel::Gue { port: 6080, variant: GueVariant::Zero };

/// One backend, 10.1.0.0, behind GUE, and leave to fragment.
fn gue() -> Tables {
    let spec = TemplateSpec { tunnel: GUE, fragment_oversize: true, ..spec() };
    let of = |inner| Template::new(&TemplateSpec { inner, ..spec.clone() }).expect("one family");
    let templates = Box::new([of(Family::V4), of(Family::V6)]);
    let slot = SlotId::new(0).expect("in range");
    Tables {
        slots: SlotTable::new([(SlotEpochs::default(), Some(templates))]),
        gue_ports: Box::new([6080]),
        backends: [(spec.destination, slot)].into_iter().collect(),
        ..rig::tables(&[1], None)
    }
}

fn datagram(from: [u8; 4], to: [u8; 4], port: u16, size: usize) -> Vec<u8> {
    let length = size as u16 - 20;
    let mut ip = Ipv4Header::new(length, 60, IpNumber::UDP, from, to).expect("it fits");
    ip.dont_fragment = false;
    let link = PacketBuilder::ethernet2(ROUTER.0, OURS.0);
    let mut frame = Vec::new();
    let udp = link.ip(IpHeaders::Ipv4(ip, Default::default())).udp(40_000, port);
    udp.write(&mut frame, &vec![0x5A; size - 28]).expect("written");
    frame
}

/// The lengths of the outer packets that left.
fn lengths(rig: &mut Rig) -> Vec<usize> {
    rig.worker.io.ports[0].sent.drain(..).map(|frame| frame.bytes().len() - 14).collect()
}

#[test]
fn d7_a_packet_that_leaves_in_fragments_ends_once() {
    let mut rig = Rig::new(gue());
    let frames = [datagram(CLIENT, VIP, 53, 1490), datagram(CLIENT, VIP, 53, 1468)];
    rig.send(frames.iter().map(Vec::as_slice));
    assert_eq!(rig.counters.outcome(Outcome::Forwarded), 2);
    assert_eq!(rig.counters.event(Event::Fragmented), 1);
    assert_eq!(rig.counters.event(Event::Sent), 3);
    assert!(rig.balances());
    // 1,468 bytes in fragments of whole units: 20 + 1,448, then the rest; then what just fits.
    assert_eq!(lengths(&mut rig), [1500, 32 + 20 + 1490 - 1468, 1500]);
}

#[test]
fn n5_our_own_gue_that_comes_back_is_dropped() {
    let mut rig = Rig::new(gue());
    rig.send([&*datagram(OUR_TUNNEL, VIP, 6080, 100)]);
    assert_eq!(rig.counters.outcome(Outcome::Loop), 1);
    rig.send([&*datagram(OUR_TUNNEL, VIP, 6081, 100), &*datagram(CLIENT, VIP, 6080, 100)]);
    assert_eq!(rig.counters.outcome(Outcome::Loop), 1);
}

/// "Fragmentation needed" about a packet to the backend.
fn report(port: u16, mtu: u16) -> Vec<u8> {
    let quote = datagram(OUR_TUNNEL, [10, 1, 0, 0], port, 64);
    let [high, low] = mtu.to_be_bytes();
    let link = PacketBuilder::ethernet2(ROUTER.0, OURS.0);
    let error = link.ipv4([192, 0, 2, 1], OUR_TUNNEL, 60).icmpv4_raw(3, 4, [0, 0, high, low]);
    let mut frame = Vec::new();
    error.write(&mut frame, &quote[14..42]).expect("written");
    frame
}

#[test]
fn s7_fragments_fit_the_path_that_routers_report_of_a_gue_tunnel() {
    let mut rig = Rig::new(gue());
    rig.send([&*report(6081, 800)]);
    assert_eq!(rig.counters.event(Event::PathMtuLowered), 0, "not a port of ours");
    rig.send([&*report(6080, 800)]);
    assert_eq!(rig.counters.event(Event::PathMtuLowered), 1);
    rig.send([&*datagram(CLIENT, VIP, 53, 1400)]);
    assert_eq!(rig.counters.event(Event::Fragmented), 1);
    // 768 bytes fit: 20 + 744, and the rest of 1,380.
    assert_eq!(lengths(&mut rig), [32 + 764, 32 + 20 + 636]);
}
