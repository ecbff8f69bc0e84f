//! T-1 to T-7, H-1 to H-3, S-1, P-4: the compiled matrix, every cell, against the specification's
//! sentences one by one.

use control::model::{Affinity, Persistence, Profile, TrackingMode};
use control::plan::matrix;
use tables::{ClassPlan, EarlierKeys, FieldSet, Lifetime, PacketClass};

use Affinity::{ClientIp, ClientIpNoDestination, ClientIpPortProto, ClientIpProto};
use PacketClass::{Esp, Gre, Icmp, Other, Tcp, Udp, UdpFragment};
use Persistence::{AlwaysPersist, DefaultForProtocol, NeverPersist};
use Profile::{Azure, GcpExternal, GcpInternal, Native};
use TrackingMode::{PerConnection, PerSession};

const PROFILES: [Profile; 4] = [Native, GcpExternal, GcpInternal, Azure];
const AFFINITIES: [Affinity; 5] =
    [Affinity::None, ClientIpPortProto, ClientIpProto, ClientIp, ClientIpNoDestination];

/// Every cell that a configuration can reach: `ALWAYS_PERSIST` with `PER_SESSION` is refused
/// (H-4).
fn cells() -> Vec<(Profile, Affinity, TrackingMode, Persistence, PacketClass)> {
    let mut cells = Vec::new();
    for profile in PROFILES {
        for affinity in AFFINITIES {
            for (mode, persistence) in [
                (PerConnection, DefaultForProtocol),
                (PerConnection, NeverPersist),
                (PerConnection, AlwaysPersist),
                (PerSession, DefaultForProtocol),
                (PerSession, NeverPersist),
            ] {
                for class in PacketClass::ALL {
                    cells.push((profile, affinity, mode, persistence, class));
                }
            }
        }
    }
    cells
}

fn expected(
    profile: Profile,
    affinity: Affinity,
    mode: TrackingMode,
    persistence: Persistence,
    class: PacketClass,
) -> ClassPlan {
    let five_tuple_affinity = affinity == Affinity::None || affinity == ClientIpPortProto;
    let five_or_three = match class {
        Tcp | Udp => FieldSet::FIVE_TUPLE,
        UdpFragment | Esp | Gre | Icmp | Other => FieldSet::THREE_TUPLE,
    };
    // S-1
    let select = match affinity {
        Affinity::None | ClientIpPortProto => five_or_three,
        ClientIpProto => FieldSet::THREE_TUPLE,
        ClientIp => FieldSet::TWO_TUPLE,
        ClientIpNoDestination => FieldSet::ONE_TUPLE,
    };
    // T-4, T-5
    let trackable = match profile {
        GcpExternal => match class {
            Tcp => true,
            Udp | UdpFragment | Esp | Gre => affinity != Affinity::None,
            Icmp | Other => false,
        },
        GcpInternal | Native | Azure => true,
    };
    // T-6, T-7
    let key = match mode {
        PerConnection => five_or_three,
        PerSession => select,
    };
    // T-1
    let syn_is_new = match mode {
        PerConnection => true,
        PerSession => five_tuple_affinity,
    };
    let persists = match (persistence, profile) {
        // H-1
        (DefaultForProtocol, _) => class == Tcp && (mode == PerConnection || five_tuple_affinity),
        // H-2
        (NeverPersist, _) => false,
        // H-3
        (AlwaysPersist, GcpExternal) => match class {
            Tcp => true,
            Udp | UdpFragment | Esp | Gre => affinity != Affinity::None,
            Icmp | Other => false,
        },
        (AlwaysPersist, GcpInternal) => class == Tcp || class == Udp || class == UdpFragment,
        (AlwaysPersist, Native | Azure) => trackable,
    };
    ClassPlan {
        select,
        track: trackable.then_some(key),
        track_before: EarlierKeys::NONE,
        syn_is_new,
        lifetime: if persists { Lifetime::Persisting } else { Lifetime::WhileHealthy },
    }
}

#[test]
fn every_cell_of_the_matrix_says_what_the_specification_says() {
    for (profile, affinity, mode, persistence, class) in cells() {
        let found = *matrix::compile(profile, affinity, mode, persistence).class(class);
        let expected = expected(profile, affinity, mode, persistence, class);
        assert_eq!(found, expected, "{profile:?} {affinity:?} {mode:?} {persistence:?} {class:?}");
    }
}

#[test]
fn a_class_that_is_not_tracked_never_persists() {
    for (profile, affinity, mode, persistence, class) in cells() {
        let row = *matrix::compile(profile, affinity, mode, persistence).class(class);
        let sound = row.track.is_some() || row.lifetime == Lifetime::WhileHealthy;
        assert!(sound, "{profile:?} {affinity:?} {mode:?} {persistence:?} {class:?}");
    }
}

#[test]
fn fragments_of_udp_are_tracked_and_persist_as_udp_but_without_ports() {
    let plan = matrix::compile(GcpInternal, Affinity::None, PerConnection, AlwaysPersist);
    let (whole, fragment) = (plan.class(Udp), plan.class(UdpFragment));
    assert_eq!(whole.lifetime, Lifetime::Persisting);
    assert_eq!(fragment.lifetime, Lifetime::Persisting);
    assert_eq!(whole.track, Some(FieldSet::FIVE_TUPLE));
    assert_eq!(fragment.track, Some(FieldSet::THREE_TUPLE));
    assert_eq!(fragment.select, FieldSet::THREE_TUPLE);
}
