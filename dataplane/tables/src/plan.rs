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
    /// The tracking key before the last change of it, and until when a miss is looked up under
    /// it once more.
    pub track_before: Option<(FieldSet, Tick)>,
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
