//! Ethernet addresses that appear, move, go, and belong to two.

use rustix::process::Signal;
use testbed::Result;
use testbed::address::vips;
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
        ask(&topology.client, VIP())?;
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

#[test]
fn a_gateway_that_changes_its_ethernet_address_is_followed() -> Result<()> {
    let (topology, mut appliance) = far_away()?;
    let router = Router::new(&topology, "r1", &[254])?;
    topology.appliance.ip("route add 10.7.0.0/24 via 10.0.2.254 dev wr-back")?;
    answered(&topology)?;
    let moved = "02:00:00:00:fe:01";
    router.namespace.ip(&format!("link set eth0 address {moved}"))?;
    appliance.wait_for_log(&format!("next hop 10.0.2.254 is at {moved}"))?;
    answered(&topology)?;

    // How soon a worker follows what the kernel knows; printed, not judged.
    let wrong = "neighbour replace 10.0.2.254 dev wr-back lladdr 02:00:00:00:00:99 nud reachable";
    let right = format!("neighbour replace 10.0.2.254 dev wr-back lladdr {moved} nud reachable");
    for round in 0..5 {
        topology.appliance.ip(wrong)?;
        silent(&topology)?;
        topology.appliance.ip(&right)?;
        println!(
            "round {round}: answered {} ms after the kernel knew",
            answered(&topology)?.as_millis()
        );
    }
    appliance.stop(Signal::TERM)?;
    Ok(())
}

#[test]
fn a_gateway_that_goes_is_counted_and_one_that_returns_is_used() -> Result<()> {
    let (topology, mut appliance) = far_away()?;
    impatient(&topology.appliance)?;
    let router = Router::new(&topology, "r1", &[254])?;
    topology.appliance.ip("route add 10.7.0.0/24 via 10.0.2.254 dev wr-back")?;
    answered(&topology)?;
    router.namespace.ip("link set eth0 down")?;
    appliance.wait_for_log("next hop 10.0.2.254, last at")?;
    silent(&topology)?;
    assert!(count(&appliance.counters()?, "next_hop_unresolved") > 0);
    router.namespace.ip("link set eth0 up")?;
    router.lead()?;
    let after = answered(&topology)?;
    println!("answered {} ms after the gateway was back", after.as_millis());
    appliance.stop(Signal::TERM)?;
    Ok(())
}

#[test]
fn two_machines_with_the_gateways_address_are_told_of() -> Result<()> {
    let (topology, mut appliance) = far_away()?;
    impatient(&topology.appliance)?;
    let [router, thief] = ["r1", "r2"].map(|name| Router::new(&topology, name, &[254]));
    let (router, thief) = (router?, thief?);
    topology.appliance.ip(&format!("route add 10.7.0.0/24 via {} dev wr-back", at(254)))?;
    answered(&topology)?;
    for _ in 0..4 {
        for machine in [&thief, &router] {
            // With an Ethernet address set anew it says whose the other one is.
            let mac = machine.namespace.mac("eth0")?;
            machine.namespace.ip(&format!("link set eth0 address {mac}"))?;
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
    }
    appliance.wait_for_log("two machines may have its address")?;
    answered(&topology)?;
    appliance.stop(Signal::TERM)?;
    Ok(())
}
