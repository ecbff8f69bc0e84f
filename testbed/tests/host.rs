//! What is not for a rule: the host interface, closed ports, frames for others (F-4, D-11).

use rustix::process::Signal;
use testbed::Result;
use testbed::address::{FRONT, Family, vip};
use testbed::appliance::{Appliance, Counters};
use testbed::client::refused;
use testbed::config::Config;
use testbed::topology::{Arms, Topology};

fn count(counters: &Counters, outcome: &str) -> u64 {
    counters.get(outcome).copied().unwrap_or(0)
}

#[test]
fn the_host_answers_arp_neighbour_discovery_and_ping_for_the_ports_addresses() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let mut appliance = Appliance::start(&topology, &Config::new(&topology))?;
    let mac = topology.appliance.mac("lb0")?;
    for address in FRONT {
        let ping = topology.client.run(&format!("ping -n -c 3 -i 0.2 -W 2 {address}"))?;
        assert!(ping.contains(" 0% packet loss"), "{ping}");
        assert!(!ping.contains("DUP"), "the kernel under the port answers too: {ping}");
        let neighbour = topology.client.ip(&format!("neighbour show {address} dev front0"))?;
        assert!(neighbour.contains(&mac), "{neighbour} is not {mac}");
    }
    assert!(count(&appliance.counters()?, "host") >= 8, "two resolutions and six pings");
    appliance.stop(Signal::TERM)?;
    Ok(())
}

#[test]
fn a_closed_port_of_a_vip_is_dropped_by_name_and_never_reaches_the_host() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let mut appliance = Appliance::start(&topology, &Config::new(&topology))?;
    for family in Family::BOTH {
        let before = appliance.counters()?;
        assert!(refused(&topology.client, vip(family, family), 81)?);
        let after = appliance.counters()?;
        assert!(count(&after, "vip_no_rule") > count(&before, "vip_no_rule"), "{after:?}");
    }
    appliance.stop(Signal::TERM)?;
    Ok(())
}

#[test]
fn a_frame_for_another_host_is_counted_and_goes_nowhere() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let appliance = Appliance::start(&topology, &Config::new(&topology))?;
    let stranger = "10.0.1.99 lladdr 02:00:00:00:00:99 dev front0";
    topology.client.ip(&format!("neighbour add {stranger}"))?;
    let lost = topology.client.run("ping -n -c 3 -i 0.2 -W 1 10.0.1.99");
    assert!(lost.is_err(), "somebody answered: {lost:?}");
    let counters = appliance.stop(Signal::TERM)?;
    assert_eq!(count(&counters, "not_our_mac"), 3, "{counters:?}");
    Ok(())
}
