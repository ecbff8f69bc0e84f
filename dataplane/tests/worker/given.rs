//! What each backend is given is counted as that backend's.

use tables::traffic::{Load, Share, Traffic};
use tables::{Outcome, SlotId, Tables};

use crate::rig::*;

const CLIENT: [u8; 4] = [198, 51, 100, 7];
const BACKENDS: usize = 3;

fn rig() -> Rig {
    let traffic: Traffic = (0..BACKENDS).map(|_| Some(Load::new(1))).collect();
    Rig::new(Tables { traffic, ..tables(&[1; BACKENDS], None) })
}

/// What each backend was given.
fn given(rig: &mut Rig) -> [Share; BACKENDS] {
    let traffic = rig.worker.tables.current().traffic.clone();
    let slot = |i: usize| SlotId::new(i as u32).expect("in range");
    std::array::from_fn(|i| traffic.load(slot(i)).expect("a load").read())
}

fn sum(given: [Share; BACKENDS], of: impl Fn(&Share) -> u64) -> u64 {
    given.iter().map(of).sum()
}

#[test]
fn a_backend_is_given_its_packets_their_bytes_and_the_connections_that_they_begin() {
    let mut rig = rig();
    for (sport, syn, payload) in
        [(1, true, 0), (1, false, 60), (1, false, 1000), (2, true, 0), (3, true, 0), (3, true, 0)]
    {
        let before = given(&mut rig);
        rig.send([&*tcp(CLIENT, sport, 80, syn, payload)]);
        let to = usize::from(rig.backends()[0]);
        let mut expected = before;
        expected[to].packets += 1;
        expected[to].bytes += 40 + payload as u64;
        expected[to].connections += u64::from(syn);
        assert_eq!(given(&mut rig), expected, "{sport}, {payload}");
    }
}

#[test]
fn what_goes_to_no_backend_is_no_backends() {
    let mut rig = rig();
    let closed = tcp(CLIENT, 1, 83, true, 0);
    let nobody = tcp(CLIENT, 1, 81, true, 0);
    let too_big = tcp(CLIENT, 1, 80, false, 1441);
    rig.send([&*closed, &nobody, &too_big]);
    let mut to_host = tcp(CLIENT, 1, 80, true, 0);
    to_host[33] = 99;
    rig.send([&*summed_up(to_host)]);
    assert_eq!(given(&mut rig).map(|share| (share.packets, share.bytes)), [(0, 0); BACKENDS]);
}

#[test]
fn backends_were_given_what_was_forwarded_and_what_the_queue_had_no_room_for() {
    let mut rig = rig();
    rig.worker.io.ports[0].room = Some(5);
    let frames: Vec<_> = (0..8).map(|sport| tcp(CLIENT, sport, 80, true, 10)).collect();
    rig.send(frames.iter().map(|frame| &**frame));
    let [forwarded, full] = [Outcome::Forwarded, Outcome::TxFull].map(|o| rig.counters.outcome(o));
    assert_eq!((forwarded, full), (5, 3));
    let given = given(&mut rig);
    assert_eq!(sum(given, |share| share.packets), forwarded + full);
    assert_eq!((sum(given, |s| s.bytes), sum(given, |s| s.connections)), (8 * 50, 8));
}

#[test]
fn without_counters_packets_are_forwarded_all_the_same() {
    let mut rig = Rig::new(tables(&[1], None));
    rig.send([&*tcp(CLIENT, 1, 80, true, 0)]);
    assert_eq!(rig.counters.outcome(Outcome::Forwarded), 1);
}
