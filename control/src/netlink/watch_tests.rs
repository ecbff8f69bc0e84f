//! Files and pictures → ways, and what of them is news.

use std::sync::Arc;

use netlink_packet_route::RouteNetlinkMessage as Inner;
use netlink_packet_route::neighbour::NeighbourState;
use tables::Mac;

use super::mirror::Mirror;
use super::tests::{answer, link, neighbour, route, usual};
use super::watch::{Notice, Wanted, Watch};
use crate::config::{self, Environment};
use crate::model::Config;
use crate::plan::wiring::{NextHop, ways};

const FILE: &str = r#"
[[port]]
name = "a"
device = "net_null0"
addresses = ["10.0.1.1/24"]
gateways = ["10.0.1.253"]
host_interface = "wr-a"
neighbours = { "10.0.1.9" = "02:00:00:00:00:09" }
[[port]]
name = "plain"
device = "net_null1"
addresses = ["10.9.0.1/16"]
gateways = ["10.9.0.254"]
neighbours = { "10.9.0.254" = "02:00:00:00:00:fe" }
[[port]]
name = "b"
device = "net_null2"
addresses = ["10.0.2.1/24"]
host_interface = "wr-b"
"#;

fn config() -> Arc<Config> {
    let loaded = config::parse("windrose.toml", FILE, &Environment::default());
    Arc::new(loaded.expect("valid").config)
}

fn mirror(all: &[Inner]) -> Mirror {
    let mut mirror = Mirror::new(["wr-a", "", "wr-b"]);
    let request = mirror.start();
    answer(&mut mirror, request, all);
    mirror
}

/// `port neighbour * weight = MAC`, `!` where the kernel is asked.
fn told(config: &Config, mirror: Option<&Mirror>, to: &str) -> String {
    let network = mirror.and_then(Mirror::network);
    let hop = |hop: &NextHop| {
        let mac = hop.mac.map_or("?".into(), |mac| format!("{:02x}", mac.0[5]));
        let asked = if hop.asked { "!" } else { "" };
        format!("{} {}*{}={mac}{asked}", hop.port.0, hop.neighbour, hop.weight)
    };
    let ways = ways(config, network, to.parse().expect(to));
    ways.hops.iter().map(hop).collect::<Vec<_>>().join(", ")
}

#[test]
fn the_kernel_decides_behind_host_interfaces_and_the_file_elsewhere() {
    let config = config();
    let mut all = usual();
    let more = [
        Inner::NewRoute(route("10.9.7.0/24", &[(8, Some("10.0.2.7"), 1)], 0)),
        Inner::NewRoute(route("10.8.0.0/15", &[(8, Some("10.0.2.8"), 1)], 0)),
        Inner::NewNeighbour(neighbour(7, "10.0.1.9", NeighbourState::Reachable, Some(0x77))),
        Inner::NewNeighbour(neighbour(7, "10.0.1.253", NeighbourState::Stale, Some(0x53))),
    ];
    all.extend(more);
    let up = mirror(&all);
    for (to, before, with_kernel) in [
        // On link: before the kernel is known the file says so.
        ("10.0.1.8", "0 10.0.1.8*1=?!", "0 10.0.1.8*1=?!"),
        ("10.0.1.254", "0 10.0.1.254*1=?!", "0 10.0.1.254*1=54!"),
        // Static neighbours win.
        ("10.0.1.9", "0 10.0.1.9*1=09", "0 10.0.1.9*1=09"),
        // A route that only the kernel has.
        ("10.1.0.1", "0 10.0.1.253*1=?!", "0 10.0.1.254*1=54!"),
        ("10.2.0.1", "0 10.0.1.253*1=?!", "0 10.0.1.2*3=?!, 2 10.0.2.2*1=?!"),
        // The longest prefix, whoever has it.
        ("10.9.0.9", "1 10.9.0.9*1=?", "1 10.9.0.9*1=?"),
        ("10.9.7.9", "1 10.9.7.9*1=?", "2 10.0.2.7*1=?!"),
        // What has no route goes through the file's gateway.
        ("192.0.2.1", "0 10.0.1.253*1=?!", "0 10.0.1.253*1=53!"),
    ] {
        assert_eq!(told(&config, None, to), before, "{to}");
        assert_eq!(told(&config, Some(&up), to), with_kernel, "{to}");
    }
    // A port that is down is not gone through, though the file names its gateway first.
    all[1] = link(7, "wr-a", false);
    assert_eq!(told(&config, Some(&mirror(&all)), "192.0.2.1"), "1 10.9.0.254*1=fe");
}

