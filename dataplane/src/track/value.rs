//! What an entry says, packed into its words.

use tables::{EpochAge, Lifetime, ServiceId, SlotId, Tables, Tick};

/// The backend of a connection, in one word: `slot:24 epoch:32 lifetime:8`, fixed when the entry is
/// made (D-2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Value(u64);

impl Value {
    /// On this slot, for as long as the epoch of that lifetime is this one.
    pub fn new(slot: SlotId, lifetime: Lifetime, epoch: u32) -> Self {
        Self(u64::from(slot.get()) << 40 | u64::from(epoch) << 8 | lifetime as u64)
    }

    /// A new entry's value, `None` when these Tables do not know the slot.
    #[inline]
    pub fn stamped(slot: SlotId, lifetime: Lifetime, tables: &Tables) -> Option<Self> {
        Some(Self::new(slot, lifetime, tables.slots.epochs(slot)?.of(lifetime)))
    }

    /// The backend's slot.
    #[inline]
    pub fn slot(self) -> SlotId {
        // 24 bits are what a slot has.
        SlotId::new((self.0 >> 40) as u32).unwrap_or_default()
    }

    /// By which of the slot's epochs the entry lives.
    #[inline]
    pub fn lifetime(self) -> Lifetime {
        if self.0 as u8 == 0 { Lifetime::WhileHealthy } else { Lifetime::Persisting }
    }

    /// That epoch when the entry was made.
    #[inline]
    pub fn epoch(self) -> u32 {
        (self.0 >> 8) as u32
    }

    /// The word.
    pub(super) fn pack(self) -> u64 {
        self.0
    }

    /// What [`Value::pack`] gave.
    pub(super) fn unpack(word: u64) -> Self {
        Self(word)
    }
}

/// When an entry was last matched (31 bits), and whether by more than its first packet (D-4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp(pub(super) u32);

impl Stamp {
    pub(super) fn new(seen: Tick, confirmed: bool) -> Self {
        Self(seen.0 << 1 | u32::from(confirmed))
    }

    pub(super) fn seen(self) -> Tick {
        Tick(self.0 >> 1)
    }

    pub(super) fn confirmed(self) -> bool {
        self.0 & 1 != 0
    }
}

/// How an entry stands to one worker's Tables and clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It decides.
    Live,
    /// Its epoch is over or it has expired: a miss, to be overwritten.
    Dead,
    /// Another worker, on newer Tables, made it: not ours to judge.
    Newer,
}

/// What entries are judged by.
#[derive(Clone, Copy)]
pub(super) struct View<'t> {
    pub(super) tables: &'t Tables,
    pub(super) now: Tick,
}

impl View<'_> {
    /// Judges an entry of a service with this idle timeout. An age equal to the timeout has
    /// expired (T-8).
    #[inline]
    pub(super) fn judge(&self, value: Value, stamp: Stamp, idle_ticks: u32) -> State {
        match self.tables.slots.age(value.slot(), value.lifetime(), value.epoch()) {
            EpochAge::Newer => State::Newer,
            EpochAge::Older => State::Dead,
            EpochAge::Current if self.now.since(stamp.seen()) >= idle_ticks => State::Dead,
            EpochAge::Current => State::Live,
        }
    }

    /// Judges anyone's entry. One of a current epoch whose service these Tables do not know was
    /// made by newer ones.
    pub(super) fn judge_of(&self, service: ServiceId, value: Value, stamp: Stamp) -> State {
        let idle_ticks = self.tables.service(service).map(|s| s.idle_limit(self.now));
        match self.judge(value, stamp, idle_ticks.unwrap_or(u32::MAX)) {
            State::Live if idle_ticks.is_none() => State::Newer,
            state => state,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_survives_packing_at_its_extremes() {
        for slot in [0, 1, SlotId::LIMIT - 1] {
            for epoch in [0, 1, u32::MAX] {
                for lifetime in [Lifetime::WhileHealthy, Lifetime::Persisting] {
                    let slot = SlotId::new(slot).expect("in range");
                    let value = Value::new(slot, lifetime, epoch);
                    let parts = (value.slot(), value.lifetime(), value.epoch());
                    assert_eq!(parts, (slot, lifetime, epoch));
                    assert_eq!(Value::unpack(value.pack()), value);
                }
            }
        }
    }

    #[test]
    fn a_stamp_keeps_31_bits_and_the_mark() {
        for seen in [0, 1, u32::MAX >> 1] {
            assert_eq!(Stamp::new(Tick(seen), true).seen(), Tick(seen));
            assert!(Stamp::new(Tick(seen), true).confirmed());
            assert!(!Stamp::new(Tick(seen), false).confirmed());
        }
    }
}
