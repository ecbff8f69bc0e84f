//! What a hit costs others, and what it never confuses: memory that is not written, keys that
//! collide, keys of sessions at several workers (D-3).

use super::super::ConnectionTable;
use super::super::region::{KeyWords, Region};
use super::*;

/// Lets `work` run while the table's memory can only be read: who writes ends the test program.
fn read_only(table: &ConnectionTable, work: impl FnOnce()) {
    fn protect<const W: usize>(region: &Region<W>, protection: i32) {
        let start = region.buckets().as_ptr().cast_mut().cast();
        // SAFETY: the whole of a mapping of the table's own; only this test's thread uses it.
        let rc = unsafe { libc::mprotect(start, region.bytes(), protection) };
        assert_eq!(rc, 0);
    }
    let all = |protection| {
        protect(&table.v4, protection);
        protect(&table.v6, protection);
    };
    all(libc::PROT_READ);
    work();
    all(libc::PROT_READ | libc::PROT_WRITE);
}

#[test]
fn a_hit_in_the_tick_of_the_last_one_writes_nothing_anywhere() {
    let mut rig = Rig::new(1_000);
    let all: Vec<_> = (0..500).flat_map(|n| [tcp(n), tcp6(n), udp(n)]).collect();
    let mut send = |now| -> Vec<Entry> {
        let bursts = all.chunks(32).flat_map(|burst| rig.burst(burst, Some(1), now));
        bursts.map(|packet| packet.entry).collect()
    };
    assert!(send(5).iter().all(|entry| *entry == Entry::Created));
    assert!(send(5).iter().all(|entry| *entry == Entry::Hit), "confirmed");
    let table = rig.tracker.table().clone();
    read_only(&table, || {
        for burst in all.chunks(32) {
            let packets = rig.burst(burst, Some(3), 5);
            assert!(packets.iter().all(|p| p.entry == Entry::Hit && p.slot == Some(slot(1))));
        }
    });
}

#[test]
fn what_is_not_entered_writes_nothing_either() {
    let mut rig = Rig::limited(1_000, 1);
    rig.send(tcp(1), 2, 5);
    let table = rig.tracker.table().clone();
    read_only(&table, || {
        // Over the limit; nobody is eligible; looked at for an error (S-7).
        let flood: Vec<_> = (100..132).map(|n| tcp(n).syn()).collect();
        assert!(rig.burst(&flood, Some(3), 5).iter().all(|p| p.entry == Entry::None));
        rig.burst(&[tcp(7)], None, 5);
        let key = tcp(1).flow.key(FieldSet::FIVE_TUPLE, ServiceId(0));
        assert!(table.peek(&key, &rig.tables, Tick(40)).is_some());
    });
}

/// Clients whose keys have one home, one tag and one other bucket in a small table.
fn colliding<const W: usize>(region: &Region<W>, make: fn(u32) -> Sent) -> [Sent; 2]
where
    [u64; W]: KeyWords,
{
    let mut seen = std::collections::BTreeMap::new();
    for n in 0.. {
        let key = make(n).flow.key(FieldSet::FIVE_TUPLE, ServiceId(0));
        let place = region.place(region.hash(&<[u64; W]>::of(&key)));
        if let Some(first) = seen.insert((place.home, place.other, place.tag), n) {
            return [make(first), make(n)];
        }
    }
    unreachable!("there are fewer places than clients")
}

#[test]
fn keys_that_collide_in_buckets_and_tag_never_take_each_others_entry() {
    let mut rig = Rig::new(16);
    let table = rig.tracker.table().clone();
    for [one, two] in [colliding(&table.v4, tcp), colliding(&table.v6, tcp6)] {
        assert_eq!(rig.send(one, 1, 0), (1, Entry::Created));
        assert_eq!(rig.send(two, 2, 0), (2, Entry::Created), "it is not the other's");
        for now in 1..4 {
            assert_eq!(rig.send(one, 3, now), (1, Entry::Hit));
            assert_eq!(rig.send(two, 3, now), (2, Entry::Hit));
        }
        assert_eq!(rig.send(one.syn(), 3, 4), (3, Entry::Replaced));
        assert_eq!(rig.send(two, 0, 4), (2, Entry::Hit), "a SYN replaces its own key's only");
        // Both in one burst, in either order.
        let slots =
            |packets: Vec<Packet<()>>| -> Vec<_> { packets.iter().map(|p| p.slot).collect() };
        assert_eq!(slots(rig.burst(&[two, one], Some(0), 5)), [Some(slot(2)), Some(slot(3))]);
    }
}

#[test]
fn per_session_keys_made_at_one_worker_are_found_at_every_other_one() {
    for set in [FieldSet::ONE_TUPLE, FieldSet::TWO_TUPLE, FieldSet::THREE_TUPLE] {
        let mut rig = Rig::new(1_000);
        let row = ClassPlan { track: Some(set), syn_is_new: false, ..plan() };
        rig.tables = tables_with(row, 2, SlotEpochs::default());
        let (mut second, mut third) = (rig.peer(), rig.peer());
        second.tables = tables_with(row, 2, SlotEpochs::default());
        third.tables = tables_with(row, 2, SlotEpochs::default());
        // Another connection of the same client: RSS gives it to another queue.
        let port = |sent: Sent, sport| {
            let flow = sent.flow.carrying(sent.flow.proto(), sport, 443);
            Sent { flow, ..sent }
        };
        for make in [tcp, tcp6] {
            let client = make(7);
            assert_eq!(rig.send(port(client, 1), 2, 0), (2, Entry::Created), "{set:?}");
            assert_eq!(second.send(port(client, 2).syn(), 3, 1), (2, Entry::Hit), "{set:?}");
            assert_eq!(third.send(port(client, 3), 0, IDLE), (2, Entry::Hit), "refreshed");
            assert_eq!(rig.send(port(make(8), 1), 1, 0), (1, Entry::Created), "another client");
        }
        assert_eq!(rig.live(IDLE), 2, "one session of each family, the others have expired");
    }
}