#[test]
fn a_default_route_of_the_kernels_goes_before_the_files_gateways() {
    let mut all = usual();
    all.push(Inner::NewRoute(route("0.0.0.0/0", &[(8, Some("10.0.2.6"), 1)], 0)));
    assert_eq!(told(&config(), Some(&mirror(&all)), "192.0.2.1"), "2 10.0.2.6*1=?!");
}

#[test]
fn only_what_changes_for_a_backend_is_news() {
    let config = config();
    let addresses = ["10.1.0.1", "10.1.0.2", "10.3.0.1"].map(|a| a.parse().expect(a));
    let mut watch = Watch::default();
    let mut wanted = Wanted { config: Some(config), addresses: addresses.into(), version: 0 };
    let mut look = |all: &[Inner]| {
        // A picture of its own each time: only this number tells them apart.
        wanted.version += 1;
        watch.look(&wanted, &mirror(all))
    };
    let mac = |last| Mac([2, 0, 0, 0, 0, last]);
    let [gateway, file] = ["10.0.1.254", "10.0.1.253"].map(|a| a.parse().expect(a));

    let mut all = usual();
    assert_eq!(look(&all), Some(vec![Notice::Resolved(gateway, mac(0x54), None)]));
    assert_eq!(look(&all), None);
    all.push(Inner::NewRoute(route("10.7.0.0/16", &[(8, Some("10.0.2.7"), 1)], 0)));
    assert_eq!(look(&all), None, "no backend is there");
    let state = NeighbourState::Stale;
    all[7] = Inner::NewNeighbour(neighbour(7, "10.0.1.254", state, Some(0x54)));
    assert_eq!(look(&all), None, "the same address");
    all[7] = Inner::NewNeighbour(neighbour(7, "10.0.1.254", state, Some(0x55)));
    let moved = Notice::Resolved(gateway, mac(0x55), Some(mac(0x54)));
    assert_eq!(look(&all), Some(vec![moved]));
    all[7] = Inner::NewNeighbour(neighbour(7, "10.0.1.254", NeighbourState::Failed, None));
    assert_eq!(look(&all), Some(vec![Notice::Lost(gateway, mac(0x55))]));
    all.push(Inner::NewNeighbour(neighbour(7, "10.0.1.253", state, Some(0x53))));
    assert_eq!(look(&all), Some(vec![Notice::Resolved(file, mac(0x53), None)]));
    let mut nowhere = route("10.1.0.0/24", &[(1, None, 1)], 0);
    nowhere.header.kind = netlink_packet_route::route::RouteType::BlackHole;
    all.push(Inner::NewRoute(nowhere));
    let cut = ["10.1.0.1", "10.1.0.2"].map(|a| Notice::Cut(a.parse().expect(a)));
    assert_eq!(look(&all), Some(cut.into()));
}

#[test]
fn tables_are_made_of_what_was_news_though_the_picture_is_ahead() {
    let config = config();
    let to = "10.1.0.1".parse().expect("valid");
    let wanted = Wanted { config: Some(Arc::clone(&config)), addresses: [to].into(), version: 1 };
    let mut watch = Watch::default();
    let mut mirror = mirror(&usual());
    assert!(watch.look(&wanted, &mirror).is_some());
    let found = watch.found();
    let told = |found: &super::watch::Found| {
        found.ways(&config, to).and_then(|ways| Some(ways.hops.first()?.neighbour.to_string()))
    };
    assert_eq!(told(&found).as_deref(), Some("10.0.1.254"));
    // A daemon replaces a route by deleting it and adding it again.
    let gone = route("10.1.0.0/16", &[(7, Some("10.0.1.254"), 1)], 0);
    mirror.take(&super::tests::news(Inner::DelRoute(gone.clone())));
    assert_eq!(told(&watch.found()).as_deref(), Some("10.0.1.254"));
    mirror.take(&super::tests::news(Inner::NewRoute(gone)));
    assert_eq!(watch.look(&wanted, &mirror), None);
    // For another file nothing was found yet, and finding it is news, whatever it is.
    let other = self::config();
    assert!(found.ways(&other, to).is_none());
    let wanted = Wanted { config: Some(other), version: 2, ..wanted };
    assert_eq!(watch.look(&wanted, &mirror), Some(vec![]));
}
