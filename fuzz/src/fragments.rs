//! Fragments of a few datagrams, in any order, over two workers and some time: each ends in one
//! outcome, is held, or is sent on as it came.

use crate::appliance::Appliance;
use crate::shape;

/// Runs one input: for each fragment which datagram, where in it, when and at which worker.
pub fn run(data: &[u8]) {
    let mut appliance = Appliance::new();
    for [datagram, place, time] in data.as_chunks::<3>().0 {
        let frame = shape::fragment(*datagram, *place);
        appliance.wait(u32::from(time >> 6));
        appliance.arrive(usize::from(time & 1), &frame);
        if time & 2 != 0 {
            appliance.step();
        }
    }
    appliance.finish();
}
