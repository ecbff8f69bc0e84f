//! SYN and the entry (T-1).

use super::*;

#[test]
fn a_connection_stays_where_its_syn_went() {
    for (packet, rest) in [(tcp(1).syn(), tcp(1)), (tcp6(1).syn(), tcp6(1))] {
        let mut rig = Rig::new(1_000);
        assert_eq!(rig.send(packet, 2, 0), (2, Entry::Created));
        assert_eq!(rig.send(rest, 3, 1), (2, Entry::Hit));
        assert_eq!(rig.send(rest, 1, 2), (2, Entry::Hit));
        assert_eq!(rig.live(2), 1);
        assert_eq!((rig.count(Event::EntryCreated), rig.count(Event::EntryHit)), (1, 2));
    }
}

#[test]
fn a_syn_replaces_a_live_entry_in_place() {
    let mut rig = Rig::new(1_000);
    rig.send(tcp(1), 2, 0);
    assert_eq!(rig.send(tcp(1).syn(), 3, 1), (3, Entry::Replaced));
    assert_eq!(rig.send(tcp(1), 0, 2), (3, Entry::Hit));
    assert_eq!(rig.live(2), 1);
    assert_eq!(rig.count(Event::EntryReplaced), 1);
}

#[test]
fn a_syn_over_an_expired_entry_creates() {
    let mut rig = Rig::new(1_000);
    rig.send(tcp(1), 2, 0);
    assert_eq!(rig.send(tcp(1).syn(), 3, IDLE), (3, Entry::Created));
    assert_eq!(rig.live(IDLE), 1);
}

#[test]
fn a_syn_without_an_eligible_backend_leaves_the_old_entry() {
    let mut rig = Rig::new(1_000);
    rig.send(tcp(1), 2, 0);
    let packets = rig.burst(&[tcp(1).syn()], None, 1);
    assert_eq!(packets[0].outcome, Some(Outcome::NoEligibleBackend));
    assert_eq!(rig.send(tcp(1), 3, 2), (2, Entry::Hit));
}

#[test]
fn where_a_syn_is_not_new_it_hits_and_does_not_confirm() {
    let mut rig = Rig::new(1_000);
    let row = ClassPlan { track: Some(FieldSet::TWO_TUPLE), syn_is_new: false, ..plan() };
    rig.tables = tables_with(row, 1, SlotEpochs::default());
    rig.send(tcp(1).syn(), 2, 0);
    assert_eq!(rig.send(tcp(1).syn(), 3, 1), (2, Entry::Hit));
    assert_eq!(confirmed(&rig, 1), [false]);
    rig.send(tcp(1), 3, 2);
    assert_eq!(confirmed(&rig, 2), [true]);
}

#[test]
fn udp_is_confirmed_by_its_second_packet() {
    let mut rig = Rig::new(1_000);
    rig.send(udp(1), 2, 0);
    assert_eq!(confirmed(&rig, 0), [false]);
    rig.send(udp(1), 2, 0);
    assert_eq!(confirmed(&rig, 0), [true]);
}

#[test]
fn two_packets_of_a_new_connection_in_one_burst_make_one_entry() {
    let mut rig = Rig::new(1_000);
    let packets = rig.burst(&[udp(1), udp(1), udp(1)], Some(2), 0);
    let entries: Vec<_> = packets.iter().map(|p| p.entry).collect();
    assert_eq!(entries, [Entry::Created, Entry::Hit, Entry::Hit]);
    assert_eq!(rig.live(0), 1);
}

#[test]
fn a_burst_of_both_families_and_of_ended_packets_keeps_them_apart() {
    let mut rig = Rig::new(1_000);
    let sent: Vec<_> = (0..16).flat_map(|n| [tcp(n), tcp6(n)]).collect();
    assert!(rig.burst(&sent, Some(1), 0).iter().all(|p| p.entry == Entry::Created));
    assert!(rig.burst(&sent, Some(2), 1).iter().all(|p| p.slot == Some(slot(1))));
    let mut batch = Batch(sent.iter().map(Sent::packet).collect());
    for packet in batch.0.iter_mut().step_by(2) {
        packet.end(Outcome::MalformedIp);
    }
    rig.tracker.look_up(&mut batch, &rig.tables, Tick(2), rig.counters.worker(0));
    let found = batch.0.iter().filter(|p| p.tracking == Tracking::Found).count();
    assert_eq!(found, 16);
}

fn confirmed(rig: &Rig, now: u32) -> Vec<bool> {
    let mut marks = Vec::new();
    rig.tracker.table().for_each_live(&rig.tables, Tick(now), |e| marks.push(e.confirmed));
    marks
}
