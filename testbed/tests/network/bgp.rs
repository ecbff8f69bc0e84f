//! BIRD on the host interfaces: its BGP sessions go through the dataplane, the routes that it learns
//! lead to the backends, and its peer learns the VIP from it.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use testbed::bird::Bird;
use testbed::client::ask;
use testbed::netns::Namespace;
use testbed::router::Router;
use testbed::topology::Topology;
use testbed::{Error, Result};

use crate::world::*;

/// A session that is tried again at once.
fn session(name: &str, local: &str, neighbour: &str, more: &str) -> String {
    format!(
        "protocol bgp to_{name} {{ local {local}; neighbor {neighbour}; connect delay time 1; \
         connect retry time 1; error wait time 1, 2; hold time 9; ipv4 {{ {more} }}; }}\n"
    )
}

fn appliance(topology: &Topology) -> Result<Bird> {
    let kernel = "protocol kernel { ipv4 { import none; export where source = RTS_BGP; }; merge paths on; }\n";
    let vip = format!("protocol static own_vip {{ ipv4; route {}/32 blackhole; }}\n", VIP());
    let own = "10.0.1.1 as 64512";
    let front = session(
        "front",
        own,
        "10.0.1.2 as 64513",
        "import none; export where proto = \"own_vip\"; next hop self;",
    );
    let backs = [("first", 254, 64514), ("second", 253, 64515)].map(|(name, host, number)| {
        let neighbour = format!("10.0.2.{host} as {number}");
        session(name, "10.0.2.1 as 64512", &neighbour, "import all; export none;")
    });
    let text = format!("{kernel}{vip}{front}{}", backs.concat());
    Bird::start(&topology.appliance, "10.0.1.1", &text)
}

/// The router in front: it learns where the VIP is.
fn peer(topology: &Topology) -> Result<Bird> {
    let kernel = "protocol kernel { ipv4 { import none; export all; }; }\n";
    let up = session("up", "10.0.1.2 as 64513", "10.0.1.1 as 64512", "import all; export none;");
    Bird::start(&topology.client, "10.0.1.2", &format!("{kernel}{up}"))
}

/// A router of the backends' segment: it says that the far backends are behind it.
fn behind(router: &Router, number: u32) -> Result<Bird> {
    let far = "protocol static far_ones { ipv4; route 10.7.0.0/24 blackhole; }\n";
    let own = format!("{} as {number}", router.address());
    let exports = "import none; export where proto = \"far_ones\"; next hop self;";
    let up = session("up", &own, "10.0.2.1 as 64512", exports);
    Bird::start(&router.namespace, &router.address().to_string(), &format!("{far}{up}"))
}

/// Waits for a route to say something.
fn wait_for_route(namespace: &Namespace, prefix: &str, wanted: &str) -> Result<String> {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        let route = namespace.ip(&format!("route show {prefix}"))?;
        if route.contains(wanted) && wanted.is_empty() == route.trim().is_empty() {
            return Ok(route);
        }
        if Instant::now() > end {
            return Err(Error::Unexpected(format!("{prefix} is `{route}`, not `{wanted}`")));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn bgp_through_the_dataplane_leads_to_the_backends_and_announces_the_vip() -> Result<()> {
    let (topology, mut windrose) = far_away()?;
    let [first, second] =
        [("r1", 254), ("r2", 253)].map(|(name, host)| Router::new(&topology, name, &[host]));
    let (first, second) = (first?, second?);
    topology.client.ip("route delete 203.0.113.0/24")?;
    let vip = VIP().to_string();

    let own = appliance(&topology)?;
    let _peer = peer(&topology)?;
    let [speaks, speaks_too] = [(&first, 64514), (&second, 64515)].map(|(r, n)| behind(r, n));
    let (speaks, speaks_too) = (speaks?, speaks_too?);
    wait_for_route(&topology.client, &vip, "via 10.0.1.1 dev front0 proto bird")?;
    wait_for_route(&topology.appliance, "10.7.0.0/24", "nexthop via 10.0.2.253")?;
    answered(&topology)?;
    let sessions = own.ask(&topology.appliance, "show protocols")?;
    assert_eq!(sessions.matches("Established").count(), 3, "{sessions}");

    // Both routers get their share, and the host's own addresses answer beside it all.
    let before = (first.received()?[0], second.received()?[0]);
    for _ in 0..100 {
        ask(&topology.client, VIP())?;
    }
    let after = (first.received()?[0], second.received()?[0]);
    assert!(
        after.0 > before.0 + 100 && after.1 > before.1 + 100,
        "{before:?} {after:?}\n{}",
        windrose.log()
    );
    let ping = topology.client.run("ping -n -c 3 -i 0.2 -W 2 10.0.1.1")?;
    assert!(ping.contains(" 0% packet loss") && !ping.contains("DUP"), "{ping}");

    // A router that stops speaking is not sent to; the last one that does takes the backends along.
    speaks.kill()?;
    wait_for_route(&topology.appliance, "10.7.0.0/24", "via 10.0.2.253 dev wr-back proto bird")?;
    answered(&topology)?;
    speaks_too.kill()?;
    wait_for_route(&topology.appliance, "10.7.0.0/24", "")?;
    silent(&topology)?;
    windrose.wait_for_log("no route leads to backend 10.7.0.11")?;
    let _speaks_again = behind(&first, 64514)?;
    println!("answered {} ms after a router spoke again", answered(&topology)?.as_millis());

    // Without the session nobody knows the VIP.
    own.kill()?;
    wait_for_route(&topology.client, &vip, "")?;
    windrose.stop(Signal::TERM)?;
    Ok(())
}
