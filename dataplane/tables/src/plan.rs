//! The policy matrix, compiled (D-1): what a worker does with a packet of each class.

use crate::{FieldSet, Lifetime, Tick};

/// What kind of packet it is, as far as a plan distinguishes (T-4 to T-6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum PacketClass {
    /// TCP; its non-first fragments take their ports from the first one (S-6).
    Tcp,
    /// UDP that is not fragmented.
    Udp,
    /// A fragment of a UDP datagram, the first one too: it has no ports (1.2).
    UdpFragment,
    /// Encapsulating security payload, protocol 50.
    Esp,
    /// Generic routing encapsulation, protocol 47.
    Gre,
    /// ICMP or ICMPv6, errors about a connection excepted (S-7).
    Icmp,
    /// Every other protocol.
    #[default]
    Other,
}

impl PacketClass {
    /// Every class, in the order of a plan's rows.
    pub const ALL: [Self; 7] =
        [Self::Tcp, Self::Udp, Self::UdpFragment, Self::Esp, Self::Gre, Self::Icmp, Self::Other];

    /// Whether its packets have ports (1.2).
    pub const fn has_ports(self) -> bool {
        matches!(self, Self::Tcp | Self::Udp)
    }
}

/// What to do with a packet of one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassPlan {
    /// The fields of the selection hash (S-1).
    pub select: FieldSet,
    /// The fields of the tracking key (T-6, T-7), or `None`: not trackable (T-2).
    pub track: Option<FieldSet>,
    /// The tracking keys before the last changes of it.
    pub track_before: EarlierKeys,
    /// A SYN skips the table and replaces the entry (T-1).
    pub syn_is_new: bool,
    /// Whether entries made now outlive their backend's health (H-1 to H-3).
    pub lifetime: Lifetime,
}

/// One [`ClassPlan`] for each [`PacketClass`], in the order of [`PacketClass::ALL`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan(pub [ClassPlan; 7]);

impl Plan {
    /// The row of `class`.
    #[inline]
    pub fn class(&self, class: PacketClass) -> &ClassPlan {
        &self.0[class as usize]
    }
}

/// The keys that a class was tracked by before, the latest first, each with until when a miss is
/// looked up under it. There are four tuples, so at most three are earlier ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EarlierKeys([Option<(FieldSet, Tick)>; Self::MOST]);

impl EarlierKeys {
    /// The most that there can be.
    pub const MOST: usize = 3;

    /// None.
    pub const NONE: Self = Self([None; Self::MOST]);

    /// One more, the latest.
    pub fn with(self, key: FieldSet, until: Tick) -> Self {
        let others = self.0.into_iter().flatten().filter(|(earlier, _)| *earlier != key);
        Self::from_latest(std::iter::once((key, until)).chain(others))
    }

    /// Those that still count at `now`, but for `current`, which is no earlier one.
    pub fn lasting(self, current: FieldSet, now: Tick) -> Self {
        let lasts = |(key, until): &(FieldSet, Tick)| *key != current && until.since(now) > 0;
        Self::from_latest(self.0.into_iter().flatten().filter(lasts))
    }

    /// Those that count at `now`, the latest first.
    pub fn at(self, now: Tick) -> impl Iterator<Item = FieldSet> {
        let keys = self.0.into_iter().flatten();
        keys.filter(move |(_, until)| until.since(now) > 0).map(|(key, _)| key)
    }

    fn from_latest(mut keys: impl Iterator<Item = (FieldSet, Tick)>) -> Self {
        Self(std::array::from_fn(|_| keys.next()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r3_earlier_keys_count_until_their_time_the_latest_first() {
        let keys = EarlierKeys::NONE
            .with(FieldSet::FIVE_TUPLE, Tick(10))
            .with(FieldSet::TWO_TUPLE, Tick(20))
            .with(FieldSet::FIVE_TUPLE, Tick(30));
        let at = |now| keys.at(Tick(now)).collect::<Vec<_>>();
        assert_eq!(at(19), [FieldSet::FIVE_TUPLE, FieldSet::TWO_TUPLE]);
        assert_eq!(at(20), [FieldSet::FIVE_TUPLE]);
        assert_eq!(keys.lasting(FieldSet::FIVE_TUPLE, Tick(20)), EarlierKeys::NONE);
    }
}
