//! Fragments that wait for their first one.

use arrayvec::ArrayVec;
use tables::{Outcome, PortId, Tick};

use super::datagram::Datagram;
use crate::batch::{BURST, Packet};
use crate::parse::Parsed;

/// How many fragments a worker holds. Two or three workers that get the fragments of one datagram
/// apart are a few bursts apart; more would take the buffers that packets arrive in.
pub const HELD: usize = 64;

/// One that waits.
pub(super) struct Waiting<F> {
    pub(super) frame: F,
    pub(super) port: PortId,
    pub(super) parsed: Parsed,
    pub(super) datagram: Datagram,
    pub(super) since: Tick,
}

impl<F> Waiting<F> {
    /// The packet that it was when it arrived, with the way that it ends, if it does.
    pub(super) fn packet(self, outcome: Option<Outcome>) -> Packet<F> {
        let parsed = self.parsed;
        Packet { waited: true, parsed, outcome, ..Packet::new(self.frame, self.port) }
    }
}

/// A worker's waiting fragments: places that are taken in turn, round and round. So the place that
/// is next is free, or has the one that has waited longest, behind which all others have come.
pub(super) struct Held<F> {
    places: Box<[Option<Waiting<F>>]>,
    next: usize,
    count: usize,
}

impl<F> Default for Held<F> {
    fn default() -> Self {
        Self { places: (0..HELD).map(|_| None).collect(), next: 0, count: 0 }
    }
}

impl<F> Held<F> {
    pub(super) fn len(&self) -> usize {
        self.count
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Takes whoever is in the next one's place.
    pub(super) fn make_room(&mut self) -> Option<Waiting<F>> {
        let oldest = self.places.get_mut(self.next)?.take();
        self.count -= usize::from(oldest.is_some());
        oldest
    }

    /// Behind [`Held::make_room`]: its place is free.
    pub(super) fn put(&mut self, waiting: Waiting<F>) {
        if let Some(place) = self.places.get_mut(self.next) {
            *place = Some(waiting);
            self.count += 1;
            self.next = (self.next + 1) % HELD;
        }
    }

    /// Moves those whose time has come, in the order in which they arrived, until there are `most`
    /// packets. `judge` says `None`: it waits on; else how it ends, if it does. True: all were
    /// judged.
    pub(super) fn take(
        &mut self,
        most: usize,
        packets: &mut ArrayVec<Packet<F>, BURST>,
        mut judge: impl FnMut(&Waiting<F>) -> Option<Option<Outcome>>,
    ) -> bool {
        let (newer, older) = self.places.split_at_mut(self.next);
        for place in older.iter_mut().chain(newer) {
            let Some(outcome) = place.as_ref().and_then(&mut judge) else { continue };
            if packets.len() >= most {
                return false;
            }
            if let Some(waiting) = place.take() {
                self.count -= 1;
                packets.push(waiting.packet(outcome));
            }
        }
        true
    }
}
