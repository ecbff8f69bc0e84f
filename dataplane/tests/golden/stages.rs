//! The two stages on a burst: who lives on, by which port, and how the others end.

use std::sync::Arc;

use dataplane::batch::{Batch, Packet};
use dataplane::encap::{self, FlowLabels, Identifiers};
use dataplane::icmp::{Messenger, PathMtus};
use dataplane::io::Frame;
use dataplane::io::mem::{MemFrame, MemIo};
use dataplane::parse;
use tables::template::{TemplateSpec, Tunnel};
use tables::{
    Counters, Family, HashSeed, Outcome, PortId, SlotEpochs, SlotId, SlotTable, Tables, Template,
    Tick,
};

use crate::encap::outer::{spec, template};
use crate::frames::*;

/// Slot 0 is reached over IPv4 by port 1, slot 1 over IPv6 by port 2, slot 2 is free.
fn tables() -> Tables {
    let slot = |outer, port| -> Option<Box<[Template; 2]>> {
        let of = |inner| {
            template(&TemplateSpec { port: PortId(port), ..spec(inner, outer, Tunnel::Ipip) })
        };
        Some(Box::new([of(Family::V4), of(Family::V6)]))
    };
    let slots = [slot(Family::V4, 1), slot(Family::V6, 2), None];
    Tables {
        seed: HashSeed([3; 16]),
        ports: Box::new([port(0)]),
        slots: SlotTable::new(slots.map(|t| (SlotEpochs::default(), t))),
        ..Tables::default()
    }
}

/// Nothing is known of any path.
fn icmp() -> Messenger {
    Messenger::new(Arc::new(PathMtus::new(Tick::LENGTH)), Tick::LENGTH)
}

fn burst(frames: &[Vec<u8>], arrived_at: u8) -> Batch<MemFrame> {
    let packets = frames.iter().map(|f| Packet::new(MemFrame::new(f), PortId(arrived_at)));
    Batch(packets.collect())
}

fn encapsulate(batch: &mut Batch<MemFrame>, tables: &Tables, first_id: u16) {
    let (mut ids, mut io) = (Identifiers::starting_at(first_id), MemIo::new(4));
    let paths = icmp();
    let (paths, counters) = (paths.paths(Tick(0)), Counters::new(1));
    let counted = (counters.worker(0), tables.traffic.by(0));
    encap::stage(batch, tables, &mut ids, paths, &mut io, counted);
}

#[test]
fn parsing_ends_what_cannot_go_on() {
    let tcp = packet(Family::V4, L4::Tcp, 0, b"x");
    let frames = [tcp.clone(), with(tcp.clone(), &[(5, 1)]), with(tcp.clone(), &[(0, 0xFF)])];
    let mut batch = burst(&frames, 0);
    parse::stage(&mut batch, &tables());
    let outcomes: Vec<_> = batch.0.iter().map(|p| p.outcome).collect();
    assert_eq!(outcomes, [None, Some(Outcome::NotOurMac), Some(Outcome::Host)]);
    assert_eq!(batch.0[0].parsed, parse::frame(&tcp, &port(0)).expect("reads"));
}

#[test]
fn a_port_that_the_tables_do_not_know_takes_nothing() {
    let mut batch = burst(&[packet(Family::V4, L4::Tcp, 0, b"x")], 9);
    parse::stage(&mut batch, &tables());
    assert_eq!(batch.0[0].outcome, Some(Outcome::NotOurMac));
}

#[test]
fn encapsulation_leads_to_the_backends_port_or_ends_the_packet() {
    let (v4, v6) = (packet(Family::V4, L4::Tcp, 0, b"x"), packet(Family::V6, L4::Udp, 0, b"y"));
    let large = packet(Family::V4, L4::Udp, 0, &[0; 1453]);
    let frames = [v4.clone(), v6, v4.clone(), v4.clone(), large];
    let slots = [Some(0), Some(1), Some(2), None, Some(0)];
    let tables = tables();
    let mut batch = burst(&frames, 0);
    parse::stage(&mut batch, &tables);
    for (packet, slot) in batch.0.iter_mut().zip(slots) {
        packet.slot = slot.and_then(SlotId::new);
    }
    encapsulate(&mut batch, &tables, 0);
    let ends: Vec<_> = batch.0.iter().map(|p| (p.outcome, p.egress)).collect();
    let ended = |outcome| (Some(outcome), PortId(0));
    assert_eq!(
        ends,
        [
            (None, PortId(1)),
            (None, PortId(2)),
            ended(Outcome::NoEligibleBackend),
            (None, PortId(0)),
            ended(Outcome::TooBig),
        ]
    );
    assert_eq!(batch.0[3].frame.bytes(), v4, "no backend, no tunnel");
}

/// The frames that a burst of one frame, repeated, leaves as.
fn repeated(frame: &[u8], slot: u32, first_id: u16) -> Vec<Vec<u8>> {
    let tables = tables();
    let mut batch = burst(&[frame.to_vec(), frame.to_vec()], 0);
    parse::stage(&mut batch, &tables);
    for packet in &mut batch.0 {
        packet.slot = SlotId::new(slot);
    }
    encapsulate(&mut batch, &tables, first_id);
    batch.0.iter().map(|p| p.frame.bytes().to_vec()).collect()
}

#[test]
fn outer_ipv4_headers_are_numbered_across_the_wrap() {
    let sent = repeated(&packet(Family::V6, L4::Tcp, 0, b"x"), 0, 0xFFFF);
    assert_eq!([&sent[0][18..20], &sent[1][18..20]], [[0xFF, 0xFF], [0, 0]]);
}

#[test]
fn a_flow_has_one_label_in_outer_ipv6_headers() {
    let frame = packet(Family::V4, L4::Tcp, 0, b"x");
    let sent = repeated(&frame, 1, 0);
    assert_eq!(sent[0], sent[1]);
    let parsed = parse::frame(&frame, &port(0)).expect("reads");
    let label = FlowLabels::new(&HashSeed([3; 16])).of(&parsed).ipv6();
    assert_eq!(sent[0][15..18], label.to_be_bytes()[1..], "traffic class 0, then the label");
}
