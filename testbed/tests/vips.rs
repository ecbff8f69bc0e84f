//! VIPs on the clients' own segment: ARP and neighbour discovery.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use testbed::address::FRONT;
use testbed::appliance::Appliance;
use testbed::client::ask;
use testbed::config::Config;
use testbed::netns::Namespace;
use testbed::stall::Stalled;
use testbed::topology::{Arms, Topology};
use testbed::trunk::Switch;
use testbed::{Error, Result};

const VIPS: [&str; 2] = ["10.0.1.100", "2001:db8:1::100"];
const STRANGER: &str = "02:00:00:00:00:99";

fn rule(vip: &str, service: &str) -> String {
    format!(
        "[[forwarding_rule]]\nname = \"at-{vip}\"\naddress = \"{vip}\"\nprotocol = \"TCP\"\n\
         ports = [80]\nservice = \"{service}\"\n"
    )
    .replacen(&format!("at-{vip}"), &format!("at-{}", vip.replace([':', '.'], "-")), 1)
}

fn with_vips(topology: &Topology) -> Result<Config> {
    VIPS.iter().try_for_each(|vip| topology.add_vip(vip.parse().expect("an address")))?;
    let more = rule(VIPS[0], "web-v4") + &rule(VIPS[1], "web-v6");
    Ok(Config { more, ..Config::new(topology) })
}

/// What the client believes.
fn neighbour(client: &Namespace, address: &str) -> Result<String> {
    client.ip(&format!("neighbour show {address} dev front0"))
}

/// Waits until the client believes something.
fn believes(client: &Namespace, address: &str, mac: &str) -> Result<()> {
    let ends = Instant::now() + Duration::from_secs(10);
    while !neighbour(client, address)?.contains(mac) {
        assert!(Instant::now() < ends, "{address}: {}", neighbour(client, address)?);
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

#[test]
fn a_vip_in_the_ports_prefix_is_resolved_and_served() -> Result<()> {
    for arms in [Arms::Two, Arms::One] {
        let topology = Topology::new(arms)?;
        is_resolved_and_served(&topology, &with_vips(&topology)?, "lb0")?;
    }
    Ok(())
}

/// A client takes an advertisement that answers what it asked everybody only with the target
/// link-layer option (RFC 4861, section 7.2.5).
#[test]
fn a_vip_in_the_prefix_of_a_vlan_or_a_bond_is_resolved_and_served() -> Result<()> {
    let topology = Topology::new(Arms::Trunk)?;
    is_resolved_and_served(&topology, &with_vips(&topology)?, "trunk0")?;
    drop(topology);
    for (bond, switch) in [("balance-xor", Switch::Lag), ("active-backup", Switch::Flood)] {
        let topology = Topology::bonded(Arms::Trunk, [1500, 1600], switch)?;
        let Config { more, .. } = with_vips(&topology)?;
        let config = Config { more, ..Config::bonded(&topology, bond) };
        is_resolved_and_served(&topology, &config, "trunk0")?;
    }
    Ok(())
}

fn is_resolved_and_served(topology: &Topology, config: &Config, device: &str) -> Result<()> {
    let mut appliance = Appliance::start(topology, config)?;
    // From its first look on, a moment after the start, it answers.
    appliance.counters()?;
    let mac = topology.appliance.mac(device)?;
    for vip in VIPS {
        for _ in 0..20 {
            ask(&topology.client, vip.parse().expect("an address"))?;
        }
        believes(&topology.client, vip, &mac)?;
    }
    // Whether it is still there is asked of the address itself.
    for vip in VIPS {
        let probe = format!("neighbour replace {vip} lladdr {mac} dev front0 nud probe");
        topology.client.ip(&probe)?;
        believes(&topology.client, vip, "REACHABLE")?;
    }
    // For what is nobody's it answers nothing.
    for nobody in ["10.0.1.77", "2001:db8:1::77"] {
        assert!(!is_found(&topology.client, nobody)?, "{nobody}");
    }
    let groups = topology.appliance.ip("maddress show dev wr-front")?;
    assert!(groups.contains("ff02::1:ff00:100"), "for switches that snoop: {groups}");
    appliance.stop(Signal::TERM)?;
    Ok(())
}

#[test]
fn the_segment_is_told_at_the_start_when_the_link_comes_up_and_when_a_vip_is_new() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let (client, mac) = (&topology.client, topology.appliance.mac("lb0")?);
    let mistake = |address: &str| {
        client.ip(&format!("neighbour replace {address} lladdr {STRANGER} dev front0 nud stale"))
    };
    let (all, none) = (with_vips(&topology)?, Config::new(&topology));
    let everything = ["10.0.1.1", VIPS[0], VIPS[1]];

    for address in everything {
        mistake(address)?;
    }
    let mut appliance = Appliance::start(&topology, &all)?;
    for address in everything {
        believes(client, address, &mac)?;
    }

    topology.appliance.ip("link set lb0 down")?;
    appliance.wait_for_log("link is down")?;
    for address in everything {
        mistake(address)?;
    }
    topology.appliance.ip("link set lb0 up")?;
    for address in everything {
        believes(client, address, &mac)?;
    }

    appliance.reload(&none)?;
    // The last of the announcements has been made.
    std::thread::sleep(Duration::from_secs(3));
    for vip in VIPS {
        mistake(vip)?;
    }
    appliance.reload(&all)?;
    for vip in VIPS {
        believes(client, vip, &mac)?;
    }
    appliance.stop(Signal::TERM)?;
    Ok(())
}

#[test]
fn while_eligible_a_vip_without_an_eligible_backend_is_nobodys() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let config = with_vips(&topology)?;
    let azure = |health: &str| {
        format!(
            "[[service]]\nname = \"azure\"\nprofile = \"azure\"\ninitial_health = \"{health}\"\n\
             group = [{{ name = \"g\", backends = [{{ name = \"b1\", address = \"10.0.2.11\" }}] }}]\n\
             {}",
            rule("10.0.1.101", "azure")
        )
    };
    let with = |announce: &str, health: &str| {
        let text = format!("{config}\n{}", azure(health));
        text.replace("host_interface", &format!("announce_vips = \"{announce}\"\nhost_interface"))
    };
    let cases = [
        ("while-eligible", "unhealthy", false),
        ("while-eligible", "healthy", true),
        ("always", "unhealthy", true),
        ("never", "healthy", false),
    ];
    for (announce, health, expected) in cases {
        let mut appliance = Appliance::start(&topology, &with(announce, health))?;
        appliance.counters()?;
        let _ = topology.client.ip("neighbour flush dev front0");
        let found = topology.client.run("ping -n -c 2 -i 0.5 -W 1 10.0.1.101").is_ok();
        assert_eq!(found, expected, "{announce}, {health}");
        let other = topology.client.run(&format!("ping -n -c 2 -i 0.5 -W 1 {}", VIPS[0])).is_ok();
        assert_eq!(other, announce != "never", "{announce}: the other VIP");
        appliance.stop(Signal::TERM)?;
    }
    Ok(())
}

