//! What each backend is given: packets, bytes and connections, counted by the worker that sends them.
//!
//! A slot's counters are made with its backend's first Tables, shared by all later ones, and gone
//! with the backend: so they go on over reloads, and a slot that is taken again starts at zero.
//! Whoever makes the Tables allocates them; a worker only adds, each in a cache line of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::SlotId;

/// What one worker has given to one backend: it alone writes here.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct Given {
    packets: AtomicU64,
    bytes: AtomicU64,
    connections: AtomicU64,
}

impl Given {
    /// One packet, so many bytes of it from its IP header on; whether it has begun a connection.
    #[inline]
    pub fn add(&self, bytes: u16, begins: bool) {
        add(&self.packets, 1);
        add(&self.bytes, bytes.into());
        if begins {
            add(&self.connections, 1);
        }
    }
}

/// A relaxed load and store: there is one writer, and a reader may be a moment behind.
#[inline]
fn add(counter: &AtomicU64, n: u64) {
    counter.store(counter.load(Relaxed).wrapping_add(n), Relaxed);
}

/// What one backend was given, by worker.
#[derive(Clone, Debug)]
pub struct Load(Arc<[Arc<Given>]>);

/// The same, read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// Packets that were put into its tunnel, those that the transmit queue then had no room for
    /// included.
    pub packets: u64,
    /// Their bytes, from the IP header of each on: as they arrived, without the tunnel.
    pub bytes: u64,
    /// Entries made for it in the connection table: those of new connections.
    pub connections: u64,
}

impl Load {
    /// Zeros for so many workers.
    pub fn new(workers: usize) -> Self {
        Self((0..workers).map(|_| Arc::default()).collect())
    }

    /// Over all workers.
    pub fn read(&self) -> Share {
        self.0.iter().fold(Share::default(), |sum, given| Share {
            packets: sum.packets.wrapping_add(given.packets.load(Relaxed)),
            bytes: sum.bytes.wrapping_add(given.bytes.load(Relaxed)),
            connections: sum.connections.wrapping_add(given.connections.load(Relaxed)),
        })
    }

    /// Whether both are one backend's.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// Every backend's load, by slot; empty where nobody wants to know.
#[derive(Clone, Debug, Default)]
pub struct Traffic {
    loads: Box<[Option<Load>]>,
    /// The same by worker and slot, so that a worker is one step from what it writes; where nobody
    /// has the slot, what nobody reads.
    workers: Box<[Box<[Arc<Given>]>]>,
}

/// What one worker gives to each backend.
#[derive(Clone, Copy, Debug, Default)]
pub struct GivenBy<'t>(&'t [Arc<Given>]);

impl GivenBy<'_> {
    /// Where what is given to a slot is counted; `None` for one that these Tables do not have.
    #[inline]
    pub fn to(&self, slot: SlotId) -> Option<&Given> {
        self.0.get(slot.index()).map(|given| &**given)
    }
}

impl Traffic {
    /// The counters of one worker; none where nobody wants to know.
    #[inline]
    pub fn by(&self, worker: usize) -> GivenBy<'_> {
        GivenBy(self.workers.get(worker).map_or(&[], |given| given))
    }

    /// Every slot's, by number; `None` where nobody has it.
    pub fn loads(&self) -> &[Option<Load>] {
        &self.loads
    }

    /// What a slot's backend was given.
    pub fn load(&self, slot: SlotId) -> Option<&Load> {
        self.loads.get(slot.index())?.as_ref()
    }
}

impl FromIterator<Option<Load>> for Traffic {
    fn from_iter<T: IntoIterator<Item = Option<Load>>>(loads: T) -> Self {
        let loads: Box<[Option<Load>]> = loads.into_iter().collect();
        let workers = loads.iter().flatten().map(|load| load.0.len()).max().unwrap_or(0);
        let nobodys = Arc::default();
        let given = |load: &Option<Load>, worker| {
            Arc::clone(load.as_ref().and_then(|load| load.0.get(worker)).unwrap_or(&nobodys))
        };
        let by = |worker| loads.iter().map(|load| given(load, worker)).collect();
        let workers = (0..workers).map(by).collect();
        Self { loads, workers }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_add_apart_and_are_read_together() {
        let traffic: Traffic = [None, Some(Load::new(2))].into_iter().collect();
        let [none, slot, unknown] = [0, 1, 2].map(|n| SlotId::new(n).expect("in range"));
        traffic.by(0).to(slot).expect("a slot").add(40, true);
        traffic.by(1).to(slot).expect("a slot").add(1500, false);
        let read = traffic.load(slot).expect("a backend").read();
        assert_eq!(read, Share { packets: 2, bytes: 1540, connections: 1 });
        assert!(traffic.by(2).to(slot).is_none(), "there are two workers");
        assert!(traffic.by(0).to(unknown).is_none() && traffic.load(none).is_none());
    }

    #[test]
    fn a_workers_counters_have_a_cache_line_of_their_own() {
        assert_eq!((size_of::<Given>(), align_of::<Given>()), (64, 64));
    }
}
