//! Next hops: packets wait a moment for one that is being asked for, and flows are spread over
//! several.

use dataplane::io::Frame;
use dataplane::waiting::{HELD, HELD_FOR_ONE};
use tables::counters::Event;
use tables::template::TemplateSpec;
use tables::*;

use crate::rig::*;

/// Tables of one generation; backend `i` is behind next hop `hops[i].0`, resolved or not.
fn behind(generation: u64, hops: &[(u32, bool)]) -> Tables {
    let template = |(i, (hop, resolved)): (usize, &(u32, bool))| {
        let templates = [Family::V4, Family::V6].map(|inner| {
            let spec = TemplateSpec {
                next_hop: resolved.then_some(ROUTER),
                destination: [10, 1, 0, i as u8].into(),
                inner,
                ..spec()
            };
            Template::new(&spec).expect("one family").behind(*hop)
        });
        (SlotEpochs::default(), Some(Box::new(templates)))
    };
    let slots = SlotTable::new(hops.iter().enumerate().map(template));
    Tables { generation, slots, ..tables(&vec![1; hops.len()], None) }
}

/// `count` first packets of connections, each of a flow of its own.
fn connections(count: u16) -> Vec<Vec<u8>> {
    (0..count).map(|i| tcp([198, 51, 100, 7], 20_000 + i, 80, true, 0)).collect()
}

fn send(rig: &mut Rig, now: u32, frames: &[Vec<u8>]) {
    rig.send_at(Tick(now), frames.iter().map(|f| &**f));
    assert!(rig.balances());
}

fn publish(rig: &mut Rig, tables: Tables) {
    rig.worker.tables.offline();
    assert!(rig.publisher.try_publish(tables).is_ok());
}

/// (held, forwarded, unresolved)
fn standing(rig: &Rig) -> (u64, u64, u64) {
    let outcome = |outcome| rig.counters.outcome(outcome);
    (rig.counters.held(), outcome(Outcome::Forwarded), outcome(Outcome::NextHopUnresolved))
}

/// The inner source ports of what was sent.
fn sent(rig: &mut Rig) -> Vec<u16> {
    let frames = rig.worker.io.ports[0].sent.drain(..);
    frames.map(|frame| u16::from_be_bytes([frame.bytes()[54], frame.bytes()[55]])).collect()
}

#[test]
fn packets_wait_for_their_next_hop_and_leave_in_order_when_tables_bring_it() {
    let mut rig = Rig::new(behind(1, &[(7, false)]));
    send(&mut rig, 1, &connections(3));
    assert_eq!(standing(&rig), (3, 0, 0));
    assert_eq!(rig.counters.event(Event::NextHopWaited), 3);
    // Other news, and time that passes, change nothing.
    publish(&mut rig, behind(2, &[(7, false)]));
    send(&mut rig, 2, &[]);
    assert_eq!(standing(&rig), (3, 0, 0));
    publish(&mut rig, behind(3, &[(7, true)]));
    send(&mut rig, 2, &[]);
    assert_eq!(standing(&rig), (0, 3, 0));
    assert_eq!(sent(&mut rig), [20_000, 20_001, 20_002]);
    assert_eq!(rig.counters.event(Event::EntryCreated), 3);
}

#[test]
fn a_full_burst_leaves_room_for_what_waited() {
    let mut rig = Rig::new(behind(1, &[(1, false), (2, false), (3, false), (4, false)]));
    send(&mut rig, 1, &connections(200));
    let (held, ..) = standing(&rig);
    assert_eq!(held, 4 * HELD_FOR_ONE as u64);
    publish(&mut rig, behind(2, &[(1, true), (2, true), (3, true), (4, true)]));
    send(&mut rig, 1, &connections(200));
    assert_eq!(standing(&rig), (0, 200 + held, 200 - held));
}

