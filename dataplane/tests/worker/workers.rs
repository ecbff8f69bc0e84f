//! Workers share everything that decides: it does not matter which one a packet comes to.

use std::sync::Arc;

use tables::counters::Event;

use crate::rig::*;

fn segments(syn: bool) -> Vec<Vec<u8>> {
    (1..1000).map(|sport| tcp([198, 51, 100, 7], sport, 80, syn, 0)).collect()
}

#[test]
fn d3_a_connection_that_one_worker_entered_is_found_by_another() {
    let mut rigs = Rig::several(tables(&[1; 5], None), 2);
    rigs[0].send(segments(true).iter().map(|f| &**f));
    let first = rigs[0].backends();
    // Another set: selection alone would now say something else.
    let other = Arc::new(tables(&[9, 1, 1, 1, 1], None));
    rigs.iter().for_each(|rig| rig.publisher.try_publish(Arc::clone(&other)).expect("published"));
    rigs[1].send(segments(false).iter().map(|f| &**f));
    assert_eq!(rigs[1].backends(), first);
    assert_eq!(rigs[1].counters.event(Event::EntryHit), 999);
}

#[test]
fn s5_workers_that_share_nothing_but_the_tables_select_alike() {
    let mut one = Rig::new(tables(&[1; 5], None));
    let mut two = Rig::new(tables(&[1; 5], None));
    one.send(segments(true).iter().map(|f| &**f));
    two.send(segments(false).iter().map(|f| &**f));
    assert_eq!(one.backends(), two.backends());
}