#[test]
fn somebody_else_with_one_of_our_addresses_is_named_in_the_log() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let (client, config) = (&topology.client, with_vips(&topology)?);
    // Who has an address says so when his Ethernet address is set anew.
    client.set("ipv4/conf/front0/arp_notify", 1)?;
    client.set("ipv6/conf/front0/ndisc_notify", 1)?;
    let mac = client.mac("front0")?;
    for address in VIPS.into_iter().chain(FRONT) {
        // One is said at a time, in ten seconds.
        let mut appliance = Appliance::start(&topology, &config)?;
        appliance.counters()?;
        let (whole, nodad) = if address.contains(':') { (128, "nodad") } else { (32, "") };
        client.ip(&format!("address add {address}/{whole} dev front0 {nodad}"))?;
        client.ip(&format!("link set front0 address {mac}"))?;
        appliance.wait_for_log(&format!("{address} is also claimed by {mac}"))?;
        client.ip(&format!("address delete {address}/{whole} dev front0"))?;
        appliance.stop(Signal::TERM)?;
    }
    Ok(())
}

/// Whether the segment finds out who has an address, asked as by somebody who has never heard of it.
fn is_found(client: &Namespace, address: &str) -> Result<bool> {
    let _ = client.ip("neighbour flush dev front0");
    // Whether it answers to this is of no interest.
    let _ = client.run(&format!("ping -n -c 1 -W 1 {address}"));
    Ok(neighbour(client, address)?.contains("lladdr"))
}

/// A worker that does not go on, while another one still passes on the questions for this VIP.
fn stall(appliance: &Appliance, client: &Namespace, vip: &str) -> Result<Stalled> {
    for worker in ["rte-worker-1", "rte-worker-2"] {
        let stalled = Stalled::thread(appliance.pid(), worker)?;
        if is_found(client, vip)? {
            return Ok(stalled);
        }
    }
    Err(Error::Unexpected(format!("no worker passes on who asks for {vip}")))
}

#[test]
fn a_vip_is_nobodys_while_a_worker_stands_still_and_ours_again_when_it_goes_on() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let config = Config { workers: vec![0, 1], ..with_vips(&topology)? };
    let (client, mac) = (&topology.client, topology.appliance.mac("lb0")?);
    for vip in VIPS {
        let mut appliance = Appliance::start(&topology, &config)?;
        appliance.counters()?;
        assert!(is_found(client, vip)?, "{vip}");
        let stalled = stall(&appliance, client, vip)?;
        appliance.wait_for_log("VIPs are announced no more")?;
        assert!(!is_found(client, vip)?, "{vip} is still answered for");
        drop(stalled);
        appliance.wait_for_log("VIPs are announced again")?;
        assert!(is_found(client, vip)?, "{vip}");
        believes(client, vip, &mac)?;
        ask(client, vip.parse().expect("an address"))?;
        appliance.stop(Signal::TERM)?;
    }
    Ok(())
}
