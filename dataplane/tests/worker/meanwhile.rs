//! S-6 and N-5: what may happen between a datagram's fragments.

use dataplane::io::Frame;
use tables::rules::RuleTable;
use tables::{Outcome, Tables, Tick};

use crate::pieces::*;
use crate::rig::*;

const CLIENT: &str = "198.51.100.7";
const WEB: &str = "203.0.113.10";
const ALL: &str = "203.0.113.11";

fn segment(sport: u16, id: u32) -> Vec<Vec<u8>> {
    fragments(&whole(CLIENT, WEB, sport, false, 100), id, 24)
}

fn send(rig: &mut Rig, now: u32, frames: &[Vec<u8>]) {
    rig.send_at(Tick(now), frames.iter().map(|f| &**f));
    assert!(rig.balances());
}

fn ends(rig: &Rig) -> Vec<(&'static str, u64)> {
    let counts = Outcome::ALL.iter().map(|o| (o.name(), rig.counters.outcome(*o)));
    counts.filter(|(_, count)| *count > 0).collect()
}

/// The backend that a whole packet goes to.
fn home(sport: u16) -> u8 {
    let mut rig = Rig::new(tables(&[1; 5], None));
    rig.send([&*whole(CLIENT, WEB, sport, false, 100)]);
    rig.backends()[0]
}

#[test]
fn r2_a_rule_that_goes_while_fragments_wait_leaves_none_behind() {
    let of = |rules| Tables { rules, ..tables(&[1; 5], None) };
    let closed = |port| {
        let rule = |spec: &tables::rules::RuleSpec| spec.name.as_ref() != port;
        RuleTable::build(&rules().into_iter().filter(rule).collect::<Vec<_>>()).expect("builds")
    };
    // The VIP stays, the port does not; then nothing claims the address any more.
    let pieces = segment(5, 5);
    let mut rig = Rig::new(tables(&[1; 5], None));
    send(&mut rig, 1, &pieces[1..]);
    rig.publisher.try_publish(of(closed("web"))).expect("published");
    send(&mut rig, 2, &pieces[..1]);
    assert_eq!((rig.counters.held(), ends(&rig)), (0, vec![("vip_no_rule", 5)]));

    let mut rig = Rig::new(tables(&[1; 5], None));
    send(&mut rig, 1, &pieces[1..]);
    rig.publisher.try_publish(of(RuleTable::default())).expect("published");
    send(&mut rig, 2, &pieces[..1]);
    assert_eq!((rig.counters.held(), ends(&rig)), (4, vec![("host", 1)]));
    send(&mut rig, 5, &[]);
    assert_eq!(ends(&rig), [("host", 1), ("fragment_no_first", 4)]);
}

#[test]
fn s6_an_identification_used_again_means_the_newer_datagram() {
    let mut rig = Rig::new(tables(&[1; 5], None));
    let apart = (2..).find(|sport| home(*sport) != home(1)).expect("there are five backends");
    send(&mut rig, 1, &segment(1, 7));
    assert_eq!(rig.backends(), [home(1); 5]);
    send(&mut rig, 2, &segment(apart, 7));
    assert_eq!(rig.backends(), [home(apart); 5]);
}

#[test]
fn n4_fragments_of_one_datagram_may_be_tagged_and_not() {
    let mut rig = Rig::new(tables(&[1; 5], None));
    let mut pieces = segment(5, 5);
    for piece in pieces.iter_mut().step_by(2) {
        piece.splice(12..12, [0x88, 0xA8, 0xE0, 0]);
    }
    pieces.reverse();
    send(&mut rig, 1, &pieces);
    assert_eq!(rig.backends(), [home(5); 5]);
}

#[test]
fn s6_a_fragment_without_a_byte_is_a_fragment() {
    let mut rig = Rig::new(tables(&[1; 5], None));
    let pieces = segment(5, 5);
    let mut empty = pieces[1][..34].to_vec();
    empty[17] = 20;
    let frames = [pieces[0].clone(), summed_up(empty.clone())];
    send(&mut rig, 1, &frames);
    assert_eq!(ends(&rig), [("forwarded", 2)]);
    // As a first one it has no header to tell of.
    empty[21] = 0;
    send(&mut rig, 1, &[summed_up(empty)]);
    assert_eq!(ends(&rig), [("forwarded", 2), ("malformed_l4", 1)]);
}

#[test]
fn n5_of_our_own_gue_in_fragments_the_first_one_is_known() {
    let ours = std::net::Ipv4Addr::from(OUR_TUNNEL).to_string();
    let mut frame = whole(&ours, ALL, 0x9000, true, 100);
    (frame[36], frame[37]) = (0x17, 0xC0);
    let gue = || Tables { gue_ports: [6080].into(), ..tables(&[1; 5], None) };
    let mut rig = Rig::new(gue());
    send(&mut rig, 1, &[frame.clone()]);
    assert_eq!(ends(&rig), [("loop", 1)]);
    // The later ones have no port: they are UDP's like any other, and what becomes of them is whole,
    // and known when it comes back.
    send(&mut rig, 1, &fragments(&frame, 3, 24));
    assert_eq!(ends(&rig), [("forwarded", 4), ("loop", 2)]);
    // Of the other tunnels every fragment is known.
    frame[23] = 47;
    let mut rig = Rig::new(gue());
    send(&mut rig, 1, &fragments(&frame, 3, 24));
    assert_eq!(ends(&rig), [("loop", 5)]);
}

#[test]
fn d7_a_burst_of_nothing_but_held_fragments_and_their_first_ones_at_the_end_goes_out_in_order() {
    let mut rig = Rig::new(tables(&[1; 5], None));
    let datagrams: Vec<_> = (1..=8).map(|sport| segment(sport, u32::from(sport))).collect();
    let later: Vec<_> = datagrams.iter().flat_map(|pieces| pieces[1..].to_vec()).collect();
    send(&mut rig, 1, &later);
    assert_eq!(rig.counters.held(), 32);
    // A fragment table of one bucket remembers four.
    for pieces in datagrams {
        send(&mut rig, 1, &pieces[..1]);
    }
    assert_eq!((rig.counters.held(), ends(&rig)), (0, vec![("forwarded", 40)]));
    let sent: Vec<_> = rig.worker.io.ports[0].sent.drain(..).collect();
    for frame in sent {
        let inner = &frame.bytes()[34..];
        let sport = u16::from(inner[5]);
        assert_eq!(frame.bytes()[33], home(sport), "datagram {sport}");
    }
}
