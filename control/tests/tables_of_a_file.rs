//! A file → the Tables: which way each backend's packets leave, zones, pools, ids.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use control::config::{self, Environment};
use control::model::Config;
use control::plan::builder::Planner;
use control::plan::wiring::Wiring;
use control::plan::zones::Zones;
use control::state::{Change, Clock, State};
use tables::{Family, Mac, PortId, ServiceId, Tables, ZoneId};

const FILE: &str = r#"
[dataplane]
hash_seed = "000102030405060708090a0b0c0d0e0f"
[[port]]
name = "uplink"
device = "net_null0"
addresses = ["10.0.0.2/16", "2001:db8::2/64"]
gateways = ["2001:db8::1"]
mtu = 9000
vlan = 7
neighbours = { "10.0.1.9" = "02:00:00:00:00:09", "2001:db8::1" = "02:00:00:00:00:66" }
[[port]]
name = "back"
device = "net_null1"
addresses = ["10.7.0.2/24"]
gateways = ["10.7.0.1"]
[[client_zone]]
prefix = "198.51.100.0/24"
zone = "west"
[[client_zone]]
prefix = "203.0.113.0/25"
zone = "east"
[[client_zone]]
prefix = "2001:db8:77::/48"
zone = "west"
[[service]]
name = "web"
initial_health = "healthy"
locality_lb_policy = "WEIGHTED_MAGLEV"
maglev_table_size = 1009
idle_timeout = "1s"
[[service.group]]
name = "g"
backends = [
  { name = "1", address = "10.7.0.11", weight = 1 },
  { name = "2", address = "10.7.0.12", weight = 3 },
]
[[service]]
name = "dns"
initial_health = "healthy"
maglev_table_size = 1009
[service.zonal_affinity]
spillover = "ZONAL_AFFINITY_STAY_WITHIN_ZONE"
[[service.group]]
name = "e"
zone = "east"
backends = [{ name = "1", address = "10.0.1.9" }]
[[service.group]]
name = "w"
zone = "west"
backends = [{ name = "1", address = "10.7.0.13" }]
[[forwarding_rule]]
name = "web"
address = "192.0.2.10"
protocol = "TCP"
ports = [80]
service = "web"
[[forwarding_rule]]
name = "dns"
address = "192.0.2.11"
protocol = "UDP"
ports = [53]
service = "dns"
"#;

const CLOCK: Clock = Clock { tick_length: Duration::from_millis(125) };
const NOW: Duration = Duration::ZERO;
const ASSUMED: Mac = Mac([2, 0, 0, 0, 0, 0xff]);

fn config(text: &str) -> Config {
    config::parse("windrose.toml", text, &Environment::default()).expect("valid").config
}

fn state(config: Config) -> State {
    State::new(Arc::new(config), CLOCK, NOW).expect("fits")
}

fn wiring() -> Wiring {
    let macs = vec![Mac([2, 0, 0, 0, 1, 0]), Mac([2, 0, 0, 0, 1, 1])];
    Wiring { macs, assumed_neighbour: Some(ASSUMED), ..Wiring::default() }
}

fn tables(state: &State) -> Tables {
    Planner::default().tables(state, &wiring()).expect("buildable")
}

fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

/// The number of the port that leads to an address, and the next hop there.
fn way(config: &Config, to: &str) -> Option<(u8, Option<Mac>)> {
    let ways = wiring().ways(config, address(to));
    assert!(ways.hops.len() <= 1, "{ways:?}");
    ways.hops.first().map(|hop| (hop.port.0, hop.mac))
}

#[test]
fn what_is_on_link_is_sent_there_and_the_rest_through_a_gateway_of_its_family() {
    let mut config = config(FILE);
    assert_eq!(way(&config, "10.0.1.9"), Some((0, Some(Mac([2, 0, 0, 0, 0, 9])))));
    assert_eq!(way(&config, "10.0.1.8"), Some((0, Some(ASSUMED))));
    assert_eq!(way(&config, "10.7.0.9"), Some((1, Some(ASSUMED))));
    assert_eq!(way(&config, "172.16.0.1"), Some((1, Some(ASSUMED))));
    assert_eq!(way(&config, "2001:db8:9::1"), Some((0, Some(Mac([2, 0, 0, 0, 0, 0x66])))));
    config.ports[1].gateways.clear();
    assert_eq!(way(&config, "172.16.0.1"), None);
}

