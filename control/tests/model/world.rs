//! The configurations that a script goes through, and the packets, as numbers become them.

use std::net::IpAddr;
use std::sync::LazyLock;

use control::config::{self, Environment};
use control::model::*;
use control::simulate::scenario::{Flags, FragmentPart, Packet as ScenarioPacket, Tuple};
use tables::Flow;

use crate::fields::{Packet, TCP};

/// Backends of the first service: three primaries in zone a, two in zone b, two failover ones.
pub(crate) const BACKENDS: [&str; 7] = ["p/1", "p/2", "p/3", "q/1", "q/2", "f/1", "f/2"];

const FILE: &str = r#"
[dataplane]
conntrack_entries = 1024
conntrack_entries_v6 = 1000
hash_seed = "000102030405060708090a0b0c0d0e0f"
maglev_table_size = 251
[[client_zone]]
prefix = "198.51.100.1/32"
zone = "a"
[[client_zone]]
prefix = "198.51.100.2/32"
zone = "b"
[[service]]
name = "s"
[[service.group]]
name = "p"
zone = "a"
backends = [ { name = "1", address = "10.1.0.1" }, { name = "2", address = "10.1.0.2" }, { name = "3", address = "10.1.0.3" } ]
[[service.group]]
name = "q"
zone = "b"
backends = [ { name = "1", address = "10.1.1.1" }, { name = "2", address = "10.1.1.2" } ]
[[service.group]]
name = "f"
role = "failover"
zone = "b"
backends = [ { name = "1", address = "10.2.0.1" }, { name = "2", address = "10.2.0.2" } ]
[[service]]
name = "t"
initial_health = "healthy"
session_affinity = "CLIENT_IP_NO_DESTINATION"
tracking_mode = "PER_SESSION"
[[service.group]]
name = "g"
backends = [ { name = "1", address = "10.3.0.1" }, { name = "2", address = "10.3.0.2" } ]
[[forwarding_rule]]
name = "a"
address = "203.0.113.1"
protocol = "L3_DEFAULT"
ports = "ALL"
service = "s"
[[forwarding_rule]]
name = "b"
address = "203.0.113.2"
protocol = "L3_DEFAULT"
ports = "ALL"
service = "s"
[[forwarding_rule]]
name = "c"
address = "203.0.113.2"
protocol = "TCP"
ports = [81]
service = "t"
"#;

/// The file that everything starts from.
pub(crate) fn base() -> Config {
    static BASE: LazyLock<Config> = LazyLock::new(|| {
        let loaded = config::parse("base", FILE, &Environment::default());
        loaded.unwrap_or_else(|e| panic!("{e}")).config
    });
    BASE.clone()
}

fn pick<T: Copy>(all: &[T], number: u8) -> T {
    all[usize::from(number) % all.len()]
}

fn ratio(number: u8) -> Ratio {
    pick(&["0.0", "0.3", "0.5", "0.67", "1.0"], number).parse().expect("a ratio")
}

/// Changes one setting of the first service; what the profile does not allow is undone (P-2).
pub(crate) fn mutate(config: &mut Config, what: u8, number: u8) {
    let service = &mut config.services[0];
    match what % 12 {
        0 => service.affinity = pick(&AFFINITIES, number),
        1 => {
            service.tracking_mode =
                pick(&[TrackingMode::PerConnection, TrackingMode::PerSession], number);
        }
        2 => {
            let all = [Persistence::DefaultForProtocol, Persistence::AlwaysPersist];
            if service.persistence != Persistence::NeverPersist {
                service.persistence = pick(&all, number);
            }
        }
        3 => service.idle_timeout = seconds(pick(&[60, 90, 600], number)),
        4 => service.draining_timeout = seconds(pick(&[0, 30, 100], number)),
        5 => service.weighted = number.is_multiple_of(2),
        6 => {
            service.zonal_affinity = match number % 3 {
                0 => ZonalAffinity::Disabled,
                1 => ZonalAffinity::StayWithinZone,
                _ => ZonalAffinity::SpillCrossZone(ratio(number / 3)),
            };
        }
        7 | 8 => {
            service.failover = Some(FailoverPolicy {
                ratio: ratio(number),
                drop_traffic_if_unhealthy: number & 64 != 0,
                connection_draining_on_failover: number & 128 != 0,
            });
        }
        9 => service.initially_healthy = number.is_multiple_of(2),
        _ => toggle(service, pick(&BACKENDS, number)),
    }
    allowed(config);
}

const AFFINITIES: [Affinity; 5] = [
    Affinity::None,
    Affinity::ClientIpPortProto,
    Affinity::ClientIpProto,
    Affinity::ClientIp,
    Affinity::ClientIpNoDestination,
];

pub(crate) fn seconds(number: u64) -> std::time::Duration {
    std::time::Duration::from_secs(number)
}

