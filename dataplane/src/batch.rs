//! A burst of packets and what the stages have found out about each.

use arrayvec::ArrayVec;
use tables::{Outcome, PortId, RuleId, ServiceId, SlotId};

use crate::parse::Parsed;
use crate::track::Value;

/// The most packets that a worker takes at once.
pub const BURST: usize = 32;

/// Why a packet goes where it goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Why {
    /// Nothing was decided.
    #[default]
    Undecided,
    /// By its connection's entry (T-3).
    Tracked,
    /// By the selection hash (S-2).
    Selected,
    /// An error: by the connection that it is about, its entry or its hash (S-7).
    Quoted,
}

/// What became of the packet's entry in the connection table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Entry {
    /// There is none and none was made.
    #[default]
    None,
    /// Found, live.
    Hit,
    /// Made where there was none; a dead or expired one may have been overwritten.
    Created,
    /// A live one was overwritten.
    Replaced,
}

/// What the look-up left for the stages behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tracking {
    /// Not trackable: select, remember nothing (T-2).
    #[default]
    No,
    /// Found: the backend is decided.
    Found,
    /// Select, then remember under the packet's key, which has this table hash.
    Remember(u64),
    /// Found under the key that its class had before: the backend is decided; to be entered
    /// under the packet's key as it was found.
    Migrate {
        /// The table hash of the packet's key.
        hash: u64,
        /// What was found.
        value: Value,
        /// Whether what was found had seen more than one packet (D-4).
        confirmed: bool,
    },
    /// Select, but write nothing: another worker is writing this entry, or is on newer Tables.
    SelectOnly,
}

/// One packet on its way: two cache lines. What a stage can make again, as the tracking key, is not
/// kept.
#[derive(Debug)]
pub struct Packet<F> {
    /// The frame.
    pub frame: F,
    /// The port that it arrived on.
    pub port: PortId,
    /// Whether it was held, for its first fragment (S-6) or its next hop: it is not held again.
    pub waited: bool,
    /// What the parser read.
    pub parsed: Parsed,
    /// The rule that took it; valid once classified.
    pub rule: RuleId,
    /// That rule's service; valid once classified.
    pub service: ServiceId,
    /// What the connection table said.
    pub tracking: Tracking,
    /// The backend that it goes to.
    pub slot: Option<SlotId>,
    /// Why.
    pub why: Why,
    /// What became of its entry.
    pub entry: Entry,
    /// The port that it leaves by; valid once encapsulated.
    pub egress: PortId,
    /// Set by the stage where the packet's way ends; only [`crate::icmp`] names it anew.
    pub outcome: Option<Outcome>,
    /// Its frame has become our answer to it, to leave by the port that it came in by.
    pub answered: bool,
}

impl<F> Packet<F> {
    /// A packet that has just arrived.
    #[inline]
    pub fn new(frame: F, port: PortId) -> Self {
        Self {
            frame,
            port,
            waited: false,
            parsed: Parsed::default(),
            rule: RuleId::default(),
            service: ServiceId::default(),
            tracking: Tracking::No,
            slot: None,
            why: Why::Undecided,
            entry: Entry::None,
            egress: PortId::default(),
            outcome: None,
            answered: false,
        }
    }

    /// Ends the packet's way.
    pub fn end(&mut self, outcome: Outcome) {
        debug_assert!(self.outcome.is_none(), "a packet ends once");
        self.outcome = Some(outcome);
    }
}

/// A burst.
#[derive(Debug)]
pub struct Batch<F>(pub ArrayVec<Packet<F>, BURST>);

impl<F> Default for Batch<F> {
    fn default() -> Self {
        Self(ArrayVec::new())
    }
}

impl<F> Batch<F> {
    /// The packets whose way goes on.
    pub fn live(&mut self) -> impl Iterator<Item = &mut Packet<F>> {
        self.0.iter_mut().filter(|p| p.outcome.is_none())
    }
}

#[cfg(all(test, target_pointer_width = "64"))]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_two_cache_lines() {
        assert!(size_of::<Packet<Box<u8>>>() <= 128, "{}", size_of::<Packet<Box<u8>>>());
    }
}
