//! What an entry says, packed into its words.

use tables::{EpochAge, Lifetime, ServiceId, SlotId, Tables, Tick};

/// The backend of a connection: `slot:24 epoch:32 lifetime:8`, fixed when the entry is made (D-2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    /// The backend's slot.
    pub slot: SlotId,
    /// By which of the slot's epochs the entry lives.
    pub lifetime: Lifetime,
    /// That epoch when the entry was made.
    pub epoch: u32,
}

impl Value {
    /// A new entry's value, `None` when these Tables do not know the slot.
    pub fn stamped(slot: SlotId, lifetime: Lifetime, tables: &Tables) -> Option<Self> {
        Some(Self { slot, lifetime, epoch: tables.slots.epochs(slot)?.of(lifetime) })
    }

    pub(super) fn pack(self) -> u64 {
        u64::from(self.slot.get()) << 40 | u64::from(self.epoch) << 8 | self.lifetime as u64
    }

    /// `None` never happens for what [`Value::pack`] made.
    pub(super) fn unpack(word: u64) -> Option<Self> {
        let lifetime = match word as u8 {
            0 => Lifetime::WhileHealthy,
            1 => Lifetime::Persisting,
            _ => return None,
        };
        Some(Self { slot: SlotId::new((word >> 40) as u32)?, lifetime, epoch: (word >> 8) as u32 })
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
    pub(super) fn judge(&self, value: Option<Value>, stamp: Stamp, idle_ticks: u32) -> State {
        let Some(value) = value else { return State::Dead };
        match self.tables.slots.age(value.slot, value.lifetime, value.epoch) {
            EpochAge::Newer => State::Newer,
            EpochAge::Older => State::Dead,
            EpochAge::Current if self.now.since(stamp.seen()) >= idle_ticks => State::Dead,
            EpochAge::Current => State::Live,
        }
    }

    /// Judges anyone's entry. One of a current epoch whose service these Tables do not know was
    /// made by newer ones.
    pub(super) fn judge_of(&self, service: ServiceId, value: Option<Value>, stamp: Stamp) -> State {
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
                    let value = Value { slot, lifetime, epoch };
                    assert_eq!(Value::unpack(value.pack()), Some(value));
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