/// Takes a backend out of the file, or puts it back.
fn toggle(service: &mut Service, path: &str) {
    let original = base().services[0].clone();
    let (group, name) = path.split_once('/').expect("group/name");
    let of = |s: &Service| s.groups.iter().position(|g| *g.name == *group).expect("a group");
    // Without a failover group there is nothing to put back.
    let Some(group) = service.groups.get_mut(of(&original)) else { return };
    let backends = &mut group.backends;
    match backends.iter().position(|b| *b.name == *name) {
        Some(index) if backends.len() > 1 => {
            backends.remove(index);
        }
        Some(_) => {}
        None => {
            let known = &original.groups[of(&original)].backends;
            backends.extend(known.iter().find(|b| *b.name == *name).cloned());
        }
    }
}

/// The profile, whether there are failover backends, and whether persistence is off, for a whole
/// script.
pub(crate) fn profile(config: &mut Config, number: u8) {
    let service = &mut config.services[0];
    let all = [Profile::Native, Profile::GcpExternal, Profile::GcpInternal, Profile::Azure];
    service.profile = pick(&all, number);
    if number & 0x10 != 0 {
        service.groups.retain(|group| group.role == Role::Primary);
    }
    if number & 0xE0 == 0xE0 {
        service.persistence = Persistence::NeverPersist;
    }
    allowed(config);
}

/// What the configuration's checks would refuse never gets here (P-2, H-4, E-8, E-9).
fn allowed(config: &mut Config) {
    let service = &mut config.services[0];
    let has_failover = service.profile != Profile::Azure
        && service.groups.iter().any(|g| g.role == Role::Failover);
    if service.profile == Profile::GcpExternal {
        service.idle_timeout = seconds(60);
        service.zonal_affinity = ZonalAffinity::Disabled;
    }
    let without_one_tuple = matches!(service.profile, Profile::GcpExternal | Profile::Azure);
    if without_one_tuple && service.affinity == Affinity::ClientIpNoDestination {
        service.affinity = Affinity::ClientIp;
    }
    if service.profile == Profile::GcpInternal || service.profile == Profile::Azure {
        service.weighted = false;
    }
    if service.profile == Profile::Azure {
        service.tracking_mode = TrackingMode::PerConnection;
        service.persistence = Persistence::DefaultForProtocol;
        service.zonal_affinity = ZonalAffinity::Disabled;
        service.groups.iter_mut().for_each(|g| g.role = Role::Primary);
    }
    service.failover = if has_failover { Some(service.failover.unwrap_or_default()) } else { None };
    let per_session = service.tracking_mode == TrackingMode::PerSession;
    if per_session && service.persistence == Persistence::AlwaysPersist {
        service.persistence = Persistence::DefaultForProtocol;
    }
}

/// A packet: few clients, ports and protocols, so that keys meet.
pub(crate) fn packet(what: u8, number: u8) -> Packet {
    let (protocol, fragment, syn) = match what % 9 {
        0 | 1 => (TCP, false, true),
        2 | 3 => (TCP, false, false),
        4 => (17, false, false),
        5 => (17, true, false),
        6 => (1, false, false),
        7 => (pick(&[47, 50], what / 9), false, false),
        _ => (253, false, false),
    };
    let with_ports = protocol == TCP || protocol == 17 && !fragment;
    Packet {
        protocol,
        fragment,
        syn,
        client: number % 3 + 1,
        sport: if with_ports { 1000 + u16::from(number >> 2 & 1) } else { 0 },
        vip: (number >> 3 & 1) + 1,
    }
}

impl Packet {
    /// Where TCP goes; one port of one VIP leads to the second service.
    fn dport(self, to_other: bool) -> u16 {
        match (self.sport, to_other) {
            (0, _) => 0,
            (_, true) => 81,
            (_, false) => 80,
        }
    }

    fn addresses(self) -> ([u8; 4], [u8; 4]) {
        ([198, 51, 100, self.client], [203, 0, 113, self.vip])
    }

    /// The flow that production hashes.
    pub(crate) fn flow(self, to_other: bool) -> Flow {
        let (src, dst) = self.addresses();
        Flow::v4(src, dst, self.protocol, self.sport, self.dport(to_other))
    }

    /// The packet as a scenario has it.
    pub(crate) fn written(self, to_other: bool) -> ScenarioPacket {
        let (src, dst) = self.addresses();
        ScenarioPacket {
            tuple: Tuple {
                protocol: self.protocol,
                src: IpAddr::from(src),
                dst: IpAddr::from(dst),
                sport: self.sport,
                dport: self.dport(to_other),
            },
            flags: Flags(if self.syn { 2 } else { 16 }),
            fragment: self.fragment.then_some((FragmentPart::Middle, 7)),
            quote: None,
            port: None,
        }
    }
}
