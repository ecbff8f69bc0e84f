//! Ethernet addresses that appear, move, go, and belong to two.

use rustix::process::Signal;
use testbed::Result;
use testbed::address::{Family, vips};
use testbed::appliance::Appliance;
use testbed::client::ask;
use testbed::router::{Router, at};
use testbed::topology::{Arms, Topology};

use crate::world::*;

#[test]
fn without_neighbours_in_the_file_the_kernel_finds_them_and_the_first_packet_waits() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let mut appliance = Appliance::start(&topology, &config(&topology))?;
    for _ in 0..10 {
        ask(&topology.client, vip(Family::V4))?;
    }
    // IPv6 needs a moment: a new interface has no address of its own to ask from.
    appliance.wait_for_log("next hop 2001:db8:2::13 is at")?;
    for vip in vips() {
        ask(&topology.client, vip)?;
    }
    let kept = topology.appliance.ip("neighbour show dev wr-back")?;
    for host in ["10.0.2.11", "10.0.2.12", "10.0.2.13", "2001:db8:2::11"] {
        let line = kept.lines().find(|line| line.starts_with(host)).unwrap_or_default();
        assert!(line.contains("lladdr") && line.contains("managed"), "{host}: {kept}");
    }
    let counters = appliance.stop(Signal::TERM)?;
    assert_eq!(count(&counters, "next_hop_unresolved"), 0, "{counters:?}");
    Ok(())
}

/// A router, and a route of each family to the far backends by it.
fn led(topology: &Topology, name: &str) -> Result<Router> {
    let router = Router::new(topology, name, &[254])?;
    for family in Family::BOTH {
        let way = format!("via {} dev wr-back", router.address(family));
        route(topology, family, "add", &way)?;
        answered(topology, family)?;
    }
    Ok(router)
}

#[test]
fn a_gateway_that_changes_its_ethernet_address_is_followed() -> Result<()> {
    let (topology, mut appliance) = far_away()?;
    let router = led(&topology, "r1")?;
    let moved = "02:00:00:00:fe:01";
    router.namespace.ip(&format!("link set eth0 address {moved}"))?;
    for family in Family::BOTH {
        let gateway = router.address(family);
        appliance.wait_for_log(&format!("next hop {gateway} is at {moved}"))?;
        answered(&topology, family)?;
    }
    appliance.stop(Signal::TERM)?;
    Ok(())
}

/// `ip neighbour replace`, as an operator who knows better.
fn fix(topology: &Topology, gateway: std::net::IpAddr, mac: &str) -> Result<()> {
    let line = format!("neighbour replace {gateway} dev wr-back lladdr {mac} nud permanent");
    topology.appliance.ip(&line).map(drop)
}

#[test]
fn an_operators_static_neighbour_wins_and_stays_when_nothing_leads_there_any_more() -> Result<()> {
    let (topology, mut appliance) = far_away()?;
    let router = led(&topology, "r1")?;
    let (right, wrong) = (router.namespace.mac("eth0")?, "02:00:00:00:00:99");
    for family in Family::BOTH {
        let gateway = router.address(family);
        // The router goes on saying who it is.
        fix(&topology, gateway, wrong)?;
        silent(&topology, family)?;
        fix(&topology, gateway, &right)?;
        answered(&topology, family)?;
        route(&topology, family, "delete", "")?;
        let cut = format!("no route leads to backend {}", testbed::address::far(family, 0));
        appliance.wait_for_log(&cut)?;
        // Next hops that are out of use are given up within a round.
        std::thread::sleep(std::time::Duration::from_secs(1));
        let kept = topology.appliance.ip(&format!("neighbour show {gateway} dev wr-back"))?;
        assert!(kept.contains(&format!("lladdr {right} PERMANENT")), "{gateway}: {kept}");
    }
    appliance.stop(Signal::TERM)?;
    Ok(())
}

#[test]
fn a_gateway_that_goes_is_counted_and_one_that_returns_is_used() -> Result<()> {
    let (topology, mut appliance) = far_away()?;
    impatient(&topology.appliance)?;
    let router = led(&topology, "r1")?;
    router.namespace.ip("link set eth0 down")?;
    for family in Family::BOTH {
        appliance.wait_for_log(&format!("next hop {}, last at", router.address(family)))?;
        unresolved(&topology, family, &mut appliance)?;
    }
    router.namespace.ip("link set eth0 up")?;
    router.lead()?;
    for family in Family::BOTH {
        let after = answered(&topology, family)?;
        println!("{family:?}: answered {} ms after the gateway was back", after.as_millis());
    }
    appliance.stop(Signal::TERM)?;
    Ok(())
}

#[test]
fn two_machines_with_the_gateways_address_are_told_of() -> Result<()> {
    let (topology, mut appliance) = far_away()?;
    impatient(&topology.appliance)?;
    let router = led(&topology, "r1")?;
    let thief = Router::new(&topology, "r2", &[254])?;
    for _ in 0..4 {
        for machine in [&thief, &router] {
            // With an Ethernet address set anew it says whose the other one is.
            let mac = machine.namespace.mac("eth0")?;
            machine.namespace.ip(&format!("link set eth0 address {mac}"))?;
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
    }
    for family in Family::BOTH {
        let gateway = at(family, 254);
        let complaint = format!("next hop {gateway} changes its Ethernet address again and again");
        appliance.wait_for_log(&complaint)?;
        answered(&topology, family)?;
    }
    appliance.stop(Signal::TERM)?;
    Ok(())
}

/// A lost first packet comes again after a second, when these probes are over.
#[test]
fn at_the_start_checks_wait_until_neighbours_are_known() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let check = "initial_health = \"unhealthy\"\nhealth_check = { protocol = \"TCP\", port = 80, \
                 interval = \"60s\", timeout = \"900ms\" }";
    let config = config(&topology).to_string().replace("initial_health = \"healthy\"", check);
    let appliance = Appliance::start(&topology, &config)?;
    // A new interface has no address of IPv6 to ask from for about that long.
    for name in ["rack/b1 ", "rack/b2 ", "rack/b3 "] {
        appliance.wait_for_line(0, &["health changed", "web-v4", name, "to=\"healthy\""])?;
    }
    appliance.stop(Signal::TERM)?;
    Ok(())
}
