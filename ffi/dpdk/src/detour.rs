//! The way of frames around a bond that would give a dead member its share.
//!
//! Control sets it a few times a second, workers read it once a burst. A worker that sees old and
//! new members mixed does no harm: each is open for as long as the bond, with all of its queues. The
//! count comes last, so that none is seen that was never set.

use std::sync::atomic::{
    AtomicU16, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};

/// DPDK's limit.
const MOST: usize = 8;

/// Members that take all of a bond's frames; empty: the bond spreads them itself.
#[derive(Debug, Default)]
pub(crate) struct Detour {
    count: AtomicUsize,
    members: [AtomicU16; MOST],
}

impl Detour {
    /// DPDK's numbers of the members.
    pub(crate) fn set(&self, members: &[u16]) {
        for (place, member) in self.members.iter().zip(members) {
            place.store(*member, Relaxed);
        }
        self.count.store(members.len().min(MOST), Release);
    }

    /// The member that takes the frames of a queue; each queue has one, so that no flow is in two.
    #[inline]
    pub(crate) fn of(&self, queue: u16) -> Option<u16> {
        let count = self.count.load(Acquire);
        let place = usize::from(queue).checked_rem(count)?;
        self.members.get(place).map(|member| member.load(Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_queue_has_one_of_the_members_or_none() {
        let detour = Detour::default();
        let ways = || [0, 1, 2].map(|queue| detour.of(queue));
        assert_eq!(ways(), [None; 3]);
        detour.set(&[7, 9]);
        assert_eq!(ways(), [Some(7), Some(9), Some(7)]);
        detour.set(&[]);
        assert_eq!(ways(), [None; 3]);
    }
}
