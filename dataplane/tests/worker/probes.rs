//! W-8: probes from the host, to one chosen backend.

use std::collections::BTreeSet;
use std::sync::Arc;

use dataplane::io::Frame;
use dataplane::io::mem::MemFrame;
use dataplane::probe::Probes;
use etherparse::PacketBuilder;
use tables::counters::Event;
use tables::probes::{GATEWAY, ProbeSlots};
use tables::template::TemplateSpec;
use tables::{Family, Outcome, SlotEpochs, SlotId, SlotTable, Template, Tick};

use crate::rig::*;

const PORT: u16 = 40_000;

/// A SYN of the prober, from the port's own address.
fn probe(to: [u8; 6], vip: [u8; 4], sport: u16) -> Vec<u8> {
    let link = PacketBuilder::ethernet2(OURS.0, to);
    let mut frame = Vec::new();
    let packet = link.ipv4(OUR_TUNNEL, vip, 64).tcp(sport, 80, 1, 1024).syn();
    packet.write(&mut frame, &[]).expect("a vector takes every byte");
    frame
}

/// Lets the host send these; what the worker counts then.
fn host_sends(rig: &mut Rig, frames: &[Vec<u8>]) {
    let from_host = &mut rig.worker.io.ports[0].from_host;
    from_host.extend(frames.iter().map(|frame| MemFrame::new(frame)));
    while rig.worker.step(Tick(1)) > 0 {}
}

fn claimed(rig: &mut Rig, slot: u32) -> (Arc<ProbeSlots>, tables::probes::Claim) {
    let slots = Arc::new(ProbeSlots::default());
    rig.worker.probes = Probes::new(Arc::clone(&slots));
    let slot = SlotId::new(slot).expect("in range");
    let claim = slots.claim(Family::V4, PORT, slot).expect("free");
    (slots, claim)
}

#[test]
fn w8_a_probe_reaches_its_backend_and_touches_nothing_else() {
    // Backend 2 has no weight, so that nobody is given to it; no rule takes the last of the VIPs.
    for vip in [VIP, [203, 0, 113, 99]] {
        let mut rig = Rig::new(tables(&[1, 1, 0], None));
        let (_slots, _claim) = claimed(&mut rig, 2);
        host_sends(&mut rig, &[probe(GATEWAY.0, vip, PORT)]);
        let sent = rig.worker.io.ports[0].sent.pop_back().expect("a frame");
        let data = tcp([198, 51, 100, 7], PORT, 80, true, 0);
        assert_eq!(sent.bytes()[..6], ROUTER.0);
        assert_eq!(sent.bytes()[33], 2, "the backend that was chosen");
        assert_eq!(sent.bytes()[34..], probe(GATEWAY.0, vip, PORT)[14..], "unchanged inside");
        assert_eq!(sent.bytes().len(), data.len() + 20, "the same tunnel as data");
        assert_eq!(rig.counters.outcome(Outcome::Probe), 1);
        for event in [Event::EntryCreated, Event::EntryHit, Event::FromHostDropped] {
            assert_eq!(rig.counters.event(event), 0, "{event:?}");
        }
        assert!(rig.balances());
    }
}

/// The host's frames have the tag of their port by the time that a worker sees them (N-4).
#[test]
fn w8_n4_a_probe_of_a_port_with_a_vlan_goes_the_same_way() {
    let untagged = probe(GATEWAY.0, VIP, PORT);
    let mut rig = Rig::new(tables(&[1, 1, 1], None));
    let (_slots, _claim) = claimed(&mut rig, 2);
    host_sends(&mut rig, &[tagged(&untagged, 10)]);
    let sent = rig.worker.io.ports[0].sent.pop_back().expect("a frame");
    // The way out has a VLAN of its own: none here.
    assert_eq!(sent.bytes()[33], 2, "the backend that was chosen");
    assert_eq!(sent.bytes()[34..], untagged[14..], "unchanged inside");
    assert_eq!(rig.counters.outcome(Outcome::Probe), 1);
    assert!(rig.balances());
}