#[test]
fn of_ports_that_hold_an_address_the_longest_prefix_wins_and_then_the_first_port() {
    let mut config = config(FILE);
    config.ports[1].addresses.push("10.0.1.2/24".parse().expect("a prefix"));
    assert_eq!(way(&config, "10.0.1.8").map(|w| w.0), Some(1));
    assert_eq!(way(&config, "10.0.2.8").map(|w| w.0), Some(0));
    config.ports[1].addresses.push("10.0.0.3/16".parse().expect("a prefix"));
    assert_eq!(way(&config, "10.0.2.8").map(|w| w.0), Some(0));
}

#[test]
fn zones_are_numbered_by_name_and_each_has_its_prefixes() {
    let config = config(FILE);
    let zones = Zones::of(&config);
    let ids = ["east", "west", "north"].map(|name| zones.id(name));
    assert_eq!(ids, [Some(ZoneId(0)), Some(ZoneId(1)), None]);
    let tables = tables(&state(config));
    let zone = |client| tables.client_zones.longest(address(client)).copied();
    assert_eq!(zone("203.0.113.1"), Some(ZoneId(0)));
    assert_eq!(zone("198.51.100.1"), Some(ZoneId(1)));
    assert_eq!(zone("2001:db8:77::1"), Some(ZoneId(1)));
    assert_eq!(zone("203.0.113.200"), None);
}

#[test]
fn each_zone_has_its_own_pool_only_where_the_service_has_zonal_affinity() {
    let state = state(config(FILE));
    let tables = tables(&state);
    let backends = |name| &state.service(name).expect("known").backends;
    let service = |name| {
        let id = state.service(name).expect("known").id;
        tables.service(id).expect("in the Tables")
    };
    assert!(service("web").zonal.is_empty());
    let dns: Vec<_> = backends("dns").iter().map(|b| b.slot).collect();
    assert_eq!(*service("dns").pool.members, *dns);
    let zonal: Vec<_> = service("dns").zonal.iter().map(|pool| &*pool.members).collect();
    assert_eq!(zonal, [&dns[..1], &dns[1..]]);
}

#[test]
fn weights_share_a_pool_out_only_where_the_service_is_weighted() {
    let shares = |text: &str| {
        let tables = tables(&state(config(text)));
        let pool = &tables.service(ServiceId(0)).expect("web").pool;
        pool.maglev.shares(2)
    };
    let weighted = shares(FILE);
    assert!(weighted[1] > 2 * weighted[0], "{weighted:?}");
    let equal = shares(
        &FILE
            .replace("locality_lb_policy = \"WEIGHTED_MAGLEV\"", "")
            .replace(", weight = 1", "")
            .replace(", weight = 3", ""),
    );
    assert!(equal[0].abs_diff(equal[1]) <= 1 + equal[0] / 10, "{equal:?}");
}

#[test]
fn the_tables_keep_ports_ids_and_templates_and_count_generations() {
    let state = state(config(FILE));
    let mut planner = Planner::default();
    let generations =
        [(); 3].map(|()| planner.tables(&state, &wiring()).expect("buildable").generation);
    assert_eq!(generations, [1, 2, 3]);
    let tables = tables(&state);
    let ports: Vec<_> = tables.ports.iter().map(|p| (&*p.name, p.mac, p.mtu, p.vlan)).collect();
    assert_eq!(ports[0], ("uplink", Mac([2, 0, 0, 0, 1, 0]), 9000, 7));
    assert_eq!(ports[1], ("back", Mac([2, 0, 0, 0, 1, 1]), 1500, 0));
    assert_eq!(wiring().mac(PortId(2)), Mac::default());
    for service in state.services() {
        assert_eq!(tables.service(service.id).expect("there").name, service.config.name);
        for backend in &service.backends {
            assert!(tables.slots.template(backend.slot, Family::V4).is_some());
            assert_eq!(tables.backends.slots(backend.address), [backend.slot]);
        }
    }
}

