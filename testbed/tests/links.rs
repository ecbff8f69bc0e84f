//! What ports are made of: VLANs of one wire (N-4), large MTUs. Bonds are in `bonds.rs`.

use rustix::process::Signal;
use testbed::address::{FRONT, Family, vip, vips};
use testbed::appliance::{Appliance, TOTAL};
use testbed::client::{Connection, ask, noise};
use testbed::config::Config;
use testbed::topology::{Arms, Topology};
use testbed::{Error, Result};

#[test]
fn two_vlans_of_one_wire_are_two_ports_with_a_host_interface_each() -> Result<()> {
    let topology = Topology::new(Arms::Trunk)?;
    let mut appliance = Appliance::start(&topology, &Config::new(&topology))?;
    for address in FRONT {
        let ping = topology.client.run(&format!("ping -n -c 3 -i 0.2 -W 2 {address}"))?;
        assert!(ping.contains(" 0% packet loss") && !ping.contains("DUP"), "{ping}");
    }
    let back = "ping -n -c 2 -i 0.2 -W 2 10.0.2.11";
    assert!(topology.appliance.run(back)?.contains(" 0% packet loss"), "over the other VLAN");
    for vip in vips() {
        let names = (0..20).map(|_| ask(&topology.client, vip));
        let mut names = names.collect::<Result<Vec<_>>>()?;
        names.sort();
        names.dedup();
        assert!(names.len() > 1, "{vip}: {names:?}");
    }
    let before = appliance.counters()?;
    assert_eq!(before.get("wrong_vlan"), None, "{before:?}");
    let counters = appliance.stop(Signal::TERM)?;
    assert_eq!(counters.get("received"), counters.get(TOTAL), "{counters:?}");
    Ok(())
}

#[test]
fn a_port_of_another_vlan_hears_nothing_of_it_and_counts_it() -> Result<()> {
    let topology = Topology::new(Arms::Trunk)?;
    let mut config = Config::new(&topology);
    config.ports[0].vlan = 11;
    let appliance = Appliance::start(&topology, &config)?;
    let lost = topology.client.run(&format!("ping -n -c 2 -i 0.2 -W 1 {}", FRONT[0]));
    assert!(lost.is_err(), "{lost:?}");
    let counters = appliance.stop(Signal::TERM)?;
    assert!(counters.get("wrong_vlan").is_some_and(|n| *n > 0), "{counters:?}");
    Ok(())
}

#[test]
fn jumbo_frames_pass_a_port_of_mtu_9000_and_a_larger_one_behind_it() -> Result<()> {
    // Two wires, two VLANs of one, one port for all.
    for arms in [Arms::Two, Arms::Trunk, Arms::One] {
        jumbo_frames_pass(&Topology::with_mtus(arms, [9000, 9100])?)?;
    }
    Ok(())
}

fn jumbo_frames_pass(topology: &Topology) -> Result<()> {
    let arms = topology.arms;
    let config = Config { memory: "512M", ..Config::new(topology) };
    let appliance = Appliance::start(topology, &config)?;
    for family in Family::BOTH {
        let vip = vip(family, family);
        let (name, body) = (format!("jumbo-{}", family.digit()), noise(5_000_000));
        Connection::open(&topology.client, vip)?.upload(&name, &body)?;
        let backend = topology.backends.iter().find(|b| b.has_upload(&name));
        let backend = backend.ok_or_else(|| Error::Unexpected(format!("nobody has {name}")))?;
        assert!(backend.upload(&name)? == body, "{arms:?}: other bytes");
        let ping = format!("ping -n -c 2 -i 0.2 -W 2 -M do -s 8900 {}", FRONT[family as usize]);
        assert!(topology.client.run(&ping)?.contains(" 0% packet loss"), "{arms:?}: to the host");
    }
    let counters = appliance.stop(Signal::TERM)?;
    let forwarded = counters.get("forwarded").copied().unwrap_or(0);
    // 10 MB in segments of 1,460 bytes would be 6,850 packets.
    assert!(forwarded < 5000, "{arms:?}: large packets stayed large: {counters:?}");
    for named in ["rx_truncated", "too_big", "oversize_frame"] {
        assert_eq!(counters.get(named), None, "{arms:?}: {counters:?}");
    }
    Ok(())
}
