//! D-8: an IPv4 packet without "don't fragment" that is too big leaves in fragments, each in an
//! outer header of its own.

use std::sync::Arc;
use std::time::Duration;

use dataplane::batch::{Batch, Packet};
use dataplane::encap::{self, FlowLabels, Identifiers};
use dataplane::icmp::{Messenger, PathMtus};
use dataplane::io::Frame;
use dataplane::io::mem::{MemFrame, MemIo};
use dataplane::parse;
use tables::counters::Event;
use tables::template::{GueVariant, TemplateSpec, Tunnel};
use tables::*;

use super::outer::{BACKEND4, spec, template};
use crate::frames::*;

/// The frames that left, how the packet ended, and what was counted.
struct Sent {
    frames: Vec<Vec<u8>>,
    outcome: Option<Outcome>,
    counters: Counters,
}

fn tables(spec: &TemplateSpec) -> Tables {
    let of = |inner| template(&TemplateSpec { inner, ..spec.clone() });
    let templates = Box::new([of(Family::V4), of(Family::V6)]);
    Tables {
        seed: HashSeed([3; 16]),
        ports: Box::new([port(0)]),
        slots: SlotTable::new([(SlotEpochs::default(), Some(templates))]),
        ..Tables::default()
    }
}

fn send(frame: &[u8], spec: &TemplateSpec, io: MemIo) -> Sent {
    run(MemFrame::new(frame), spec, io).0
}

/// What was sent at once, and the frame that is left to be.
fn run(frame: MemFrame, spec: &TemplateSpec, mut io: MemIo) -> (Sent, MemFrame) {
    let tables = tables(spec);
    let (counters, tick) = (Counters::new(1), Duration::from_millis(250));
    let icmp = Messenger::new(Arc::new(PathMtus::new(tick)), tick);
    let mut batch = Batch::default();
    batch.0.push(Packet::new(frame, PortId(0)));
    parse::stage(&mut batch, &tables);
    batch.0[0].slot = SlotId::new(0);
    let mut ids = Identifiers::starting_at(0xFFFE);
    let worker = counters.worker(0);
    let counted = (worker, tables.traffic.by(0));
    encap::stage(&mut batch, &tables, &mut ids, icmp.paths(Tick(0)), &mut io, counted);
    let frames = io.ports[1].sent.iter().map(|f| f.bytes().to_vec()).collect();
    let packet = batch.0.remove(0);
    (Sent { frames, outcome: packet.outcome, counters }, packet.frame)
}

/// A UDP datagram of this many bytes, headers included, that may be fragmented.
fn datagram(size: usize) -> Vec<u8> {
    let payload: Vec<u8> = (0..size - 28).map(|i| (i * 13) as u8).collect();
    let frame = with(packet(Family::V4, L4::Udp, 0, &payload), &[(20, 0), (24, 0), (25, 0)]);
    let [high, low] = checksum(&frame[14..34]).to_be_bytes();
    with(frame, &[(24, high), (25, low)])
}

fn fragmenting(outer: Family, tunnel: Tunnel) -> TemplateSpec {
    TemplateSpec { fragment_oversize: true, ..spec(Family::V4, outer, tunnel) }
}

/// The inner packets' payloads put together; checks headers, places and lengths on the way.
fn together(sent: &[Vec<u8>], outer: usize, mtu: usize) -> Vec<u8> {
    let mut payload = Vec::new();
    for (i, frame) in sent.iter().enumerate() {
        assert!(frame.len() <= 14 + mtu, "{} in {mtu}", frame.len());
        let inner = &frame[14 + outer..];
        assert_eq!(inner.len(), usize::from(u16::from_be_bytes([inner[2], inner[3]])));
        assert_eq!(checksum(&inner[..20]), 0);
        let place = u16::from_be_bytes([inner[6], inner[7]]);
        assert_eq!(usize::from(place & 0x1FFF) * 8, payload.len());
        assert_eq!(place & 0x2000 != 0, i + 1 < sent.len(), "more fragments");
        payload.extend(&inner[20..]);
    }
    payload
}

#[test]
fn a_packet_that_is_too_big_leaves_in_fragments_that_fit() {
    let gue = Tunnel::Gue { port: 6080, variant: GueVariant::Zero };
    for (outer, tunnel, header) in [
        (Family::V4, Tunnel::Ipip, 20),
        (Family::V6, Tunnel::Gre { key: Some(7) }, 48),
        (Family::V6, gue, 52),
    ] {
        for size in [1500 - header + 1, 1500, 4000, 9000] {
            let frame = datagram(size);
            let sent = send(&frame, &fragmenting(outer, tunnel), MemIo::new(2));
            assert_eq!(sent.outcome, Some(Outcome::Forwarded));
            assert_eq!(together(&sent.frames, header, 1500), frame[34..], "{size}");
            assert_eq!(sent.counters.event(Event::Fragmented), 1);
            assert_eq!(sent.counters.event(Event::Sent), sent.frames.len() as u64);
        }
    }
}

#[test]
fn each_outer_header_has_an_identification_of_its_own_and_may_be_fragmented() {
    let sent = send(&datagram(4000), &fragmenting(Family::V4, Tunnel::Ipip), MemIo::new(2));
    // The first one was for the packet itself, as if it fitted.
    let ids: Vec<_> = sent.frames.iter().map(|f| [f[18], f[19]]).collect();
    assert_eq!(ids, [[0xFF, 0xFF], [0, 0], [0, 1]]);
    for frame in &sent.frames {
        assert_eq!((frame[20], checksum(&frame[14..34])), (0, 0));
    }
}

