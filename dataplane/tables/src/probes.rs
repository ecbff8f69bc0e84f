//! Which backend each health check's probe is for (W-8).
//!
//! A probe to a VIP leaves the host by an Ethernet address that nobody has, [`GATEWAY`]: so a worker
//! tells it from everything else that the host sends. Whose it is says its source port: the prober
//! has claimed it here before it sends anything.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::{Family, Mac, SlotId};

/// The next hop of probes, as the host's kernel is told. Locally administered, and on no wire.
pub const GATEWAY: Mac = Mac([0x02, 0x57, 0x52, 0x00, 0x00, 0x01]);

const PORTS: usize = 1 << 16;

/// Source port → slot, for each family. Read by the workers, written by the prober.
#[derive(Debug)]
pub struct ProbeSlots([Box<[AtomicU32]>; 2]);

impl Default for ProbeSlots {
    fn default() -> Self {
        let free = || (0..PORTS).map(|_| AtomicU32::new(0)).collect();
        Self([free(), free()])
    }
}

impl ProbeSlots {
    /// The slot that a probe from this port is for.
    pub fn slot(&self, family: Family, port: u16) -> Option<SlotId> {
        let word = self.word(family, port)?.load(Relaxed);
        word.checked_sub(1).and_then(SlotId::new)
    }

    /// Makes a source port a probe's until the claim is dropped; `None` if it is another one's.
    pub fn claim(self: &Arc<Self>, family: Family, port: u16, slot: SlotId) -> Option<Claim> {
        let word = self.word(family, port)?;
        word.compare_exchange(0, slot.get() + 1, Relaxed, Relaxed).ok()?;
        Some(Claim { slots: Arc::clone(self), family, port })
    }

    fn word(&self, family: Family, port: u16) -> Option<&AtomicU32> {
        self.0.get(family as usize)?.get(usize::from(port))
    }
}

/// A source port that is a probe's.
#[derive(Debug)]
pub struct Claim {
    slots: Arc<ProbeSlots>,
    family: Family,
    port: u16,
}

impl Drop for Claim {
    fn drop(&mut self) {
        if let Some(word) = self.slots.word(self.family, self.port) {
            word.store(0, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_one_probes_until_its_claim_is_dropped() {
        let slots = Arc::new(ProbeSlots::default());
        let [first, second] = [0, 7].map(|n| SlotId::new(n).expect("in range"));
        let claim = slots.claim(Family::V4, 40_000, first).expect("free");
        assert!(slots.claim(Family::V4, 40_000, second).is_none());
        let other = slots.claim(Family::V6, 40_000, second).expect("the other family's");
        assert_eq!(slots.slot(Family::V4, 40_000), Some(first));
        assert_eq!(slots.slot(Family::V6, 40_000), Some(second));
        drop(claim);
        assert_eq!(slots.slot(Family::V4, 40_000), None);
        drop(other);
        assert_eq!(slots.slot(Family::V6, 40_000), None);
    }
}
