//! Which backend slots are taken, and every slot's epochs (D-2).

use std::collections::VecDeque;

use tables::{Lifetime, SlotEpochs, SlotId};

/// All slots that were ever taken. Epochs only count on: a slot that is given back keeps its own.
#[derive(Clone, Debug, Default)]
pub struct Slots {
    epochs: Vec<SlotEpochs>,
    /// Oldest first, so that a slot rests as long as possible before it is used again.
    free: VecDeque<SlotId>,
}

impl Slots {
    /// Takes a slot that nobody uses; `None` when all [`SlotId::LIMIT`] are taken. Taking one again
    /// ends whatever an entry of its former backend may still say.
    pub fn take(&mut self) -> Option<SlotId> {
        if let Some(slot) = self.free.pop_front() {
            self.end_all(slot);
            return Some(slot);
        }
        let slot = SlotId::new(u32::try_from(self.epochs.len()).ok()?)?;
        self.epochs.push(SlotEpochs::default());
        Some(slot)
    }

    /// Gives a slot back.
    pub fn give_back(&mut self, slot: SlotId) {
        self.free.push_back(slot);
    }

    /// Ends the slot's entries of one lifetime.
    pub fn end(&mut self, slot: SlotId, lifetime: Lifetime) {
        self.epochs[slot.get() as usize].end(lifetime);
    }

    /// Ends all of the slot's entries.
    pub fn end_all(&mut self, slot: SlotId) {
        self.epochs[slot.get() as usize].end_all();
    }

    /// The epochs, by slot number.
    pub fn epochs(&self) -> &[SlotEpochs] {
        &self.epochs
    }

    /// Starts every slot's epochs at given values: for tests near the wrap-around.
    #[cfg(test)]
    pub(crate) fn start_at(&mut self, epochs: SlotEpochs) {
        self.epochs.fill(epochs);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_taken_again_has_newer_epochs() {
        let mut slots = Slots::default();
        let first = slots.take().expect("free");
        let before = slots.epochs()[0];
        slots.give_back(first);
        assert_eq!(slots.take(), Some(first));
        assert_ne!(slots.epochs()[0].of(Lifetime::WhileHealthy), before.of(Lifetime::WhileHealthy));
        assert_ne!(slots.epochs()[0].of(Lifetime::Persisting), before.of(Lifetime::Persisting));
    }

    #[test]
    fn the_slot_that_rested_longest_is_taken_first() {
        let mut slots = Slots::default();
        let (a, b) = (slots.take().expect("free"), slots.take().expect("free"));
        slots.give_back(b);
        slots.give_back(a);
        assert_eq!([slots.take(), slots.take()], [Some(b), Some(a)]);
    }
}
