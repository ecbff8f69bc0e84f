//! Which fields are tracked and hashed, written from 1.2, T-4 to T-7, S-1 and H-1 to H-3.

use control::model::{Affinity, Persistence, Profile, Service, TrackingMode};
use tables::FieldSet;

/// A packet as the specification sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Packet {
    pub(crate) protocol: u8,
    pub(crate) fragment: bool,
    pub(crate) syn: bool,
    pub(crate) client: u8,
    pub(crate) sport: u16,
    pub(crate) vip: u8,
}

pub(crate) const TCP: u8 = 6;
const UDP: u8 = 17;
const GRE: u8 = 47;
const ESP: u8 = 50;

impl Packet {
    /// "Has ports" means TCP, or UDP that is not fragmented.
    fn has_ports(self) -> bool {
        self.protocol == TCP || self.protocol == UDP && !self.fragment
    }

    fn five_or_three(self) -> FieldSet {
        if self.has_ports() { FieldSet::FIVE_TUPLE } else { FieldSet::THREE_TUPLE }
    }
}

fn five_tuple_affinity(affinity: Affinity) -> bool {
    affinity == Affinity::None || affinity == Affinity::ClientIpPortProto
}

/// S-1
pub(crate) fn selection(service: &Service, packet: Packet) -> FieldSet {
    match service.affinity {
        Affinity::None | Affinity::ClientIpPortProto => packet.five_or_three(),
        Affinity::ClientIpProto => FieldSet::THREE_TUPLE,
        Affinity::ClientIp => FieldSet::TWO_TUPLE,
        Affinity::ClientIpNoDestination => FieldSet::ONE_TUPLE,
    }
}

/// T-4 to T-7; `None`: not trackable.
pub(crate) fn tracking(service: &Service, packet: Packet) -> Option<FieldSet> {
    if service.profile == Profile::GcpExternal {
        let trackable = packet.protocol == TCP
            || [UDP, ESP, GRE].contains(&packet.protocol) && service.affinity != Affinity::None;
        if !trackable {
            return None;
        }
    }
    Some(match service.tracking_mode {
        TrackingMode::PerConnection => packet.five_or_three(),
        TrackingMode::PerSession => selection(service, packet),
    })
}

/// T-1: whether this packet skips the table.
pub(crate) fn is_new(service: &Service, packet: Packet) -> bool {
    let always = service.tracking_mode == TrackingMode::PerConnection;
    packet.protocol == TCP && packet.syn && (always || five_tuple_affinity(service.affinity))
}

/// H-1 to H-3
pub(crate) fn persists(service: &Service, packet: Packet) -> bool {
    match service.persistence {
        Persistence::NeverPersist => false,
        Persistence::DefaultForProtocol => {
            packet.protocol == TCP
                && (service.tracking_mode == TrackingMode::PerConnection
                    || five_tuple_affinity(service.affinity))
        }
        Persistence::AlwaysPersist => match service.profile {
            Profile::GcpInternal => packet.protocol == TCP || packet.protocol == UDP,
            _ => true,
        },
    }
}
