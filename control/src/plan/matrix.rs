//! The policy matrix, compiled (D-1): profile × affinity × tracking mode × persistence → what a
//! worker does with each class of packet.
//!
//! A fragment of UDP is a class of its own because it has no ports (1.2), but its protocol is
//! UDP: whether it is tracked and persists is as for UDP. Fragments of ESP, GRE, ICMP and the
//! rest are of their protocol's class, which has no ports anyway.

use tables::{ClassPlan, EarlierKeys, FieldSet, Lifetime, PacketClass, Plan};

use crate::model::{Affinity, Persistence, Profile, TrackingMode};

/// The plan of a service with these settings; `AlwaysPersist` with `PerSession` never gets past
/// the configuration (H-4). The key before a change of it is not the settings' business:
/// `track_before` is empty.
pub fn compile(
    profile: Profile,
    affinity: Affinity,
    mode: TrackingMode,
    persistence: Persistence,
) -> Plan {
    let settings = Settings { profile, affinity, mode, persistence };
    Plan(PacketClass::ALL.map(|class| class_plan(settings, class)))
}

#[derive(Clone, Copy)]
struct Settings {
    profile: Profile,
    affinity: Affinity,
    mode: TrackingMode,
    persistence: Persistence,
}

fn class_plan(settings: Settings, class: PacketClass) -> ClassPlan {
    let Settings { profile, affinity, mode, .. } = settings;
    let track = trackable(profile, affinity, class).then(|| tracking_fields(affinity, mode, class));
    let persists = track.is_some() && persists(settings, class);
    ClassPlan {
        select: selection_fields(affinity, class),
        track,
        track_before: EarlierKeys::NONE,
        syn_is_new: syn_is_new(affinity, mode),
        lifetime: if persists { Lifetime::Persisting } else { Lifetime::WhileHealthy },
    }
}

/// The fields of the selection hash (S-1).
pub fn selection_fields(affinity: Affinity, class: PacketClass) -> FieldSet {
    match affinity {
        Affinity::None | Affinity::ClientIpPortProto => all_fields(class),
        Affinity::ClientIpProto => FieldSet::THREE_TUPLE,
        Affinity::ClientIp => FieldSet::TWO_TUPLE,
        Affinity::ClientIpNoDestination => FieldSet::ONE_TUPLE,
    }
}

/// Whether packets of `class` are tracked (T-4, T-5).
pub fn trackable(profile: Profile, affinity: Affinity, class: PacketClass) -> bool {
    use PacketClass::{Esp, Gre, Icmp, Other, Tcp, Udp, UdpFragment};
    match (profile, class) {
        (Profile::GcpInternal | Profile::Native | Profile::Azure, _) => true,
        (Profile::GcpExternal, Tcp) => true,
        (Profile::GcpExternal, Udp | UdpFragment | Esp | Gre) => affinity != Affinity::None,
        (Profile::GcpExternal, Icmp | Other) => false,
    }
}

/// The fields of the tracking key (T-6, T-7).
fn tracking_fields(affinity: Affinity, mode: TrackingMode, class: PacketClass) -> FieldSet {
    match mode {
        TrackingMode::PerConnection => all_fields(class),
        TrackingMode::PerSession => selection_fields(affinity, class),
    }
}

/// Whether a SYN skips the table and replaces the entry (T-1). Only TCP has one, so the other
/// classes carry the bit for nothing.
fn syn_is_new(affinity: Affinity, mode: TrackingMode) -> bool {
    mode == TrackingMode::PerConnection || is_five_tuple(affinity)
}

/// Whether entries persist on an unhealthy backend (H-1 to H-3); only asked of tracked classes.
fn persists(settings: Settings, class: PacketClass) -> bool {
    let Settings { profile, affinity, mode, persistence } = settings;
    let per_connection = mode == TrackingMode::PerConnection;
    match persistence {
        Persistence::NeverPersist => false,
        Persistence::DefaultForProtocol => {
            class == PacketClass::Tcp && (per_connection || is_five_tuple(affinity))
        }
        Persistence::AlwaysPersist => always_persists(profile, class),
    }
}

/// H-3. What `gcp-external` lists there is just what it tracks (T-4). `azure` takes no
/// persistence; were it asked, it would follow `native` (P-4).
fn always_persists(profile: Profile, class: PacketClass) -> bool {
    use PacketClass::{Tcp, Udp, UdpFragment};
    profile != Profile::GcpInternal || matches!(class, Tcp | Udp | UdpFragment)
}

/// NONE and CLIENT_IP_PORT_PROTO.
fn is_five_tuple(affinity: Affinity) -> bool {
    matches!(affinity, Affinity::None | Affinity::ClientIpPortProto)
}

/// Five-tuple where the packet has ports, else three-tuple (T-6, S-1).
fn all_fields(class: PacketClass) -> FieldSet {
    if class.has_ports() { FieldSet::FIVE_TUPLE } else { FieldSet::THREE_TUPLE }
}