#[test]
fn one_next_hop_gets_a_few_places_all_together_no_more_than_there_are() {
    let mut rig = Rig::new(behind(1, &[(7, false)]));
    send(&mut rig, 1, &connections(100));
    let places = HELD_FOR_ONE as u64;
    assert_eq!(standing(&rig), (places, 0, 100 - places));

    let hops: Vec<_> = (1..=20).map(|hop| (hop, false)).collect();
    let mut rig = Rig::new(behind(1, &hops));
    send(&mut rig, 1, &connections(1000));
    assert_eq!(standing(&rig), (HELD as u64, 0, 1000 - HELD as u64));
    // Two backends behind one gateway share its places.
    let mut rig = Rig::new(behind(1, &[(7, false), (7, false)]));
    send(&mut rig, 1, &connections(100));
    assert_eq!(standing(&rig), (places, 0, 100 - places));
}

#[test]
fn nothing_waits_for_a_next_hop_that_nobody_is_asked_for() {
    let mut rig = Rig::new(behind(1, &[(0, false)]));
    send(&mut rig, 1, &connections(3));
    assert_eq!(standing(&rig), (0, 0, 3));
}

#[test]
fn after_a_second_they_end() {
    let mut rig = Rig::new(behind(1, &[(7, false)]));
    send(&mut rig, 1, &connections(2));
    send(&mut rig, 8, &[]);
    assert_eq!(standing(&rig), (2, 0, 0), "875 ms later");
    send(&mut rig, 9, &[]);
    assert_eq!(standing(&rig), (0, 0, 2));
}

#[test]
fn nothing_waits_twice() {
    let mut rig = Rig::new(behind(1, &[(7, false), (8, false)]));
    send(&mut rig, 1, &connections(8));
    let (held, _, unresolved) = standing(&rig);
    assert_eq!((held, unresolved), (8, 0), "both backends have some");
    // Its backend is gone, and the other's next hop is no more known than before.
    let gone = Tables { generation: 2, ..behind(2, &[(7, false)]) };
    publish(&mut rig, gone);
    send(&mut rig, 1, &[]);
    let (held, forwarded, ended) = standing(&rig);
    assert_eq!((forwarded, held + ended), (0, 8));
    assert!(ended > 0);
}

#[test]
fn a_worker_that_stops_ends_what_waits() {
    let mut rig = Rig::new(behind(1, &[(7, false)]));
    send(&mut rig, 1, &connections(3));
    rig.worker.finish();
    assert_eq!(standing(&rig), (0, 0, 3));
    assert!(rig.balances());
}

/// Tables whose backend has next hops at these last digits, each with a weight.
fn spread(hops: &[(u8, u16)]) -> Tables {
    let templates = [Family::V4, Family::V6].map(|inner| {
        let way = |(mac, weight): &(u8, u16)| {
            let next_hop = Some(Mac([2, 0, 0, 0, 9, *mac]));
            let spec = TemplateSpec { next_hop, inner, ..spec() };
            (Template::new(&spec).expect("one family"), *weight)
        };
        Template::spread(hops.iter().map(way).collect()).expect("there are some")
    });
    let slots = SlotTable::new([(SlotEpochs::default(), Some(Box::new(templates)))]);
    Tables { slots, ..tables(&[1], None) }
}

/// How many of the connections left by each next hop.
fn by_hop(rig: &mut Rig, hops: usize) -> Vec<usize> {
    let mut counts = vec![0; hops];
    for frame in rig.worker.io.ports[0].sent.drain(..) {
        counts[usize::from(frame.bytes()[5]) - 1] += 1;
    }
    counts
}

#[test]
fn flows_are_spread_over_the_next_hops_by_weight_and_each_keeps_its_own() {
    for weights in [vec![1], vec![1, 1], vec![1, 3], vec![1; 12]] {
        let hops: Vec<_> = (1..).zip(weights.iter().copied()).collect();
        let total: u16 = weights.iter().sum();
        let mut rig = Rig::new(spread(&hops));
        let frames = connections(4000);
        send(&mut rig, 1, &frames);
        let first = by_hop(&mut rig, hops.len());
        for (count, weight) in first.iter().zip(&weights) {
            let share = 4000 * usize::from(*weight) / usize::from(total);
            assert!(count.abs_diff(share) < share / 3, "{first:?} for {weights:?}");
        }
        send(&mut rig, 1, &frames);
        assert_eq!(by_hop(&mut rig, hops.len()), first);
    }
}