#[test]
fn all_fragments_of_a_packet_have_the_label_of_its_flow() {
    let frame = datagram(4000);
    let spec = fragmenting(Family::V6, Tunnel::Gue { port: 6080, variant: GueVariant::One });
    let sent = send(&frame, &spec, MemIo::new(2));
    let parsed = parse::frame(&frame, &port(0)).expect("reads");
    let label = FlowLabels::new(&HashSeed([3; 16])).of(&parsed);
    for frame in &sent.frames {
        assert_eq!(frame[15..18], label.ipv6().to_be_bytes()[1..]);
        assert_eq!(frame[54..56], label.port().to_be_bytes());
    }
}

#[test]
fn without_a_tunnel_the_first_fragment_has_the_checksum_for_the_backend() {
    let frame = datagram(3000);
    let sent = send(&frame, &fragmenting(Family::V4, Tunnel::L3dsr { dscp: 1 }), MemIo::new(2));
    let payload = together(&sent.frames, 0, 1500);
    assert_eq!((&payload[..6], &payload[8..]), (&frame[34..40], &frame[42..]));
    let pseudo = |to: [u8; 4]| [&CLIENT4[..], &to, &[0, 17, 0x0B, 0xA4]].concat();
    assert_eq!(checksum(&[&pseudo(BACKEND4)[..], &payload].concat()), 0);
    assert!(sent.frames.iter().all(|f| f[30..34] == BACKEND4));
}

#[test]
fn what_may_not_be_fragmented_is_too_big() {
    let fragments = fragmenting(Family::V4, Tunnel::Ipip);
    let whole = TemplateSpec { fragment_oversize: false, ..fragments.clone() };
    let unresolved = TemplateSpec { next_hop: None, ..fragments.clone() };
    let six = packet(Family::V6, L4::Udp, 0, &[0; 1453]);
    for (name, frame, spec) in [
        ("don't fragment", packet(Family::V4, L4::Udp, 0, &[0; 1453]), &fragments),
        ("IPv6", six, &fragments),
        ("the port does not fragment", datagram(1481), &whole),
        ("the next hop is not known", datagram(1481), &unresolved),
    ] {
        let sent = send(&frame, spec, MemIo::new(2));
        assert_eq!((sent.outcome, sent.frames.len()), (Some(Outcome::TooBig), 0), "{name}");
    }
    let sent = send(&datagram(1480), &fragments, MemIo::new(2));
    assert_eq!((sent.outcome, sent.frames.len()), (None, 0), "it fits");
}

#[test]
fn a_wrong_header_checksum_is_not_hidden_by_new_ones() {
    let frame = with(datagram(3000), &[(25, 0)]);
    let sent = send(&frame, &fragmenting(Family::V4, Tunnel::Ipip), MemIo::new(2));
    assert_eq!((sent.outcome, sent.frames.len()), (Some(Outcome::WrongChecksum), 0));
}

#[test]
fn without_a_buffer_or_room_to_send_the_packet_ends_by_name() {
    let spec = fragmenting(Family::V4, Tunnel::Ipip);
    let io = MemIo { buffers: Some(2), ..MemIo::new(2) };
    let sent = send(&datagram(4000), &spec, io);
    assert_eq!((sent.outcome, sent.frames.len()), (Some(Outcome::NoBuffer), 0));
    let mut io = MemIo::new(2);
    io.ports[1].room = Some(1);
    let sent = send(&datagram(4000), &spec, io);
    assert_eq!((sent.outcome, sent.frames.len()), (Some(Outcome::TxFull), 1));
    assert_eq!(sent.counters.event(Event::Sent), 1);
    assert_eq!(sent.counters.event(Event::Fragmented), 0);
}

#[test]
fn a_frame_without_headroom_is_moved_to_one_that_has_it() {
    let l3dsr = Tunnel::L3dsr { dscp: 1 };
    for (outer, tunnel, needed) in
        [(Family::V4, Tunnel::Ipip, 20), (Family::V6, Tunnel::Gre { key: None }, 44)]
    {
        let spec = spec(Family::V4, outer, tunnel);
        let frame = packet(Family::V4, L4::Tcp, 0, b"the quick brown fox");
        let (_, with_room) = run(MemFrame::new(&frame), &spec, MemIo::new(2));
        for headroom in [0, needed - 1, needed] {
            let (sent, moved) = run(
                MemFrame::with_headroom(&padded(frame.clone(), 9), headroom),
                &spec,
                MemIo::new(2),
            );
            assert_eq!((sent.outcome, moved.bytes()), (None, with_room.bytes()), "{headroom}");
        }
        let none = MemIo { buffers: Some(0), ..MemIo::new(2) };
        let (sent, left) = run(MemFrame::with_headroom(&frame, 3), &spec, none);
        assert_eq!((sent.outcome, left.bytes()), (Some(Outcome::NoHeadroom), &*frame));
    }
    let spec = spec(Family::V4, Family::V4, l3dsr);
    let tagged = packet(Family::V4, L4::Udp, 0, b"x");
    let (sent, _) = run(MemFrame::with_headroom(&tagged, 0), &spec, MemIo::new(2));
    assert_eq!(sent.outcome, None, "no tunnel, no room needed");
}

#[test]
fn more_fragments_than_a_burst_go_out_in_turn() {
    let spec = TemplateSpec { mtu: 576, ..fragmenting(Family::V4, Tunnel::Ipip) };
    let frame = datagram(60_000);
    let sent = send(&frame, &spec, MemIo::new(2));
    assert_eq!(sent.outcome, Some(Outcome::Forwarded));
    assert!(sent.frames.len() > 100);
    assert_eq!(together(&sent.frames, 20, 576), frame[34..]);
}
