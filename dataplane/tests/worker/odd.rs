//! N-7: what only a rule makes a fault; and protocols without ports under a rule for everything.

use tables::{Outcome, counters::Event};

use crate::pieces::whole;
use crate::rig::*;

const FAMILIES: [(&str, &str); 2] =
    [("198.51.100.7", "203.0.113.11"), ("2001:db8:1::7", "2001:db8:2::11")];

/// The outcome of one frame, and the frame as it left for the network or the host.
fn end(frame: &[u8]) -> (Outcome, Option<Vec<u8>>) {
    use dataplane::io::Frame;
    let mut rig = Rig::new(tables(&[1], None));
    rig.send([frame]);
    assert!(rig.balances() && rig.counters.ended() == 1);
    let mut outcomes = Outcome::ALL.iter().filter(|o| rig.counters.outcome(**o) == 1);
    let port = &mut rig.worker.io.ports[0];
    let left = port.sent.pop_back().or(port.to_host.as_mut().and_then(|host| host.pop_back()));
    (*outcomes.next().expect("one"), left.map(|frame| frame.bytes().to_vec()))
}

fn with(mut frame: Vec<u8>, changes: &[(usize, u8)]) -> Vec<u8> {
    changes.iter().for_each(|(at, byte)| frame[*at] = *byte);
    summed_up(frame)
}

#[test]
fn odd_sources_and_hops_are_dropped_by_name_for_a_vip_and_left_to_the_host_otherwise() {
    let v4 = |vip| whole("198.51.100.7", vip, 1, false, 9);
    let v6 = |vip| whole("2001:db8:1::7", vip, 1, false, 9);
    let martian = |frame| with(frame, &[(26, 127)]);
    let group = |frame| with(frame, &[(22, 0xFF)]);
    let spent4 = |frame| with(frame, &[(22, 0)]);
    let spent6 = |frame| with(frame, &[(21, 0)]);
    for (bent, other, outcome) in [
        (martian(v4("203.0.113.11")), martian(v4("203.0.113.99")), Outcome::MartianSource),
        (group(v6("2001:db8:2::11")), group(v6("2001:db8:2::99")), Outcome::MartianSource),
        (spent4(v4("203.0.113.11")), spent4(v4("203.0.113.99")), Outcome::TtlExpired),
        (spent6(v6("2001:db8:2::11")), spent6(v6("2001:db8:2::99")), Outcome::TtlExpired),
    ] {
        assert_eq!(end(&bent), (outcome, None));
        assert_eq!(end(&other), (Outcome::Host, Some(other.clone())));
    }
}

#[test]
fn f1_an_l3_default_rule_takes_every_protocol_and_leaves_it_as_it_is() {
    // ESP, AH, SCTP, UDP-Lite, GRE, mobility, none, and one that nobody uses.
    for (client, vip) in FAMILIES {
        for proto in [50, 132, 136, 47, 135, 59, 253] {
            let at = if vip.contains(':') { 20 } else { 23 };
            let frame = with(whole(client, vip, 1, true, 9), &[(at, proto)]);
            let (outcome, left) = end(&frame);
            assert_eq!(outcome, Outcome::Forwarded, "{vip} {proto}");
            assert_eq!(left.expect("a frame")[34..], frame[14..], "{vip} {proto}");
        }
    }
    let ah = with(whole("198.51.100.7", "203.0.113.11", 1, true, 9), &[(23, 51)]);
    assert_eq!(end(&ah).0, Outcome::Forwarded);
}

#[test]
fn flags_that_no_connection_has_go_to_the_backend_and_only_syn_starts_anew() {
    for (flags, replaced) in [(0x00, 0), (0x29, 0), (0x03, 1), (0x06, 1), (0x3F, 1), (0x04, 0)] {
        let mut rig = Rig::new(tables(&[1, 1], None));
        let frame = whole("198.51.100.7", "203.0.113.10", 1, false, 9);
        rig.send([&*frame]);
        rig.send([&*with(frame, &[(47, flags)])]);
        assert_eq!(rig.counters.outcome(Outcome::Forwarded), 2, "{flags:#x}");
        assert_eq!(rig.counters.event(Event::EntryReplaced), replaced, "{flags:#x}");
    }
}