#[test]
fn rules_of_a_service_that_is_only_draining_are_gone_and_its_templates_stay() {
    let mut state = state(config(&FILE.replace(
        "[[service]]\nname = \"dns\"",
        "[[service]]\nname = \"dns\"\nconnection_draining_timeout = \"30s\"",
    )));
    let gone = state.service("dns").expect("known").clone();
    let mut file = (**state.config()).clone();
    file.services.retain(|s| *s.name != *"dns");
    file.rules.retain(|r| *r.service != *"dns");
    state.apply(&[Change::Reload(Arc::new(file))], NOW).expect("fits");
    let draining = tables(&state);
    let rules: Vec<_> = draining.rules.iter().map(|(_, rule)| rule.service).collect();
    assert_eq!(rules, [state.service("web").expect("known").id]);
    assert!(draining.slots.template(gone.backends[0].slot, Family::V4).is_some());
    assert!(draining.service(gone.id).expect("still drains").pool.members.is_empty());
    state.advance(Duration::from_secs(30));
    assert!(tables(&state).service(gone.id).is_none());
}

/// What each backend was given so far, by `service path address`, after one packet more for each.
fn counted(planner: &mut Planner, state: &State) -> Vec<(String, u64)> {
    let wiring = Wiring { workers: 1, ..wiring() };
    let tables = planner.tables(state, &wiring).expect("buildable");
    let of = |service: &control::state::Service, backend: &control::state::Backend| {
        tables.traffic.by(0).to(backend.slot).expect("counts").add(100, true);
        let load = tables.traffic.load(backend.slot).expect("a load").read();
        assert_eq!((load.packets * 100, load.packets), (load.bytes, load.connections));
        (format!("{} {} {}", service.config.name, backend.path, backend.address), load.packets)
    };
    let all = state.services().flat_map(|s| s.backends.iter().map(move |b| of(s, b)));
    all.collect()
}

#[test]
fn a_backends_counters_go_on_over_reloads_and_a_slot_that_is_taken_again_starts_at_zero() {
    let mut state = state(config(FILE));
    let mut planner = Planner::default();
    let first = counted(&mut planner, &state);
    assert!(first.iter().all(|(_, packets)| *packets == 1), "{first:?}");
    assert!(counted(&mut planner, &state).iter().all(|(_, packets)| *packets == 2));
    let slots = |state: &State| {
        let backends = state.services().flat_map(|s| &s.backends);
        backends.map(|b| b.slot).collect::<std::collections::BTreeSet<_>>()
    };
    let before = slots(&state);
    // The first backend moves: one that goes and, in its slot, one that comes.
    let mut file = (**state.config()).clone();
    let moved = &mut file.services[0].groups[0].backends[0];
    let (name, old) = (moved.name.clone(), moved.address);
    moved.address = address("10.9.9.9");
    let whole = Arc::new(file);
    let mut without = (*whole).clone();
    without.services[0].groups[0].backends.remove(0);
    state.apply(&[Change::Reload(Arc::new(without))], NOW).expect("fits");
    let fewer = counted(&mut planner, &state);
    assert!(fewer.iter().all(|(_, packets)| *packets == 3), "{fewer:?}");
    state.apply(&[Change::Reload(whole)], NOW).expect("fits");
    assert_eq!(slots(&state), before, "the slot is taken again");
    let last = counted(&mut planner, &state);
    let (new, others): (Vec<_>, Vec<_>) =
        last.iter().partition(|(who, _)| who.ends_with(" 10.9.9.9"));
    assert!(matches!(new[..], [(_, 1)]), "{name}, once at {old}: {last:?}");
    assert!(others.iter().all(|(_, packets)| *packets == 4), "{last:?}");
}
