//! Backend slots: one per (service, group, name, address), stable across Tables (D-2).

use crate::Template;

/// A backend slot's number, 24 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SlotId(u32);

impl SlotId {
    /// More slots than this cannot be told apart by an entry.
    pub const LIMIT: u32 = 1 << 24;

    /// The slot of this number, or `None` beyond [`SlotId::LIMIT`].
    #[inline]
    pub fn new(number: u32) -> Option<Self> {
        (number < Self::LIMIT).then_some(Self(number))
    }

    /// The number.
    #[inline]
    pub fn get(self) -> u32 {
        self.0
    }

    #[inline]
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Which of a slot's two epochs an entry lives by; fixed when the entry is made (D-2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Lifetime {
    /// Ends when its backend becomes unhealthy (T-11).
    #[default]
    WhileHealthy,
    /// Persists on an unhealthy backend (H-1, H-3).
    Persisting,
}

/// A slot's two epochs, by [`Lifetime`]; incremented to end entries, never reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotEpochs([u32; 2]);

impl SlotEpochs {
    /// Epochs that start at given values; a slot's first are zero.
    pub const fn starting_at(while_healthy: u32, persisting: u32) -> Self {
        Self([while_healthy, persisting])
    }

    /// The epoch that a new entry of this lifetime is stamped with.
    #[inline]
    pub fn of(self, lifetime: Lifetime) -> u32 {
        self.0[lifetime as usize]
    }

    /// Ends the entries of one lifetime.
    pub fn end(&mut self, lifetime: Lifetime) {
        let epoch = &mut self.0[lifetime as usize];
        *epoch = epoch.wrapping_add(1);
    }

    /// Ends all entries.
    pub fn end_all(&mut self) {
        self.end(Lifetime::WhileHealthy);
        self.end(Lifetime::Persisting);
    }
}

/// How an entry's epoch stands to its slot's (D-2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EpochAge {
    /// The entry is valid.
    Current,
    /// The entry was ended: a miss, to be replaced in place.
    Older,
    /// Another worker is already on newer Tables: select, write nothing.
    Newer,
}

/// Every slot's epochs and outer headers.
#[derive(Debug, Default)]
pub struct SlotTable {
    epochs: Box<[SlotEpochs]>,
    templates: Box<[Option<Box<[Template; 2]>>]>,
}

impl SlotTable {
    /// One element per slot number, free slots included: their epochs count on. The templates
    /// are for IPv4 and IPv6 inside; `None` for a free slot.
    pub fn new(slots: impl IntoIterator<Item = (SlotEpochs, Option<Box<[Template; 2]>>)>) -> Self {
        let (epochs, templates): (Vec<_>, Vec<_>) = slots.into_iter().unzip();
        Self { epochs: epochs.into(), templates: templates.into() }
    }

    /// Slots, free ones included.
    pub fn len(&self) -> usize {
        self.epochs.len()
    }

    /// Whether there is no slot at all.
    pub fn is_empty(&self) -> bool {
        self.epochs.is_empty()
    }

    /// The epochs of a slot, `None` for a slot that these Tables do not know yet.
    #[inline]
    pub fn epochs(&self, slot: SlotId) -> Option<SlotEpochs> {
        self.epochs.get(slot.index()).copied()
    }

    /// How an entry's epoch stands to this slot's. Wrapping: an entry would have to outlive 2^31
    /// changes of one slot to be taken for a newer one.
    #[inline]
    pub fn age(&self, slot: SlotId, lifetime: Lifetime, epoch: u32) -> EpochAge {
        let Some(epochs) = self.epochs(slot) else { return EpochAge::Newer };
        match epoch.wrapping_sub(epochs.of(lifetime)) as i32 {
            0 => EpochAge::Current,
            1.. => EpochAge::Newer,
            _ => EpochAge::Older,
        }
    }

    /// The outer header for inner packets of `family`.
    #[inline]
    pub fn template(&self, slot: SlotId, family: crate::Family) -> Option<&Template> {
        Some(&self.templates.get(slot.index())?.as_deref()?[family as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epochs_tell_older_from_newer_across_the_wrap() {
        let table = SlotTable::new([(SlotEpochs::starting_at(u32::MAX, 1), None)]);
        let slot = SlotId::new(0).expect("in range");
        let age = |lifetime, epoch| table.age(slot, lifetime, epoch);
        assert_eq!(age(Lifetime::WhileHealthy, u32::MAX), EpochAge::Current);
        assert_eq!(age(Lifetime::WhileHealthy, u32::MAX - 1), EpochAge::Older);
        assert_eq!(age(Lifetime::WhileHealthy, 0), EpochAge::Newer);
        assert_eq!(age(Lifetime::Persisting, u32::MAX), EpochAge::Older);
    }

    #[test]
    fn an_unknown_slot_counts_as_newer() {
        let slot = SlotId::new(3).expect("in range");
        assert_eq!(SlotTable::default().age(slot, Lifetime::Persisting, 0), EpochAge::Newer);
    }

    #[test]
    fn ending_one_lifetime_leaves_the_other() {
        let mut epochs = SlotEpochs::starting_at(u32::MAX, 7);
        epochs.end(Lifetime::WhileHealthy);
        assert_eq!(epochs, SlotEpochs::starting_at(0, 7));
        epochs.end_all();
        assert_eq!(epochs, SlotEpochs::starting_at(1, 8));
    }

    #[test]
    fn slot_numbers_have_24_bits() {
        assert!(SlotId::new(SlotId::LIMIT - 1).is_some());
        assert!(SlotId::new(SlotId::LIMIT).is_none());
    }
}
