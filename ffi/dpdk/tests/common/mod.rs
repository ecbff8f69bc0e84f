//! A network namespace with one veth pair.

#[path = "namespace.rs"]
mod namespace;

use std::time::{Duration, Instant};

use arrayvec::ArrayVec;
use dpdk::{Mbuf, RxQueue};
use namespace::{ip, new_namespace};

/// Such a namespace, where `lb0` is joined to `peer0`, which has 10.0.0.1 and takes 10.0.0.2 to be
/// on `lb0`.
pub(crate) fn veth_pair(mtu: u16) {
    new_namespace();
    ip(&format!("link add lb0 mtu {mtu} type veth peer name peer0 mtu {mtu}"));
    ip("link set lb0 up");
    ip("link set peer0 address 02:00:00:00:00:02 up");
    ip("addr add 10.0.0.1/24 dev peer0");
    ip("neigh add 10.0.0.2 lladdr 02:00:00:00:00:01 dev peer0");
}

/// The first frame of any of these queues that is wanted, and the queue's place.
pub(crate) fn receive_where<'a>(
    queues: impl IntoIterator<Item = &'a mut RxQueue>,
    wanted: impl Fn(&[u8]) -> bool,
) -> Option<(usize, Mbuf)> {
    let mut queues: Vec<_> = queues.into_iter().collect();
    let deadline = Instant::now() + Duration::from_secs(5);
    while Instant::now() < deadline {
        for (place, rx) in queues.iter_mut().enumerate() {
            let mut burst = ArrayVec::<Mbuf, 32>::new();
            rx.receive(&mut burst, 32);
            if let Some(found) = burst.into_iter().find(|mbuf| wanted(mbuf.bytes())) {
                return Some((place, found));
            }
        }
    }
    None
}