fn tagged(frame: &[u8], vlan: u8) -> Vec<u8> {
    [&frame[..12], &[0x81, 0, 0, vlan], &frame[12..]].concat()
}

#[test]
fn w8_only_the_hosts_frames_to_nobody_are_probes() {
    let mut rig = Rig::new(tables(&[1, 1, 1], None));
    let (_slots, _claim) = claimed(&mut rig, 2);
    // The same from the wire is a client's; the same to a neighbour is the host's own.
    rig.send([probe(OURS.0, VIP, PORT).as_slice()]);
    let to_router = probe(ROUTER.0, VIP, PORT);
    host_sends(&mut rig, std::slice::from_ref(&to_router));
    assert_eq!(rig.counters.outcome(Outcome::Probe), 0);
    let sent = rig.worker.io.ports[0].sent.pop_back().expect("a frame");
    assert_eq!(sent.bytes(), to_router);
    assert!(rig.balances());
}

#[test]
fn w8_what_no_probe_claims_goes_nowhere() {
    let mut rig = Rig::new(tables(&[1], None));
    let (_slots, claim) = claimed(&mut rig, 0);
    let other_port = probe(GATEWAY.0, VIP, PORT + 1);
    let mut no_ip = probe(GATEWAY.0, VIP, PORT);
    no_ip[12..14].copy_from_slice(&[0x08, 0x06]);
    host_sends(&mut rig, &[other_port, no_ip]);
    drop(claim);
    host_sends(&mut rig, &[probe(GATEWAY.0, VIP, PORT)]);
    assert!(rig.worker.io.ports[0].sent.is_empty());
    assert_eq!(rig.counters.event(Event::FromHostDropped), 3);
    assert!(rig.balances());
}

#[test]
fn w8_a_probe_to_a_backend_without_a_next_hop_ends_by_name() {
    let mut rig = Rig::new(tables(&[1, 1], Some(1)));
    let (_slots, _claim) = claimed(&mut rig, 1);
    host_sends(&mut rig, &[probe(GATEWAY.0, VIP, PORT)]);
    assert_eq!(rig.counters.outcome(Outcome::NextHopUnresolved), 1);
    assert!(rig.balances());
}

#[test]
fn w8_more_probes_than_a_burst_all_go_out() {
    let mut rig = Rig::new(tables(&[1], None));
    let (_slots, _claim) = claimed(&mut rig, 0);
    let frames = vec![probe(GATEWAY.0, VIP, PORT); 100];
    host_sends(&mut rig, &frames);
    assert_eq!(rig.counters.outcome(Outcome::Probe), 100);
    assert_eq!(rig.worker.io.ports[0].sent.len(), 100);
}

/// A backend's firewall that lets only the tunnel's own source in would be green and serve nobody.
#[test]
fn w8_a_probe_has_an_outer_source_of_those_that_clients_packets_have() {
    let entropy = "172.16.0.0/16".parse().ok();
    let template = |inner| Template::new(&TemplateSpec { inner, entropy, ..spec() }).expect("IPv4");
    let templates = Box::new([Family::V4, Family::V6].map(template));
    let mut tables = tables(&[1], None);
    tables.slots = SlotTable::new([(SlotEpochs::default(), Some(templates))]);
    let mut rig = Rig::new(tables);
    let slots = Arc::new(ProbeSlots::default());
    rig.worker.probes = Probes::new(Arc::clone(&slots));
    let claim = |port| slots.claim(Family::V4, port, SlotId::new(0).expect("in range"));
    let claims: Vec<_> = (PORT..PORT + 20).map(|port| claim(port).expect("free")).collect();
    let probes: Vec<_> = (PORT..PORT + 20).map(|port| probe(GATEWAY.0, VIP, port)).collect();
    host_sends(&mut rig, &probes);
    let sent = rig.worker.io.ports[0].sent.drain(..);
    let sources: BTreeSet<_> = sent.map(|frame| frame.bytes()[26..30].to_vec()).collect();
    assert!(sources.iter().all(|source| source.starts_with(&[172, 16])), "{sources:?}");
    assert!(sources.len() > 15, "{sources:?}");
    drop(claims);
}
