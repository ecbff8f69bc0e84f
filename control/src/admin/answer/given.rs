//! What backends are given: in `windrose status` and `windrose counters`.

use serde::{Deserialize, Serialize};

/// Since the backend has come; of a service: of the backends that it has now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Given {
    /// Packets that were put into its tunnel.
    pub packets: u64,
    /// Their bytes, from the IP header of each on: as they arrived, without the tunnel.
    pub bytes: u64,
    /// Connection table entries made for new connections.
    pub new_connections: u64,
}

/// The same a second, over the last few seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GivenRates {
    /// Packets.
    pub packets: f64,
    /// Bytes.
    pub bytes: f64,
    /// New connections.
    pub new_connections: f64,
}

impl Given {
    /// Since an earlier reading, so many seconds ago. Where that has more it was another backend's.
    pub fn since(self, before: Self, seconds: f64) -> GivenRates {
        let rate = |now: u64, before: u64| now.saturating_sub(before) as f64 / seconds;
        GivenRates {
            packets: rate(self.packets, before.packets),
            bytes: rate(self.bytes, before.bytes),
            new_connections: rate(self.new_connections, before.new_connections),
        }
    }
}

impl From<tables::traffic::Share> for Given {
    fn from(share: tables::traffic::Share) -> Self {
        let tables::traffic::Share { packets, bytes, connections } = share;
        Self { packets, bytes, new_connections: connections }
    }
}

impl std::iter::Sum for Given {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            packets: sum.packets + one.packets,
            bytes: sum.bytes + one.bytes,
            new_connections: sum.new_connections + one.new_connections,
        })
    }
}

impl std::iter::Sum for GivenRates {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            packets: sum.packets + one.packets,
            bytes: sum.bytes + one.bytes,
            new_connections: sum.new_connections + one.new_connections,
        })
    }
}
