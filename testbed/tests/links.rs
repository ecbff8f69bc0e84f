//! What ports are made of: VLANs of one wire (N-4), bonds, large MTUs.

use std::time::{Duration, Instant};

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
fn a_bond_goes_on_over_its_other_member_when_one_is_cut() -> Result<()> {
    let topology = Topology::new(Arms::One)?;
    topology.plug_again("lb1")?;
    let config = Config::new(&topology).to_string().replace(
        "device = \"net_af_packet0,iface=lb0,qpairs=1\"",
        "device = \"bond0\"\nbond = \"active-backup\"\n\
         members = [\"net_af_packet0,iface=lb0\", \"net_af_packet1,iface=lb1\"]",
    );
    let mut appliance = Appliance::start(&topology, &config)?;
    let vip = vip(Family::V4, Family::V4);
    ask(&topology.client, vip)?;
    let mut open = Connection::open(&topology.client, vip)?;
    let backend = open.who()?;

    // The names that the testbed gives the switch's ends of `lb0` and `lb1`.
    for (cut, goes_on_over) in
        [("appliance0", "net_af_packet1,iface=lb1"), ("appliance1", "net_af_packet0,iface=lb0")]
    {
        topology.fabric.ip(&format!("link set {cut} down"))?;
        appliance.wait_for_log(&format!("the bond goes on over {goes_on_over}"))?;
        answers_again(&topology, vip)?;
        assert_eq!(open.who()?, backend, "a connection survives");
        topology.fabric.ip(&format!("link set {cut} up"))?;
    }
    appliance.stop(Signal::TERM)?;
    Ok(())
}

/// Packets that were on their way to the dead member are sent again by TCP.
fn answers_again(topology: &Topology, vip: std::net::IpAddr) -> Result<()> {
    let ends = Instant::now() + Duration::from_secs(15);
    loop {
        match ask(&topology.client, vip) {
            Ok(_) => return Ok(()),
            Err(error) if Instant::now() > ends => return Err(error),
            Err(_) => {}
        }
    }
}

#[test]
fn jumbo_frames_pass_a_port_of_mtu_9000_and_a_larger_one_behind_it() -> Result<()> {
    let topology = Topology::with_mtus(Arms::Two, [9000, 9100])?;
    let config = Config { memory: "512M", ..Config::new(&topology) };
    let appliance = Appliance::start(&topology, &config)?;
    for family in Family::BOTH {
        let vip = vip(family, family);
        let (name, body) = (format!("jumbo-{}", family.digit()), noise(5_000_000));
        Connection::open(&topology.client, vip)?.upload(&name, &body)?;
        let backend = topology.backends.iter().find(|b| b.has_upload(&name));
        let backend = backend.ok_or_else(|| Error::Unexpected(format!("nobody has {name}")))?;
        assert!(backend.upload(&name)? == body, "other bytes");
        let ping = format!("ping -n -c 2 -i 0.2 -W 2 -M do -s 8900 {}", FRONT[family as usize]);
        assert!(topology.client.run(&ping)?.contains(" 0% packet loss"), "to the host");
    }
    let counters = appliance.stop(Signal::TERM)?;
    let forwarded = counters.get("forwarded").copied().unwrap_or(0);
    // 10 MB in segments of 1,460 bytes would be 6,850 packets.
    assert!(forwarded < 5000, "large packets stayed large: {counters:?}");
    for named in ["rx_truncated", "too_big", "oversize_frame"] {
        assert_eq!(counters.get(named), None, "{counters:?}");
    }
    Ok(())
}
