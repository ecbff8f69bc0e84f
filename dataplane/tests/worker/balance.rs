//! D-7: every packet ends in exactly one outcome, and what arrived is the sum of them.

use proptest::prelude::*;
use tables::Outcome;
use tables::counters::Event;

use crate::rig::*;

const CLIENT: [u8; 4] = [198, 51, 100, 7];

fn with(mut frame: Vec<u8>, changes: &[(usize, u8)]) -> Vec<u8> {
    for (at, byte) in changes {
        frame[*at] = *byte;
    }
    summed_up(frame)
}

/// On its way to the VIP it has become a packet for another of our addresses.
fn damaged(mut frame: Vec<u8>) -> Vec<u8> {
    frame[33] ^= 1;
    frame
}

/// One frame for every outcome that a frame alone can have.
fn cases() -> Vec<(&'static str, Vec<u8>, Outcome)> {
    let good = || tcp(CLIENT, 40000, 80, true, 0);
    let to = |last| with(good(), &[(33, last)]);
    vec![
        ("for the service", good(), Outcome::Forwarded),
        ("for another address", to(99), Outcome::Host),
        ("not IP", with(good(), &[(12, 0x08), (13, 0x06)]), Outcome::Host),
        ("for another machine", with(good(), &[(5, 0x77)]), Outcome::NotOurMac),
        ("from ourselves", with(good(), &[(11, 10)]), Outcome::NotOurMac),
        ("cut", good()[..40].to_vec(), Outcome::RxTruncated),
        ("of version 5", with(good(), &[(14, 0x55)]), Outcome::MalformedIp),
        ("damaged", damaged(good()), Outcome::WrongChecksum),
        ("with a TCP header of 16 bytes", with(good(), &[(46, 0x40)]), Outcome::MalformedL4),
        ("for a closed port", tcp(CLIENT, 40000, 83, true, 0), Outcome::VipNoRule),
        ("from a client that may not", tcp(CLIENT, 40000, 82, true, 0), Outcome::ClientDenied),
        ("for a service without backends", tcp(CLIENT, 1, 81, true, 0), Outcome::NoEligibleBackend),
        ("too large for the tunnel", tcp(CLIENT, 1, 80, false, 1441), Outcome::TooBig),
        ("just not too large", tcp(CLIENT, 1, 80, false, 1440), Outcome::Forwarded),
        (
            "our own tunnel",
            with(to(11), &[(23, 4), (26, 10), (27, 0), (28, 0), (29, 2)]),
            Outcome::Loop,
        ),
    ]
}

#[test]
fn n7_each_named_frame_ends_as_its_name_says() {
    for (name, frame, outcome) in cases() {
        let mut rig = Rig::new(tables(&[1, 1, 1], None));
        rig.send([&*frame]);
        for other in Outcome::ALL {
            let expected = u64::from(*other == outcome);
            assert_eq!(rig.counters.outcome(*other), expected, "{name}: {}", other.name());
        }
        assert_eq!(rig.counters.event(Event::Received), 1, "{name}");
        let port = &rig.worker.io.ports[0];
        let answers = rig.counters.event(Event::IcmpSent);
        assert_eq!(answers, u64::from(outcome == Outcome::TooBig), "{name}");
        let sent = usize::from(matches!(outcome, Outcome::Forwarded | Outcome::TooBig));
        assert_eq!(port.sent.len(), sent, "{name}");
        let host = port.to_host.as_ref().map(|host| host.len());
        assert_eq!(host, Some(usize::from(outcome == Outcome::Host)), "{name}");
    }
}

#[test]
fn a_frame_ends_in_a_burst_as_it_does_alone() {
    let cases = cases();
    let mut expected = vec![0; Outcome::ALL.len()];
    let mut rig = Rig::new(tables(&[1, 1, 1], None));
    // Each next to each other one, before it and behind it.
    for (_, first, one) in &cases {
        for (_, second, other) in &cases {
            rig.send([&**first, &**second, &**first]);
            expected[*one as usize] += 2;
            expected[*other as usize] += 1;
        }
    }
    let ended: Vec<_> = Outcome::ALL.iter().map(|o| (o, rig.counters.outcome(*o))).collect();
    let expected: Vec<_> = Outcome::ALL.iter().map(|o| (o, expected[*o as usize])).collect();
    assert_eq!(ended, expected);
}

#[test]
fn a_backend_whose_next_hop_is_unknown_and_a_full_queue_are_counted() {
    let mut rig = Rig::new(tables(&[1], Some(0)));
    rig.send([&*tcp(CLIENT, 1, 80, true, 0)]);
    assert_eq!(rig.counters.outcome(Outcome::NextHopUnresolved), 1);

    let mut rig = Rig::new(tables(&[1], None));
    rig.worker.io.ports[0].room = Some(1);
    let frames = [1, 2, 3].map(|sport| tcp(CLIENT, sport, 80, true, 0));
    rig.send(frames.iter().map(|f| &**f));
    assert_eq!(rig.counters.outcome(Outcome::Forwarded), 1);
    assert_eq!(rig.counters.outcome(Outcome::TxFull), 2);
    assert_eq!(rig.counters.ended(), rig.counters.event(Event::Received));
}

#[test]
fn f4_without_a_host_interface_what_is_for_the_host_is_dropped_by_name() {
    let mut rig = Rig::new(tables(&[1], None));
    rig.worker.io.ports[0].to_host = None;
    rig.send([&*with(tcp(CLIENT, 1, 80, true, 0), &[(33, 99)])]);
    assert_eq!(rig.counters.outcome(Outcome::NoHostInterface), 1);
}

#[test]
fn f4_what_the_host_sends_goes_out_unmatched() {
    use dataplane::io::mem::MemFrame;
    let mut rig = Rig::new(tables(&[1], None));
    let frame = MemFrame::new(&tcp(CLIENT, 1, 80, true, 0));
    rig.worker.io.ports[0].from_host.push_back(frame.clone());
    rig.send([]);
    assert_eq!(rig.worker.io.ports[0].sent, [frame]);
    assert_eq!(rig.counters.event(Event::FromHost), 1);
    assert_eq!(rig.counters.ended(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn d7_any_bytes_end_in_exactly_one_outcome(
        base in 0..3_usize,
        changes in prop::collection::vec((0..60_usize, any::<u8>()), 0..6),
        cut in 0..100_usize,
        noise in prop::collection::vec(any::<u8>(), 0..80),
    ) {
        let mut frame = match base {
            0 => noise,
            1 => tcp(CLIENT, 40000, 80, false, 40),
            _ => [&tcp(CLIENT, 40000, 80, true, 0)[..14], &noise].concat(),
        };
        changes.iter().for_each(|(at, byte)| if let Some(b) = frame.get_mut(*at) { *b = *byte });
        frame.truncate(cut.max(1));
        let frame = if cut % 4 == 0 { frame } else { summed_up(frame) };
        let mut rig = Rig::new(tables(&[1, 1], None));
        rig.send([&*frame]);
        prop_assert_eq!(rig.counters.ended() + rig.counters.held(), 1);
        rig.worker.finish();
        prop_assert_eq!((rig.counters.ended(), rig.counters.held()), (1, 0));
        let port = &rig.worker.io.ports[0];
        let left = port.sent.len() + port.to_host.as_ref().map_or(0, |host| host.len());
        let kept = rig.counters.outcome(Outcome::Forwarded)
            + rig.counters.outcome(Outcome::Host)
            + rig.counters.event(Event::IcmpSent);
        prop_assert_eq!(left as u64, kept);
    }
}
