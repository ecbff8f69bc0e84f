//! `windrose doctor` in the appliance's namespace: faults are found, cured as it says, and gone.

use std::process::Output;

use rustix::process::Signal;
use testbed::address::{Family, vip};
use testbed::appliance::Appliance;
use testbed::cleanup::Directory;
use testbed::config::Config;
use testbed::process::binary;
use testbed::topology::{Arms, Topology};
use testbed::trunk::Switch;
use testbed::{Error, Result};

fn doctor(topology: &Topology, config: &Config) -> Result<(i32, String)> {
    let directory = Directory::new()?;
    let file = directory.path().join("windrose.toml");
    let unexpected = |error: std::io::Error| Error::Unexpected(error.to_string());
    std::fs::write(&file, config.to_string()).map_err(unexpected)?;
    let (windrose, file) = (binary("windrose")?, file.display().to_string());
    let line = format!("{} doctor --config {file}", windrose.display());
    let Output { status, stdout, .. } =
        topology.appliance.command(&line).output().map_err(unexpected)?;
    Ok((status.code().unwrap_or(-1), String::from_utf8_lossy(&stdout).into_owned()))
}

#[test]
fn faults_of_a_machine_are_found_with_their_cures_which_cure_them() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let config = Config::new(&topology);
    let (code, said) = doctor(&topology, &config)?;
    assert_eq!(code, 0, "{said}");

    let vip = vip(Family::V4, Family::V4);
    topology.appliance.ip(&format!("address add {vip}/32 dev lo"))?;
    topology.appliance.ip("link set lb1 mtu 1500")?;
    topology.appliance.ip("link set lb1 down")?;
    let (code, said) = doctor(&topology, &config)?;
    assert_eq!(code, 1, "{said}");
    let expected = [
        "ip address flush dev lo to 203.0.113.10",
        "ip link set lb1 mtu 1600",
        "ip link set lb1 up",
    ];
    for cure in expected {
        assert!(said.contains(&format!("cure: {cure}")), "{cure}: {said}");
        topology.appliance.run(cure)?;
    }
    assert!(said.ends_with("3 errors, 0 warnings; windrose is not running\n"), "{said}");
    let (code, said) = doctor(&topology, &config)?;
    assert_eq!(code, 0, "{said}");
    Ok(())
}

#[test]
fn while_it_runs_a_next_hop_that_nobody_has_is_found() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let config = Config::new(&topology);
    let appliance = Appliance::start(&topology, &config)?;
    let (code, said) = doctor(&topology, &config)?;
    assert_eq!((code, &*said), (0, "nothing is wrong; windrose is running\n"));
    // Its start has made the kernel under the ports quiet; somebody undoes it.
    topology.appliance.set("ipv4/conf/lb0/arp_ignore", 0)?;
    let (code, said) = doctor(&topology, &config)?;
    let cure = "sysctl -w net.ipv4.conf.lb0.arp_ignore=8";
    assert!(code == 1 && said.contains(&format!("cure: {cure}")), "{said}");
    topology.appliance.run(&cure.replace("sysctl", "sysctl -q"))?;
    // 10.0.2.16 and 2001:db8:2::16: no host has them, and the file gives no Ethernet address.
    let (code, said) = doctor(&topology, &config.members([0, 5]))?;
    assert_eq!(code, 1, "{said}");
    for address in ["10.0.2.16", "2001:db8:2::16"] {
        assert!(said.contains(&format!("backend {address}")), "{said}");
        assert!(said.contains(&format!("ping -I wr-back {address}")), "{said}");
    }
    appliance.stop(Signal::TERM)?;
    Ok(())
}

#[test]
fn ports_of_one_wire_are_looked_at_like_any_others() -> Result<()> {
    let topology = Topology::new(Arms::Trunk)?;
    let config = Config::new(&topology);
    let (code, said) = doctor(&topology, &config)?;
    let cure = "ethtool -K trunk0 rx off tx off tso off gso off gro off";
    assert!(code == 1 && said.contains(&format!("cure: {cure}")), "{said}");
    topology.appliance.run(cure)?;
    let (code, said) = doctor(&topology, &config)?;
    assert_eq!(code, 0, "{said}");
    let appliance = Appliance::start(&topology, &config)?;
    let (code, said) = doctor(&topology, &config)?;
    assert_eq!((code, &*said), (0, "nothing is wrong; windrose is running\n"));
    topology.appliance.ip("link set trunk0 mtu 1400")?;
    let (code, said) = doctor(&topology, &config)?;
    assert!(code == 1 && said.contains("ip link set trunk0 mtu"), "{said}");
    appliance.stop(Signal::TERM)?;
    Ok(())
}

/// Every kind of fault that a member can have; each is told once, though the bond is two ports.
#[test]
fn faults_of_a_bonds_members_are_found_once_each_with_cures_that_cure_them() -> Result<()> {
    let topology = Topology::bonded(Arms::Trunk, [1500, 1600], Switch::Lag)?;
    let mut config = Config::bonded(&topology, "balance-xor");
    let wires = ["trunk0", "trunk1"];
    let sees = |what: &str, cure: &str, config: &Config| -> Result<()> {
        let (code, said) = doctor(&topology, config)?;
        let lines = said.lines().filter(|line| line.contains(what)).count();
        assert!(code == 1 && lines == 1, "{what}: {lines} times in {said}");
        assert!(said.contains(&format!("cure: {cure}")), "{cure}: {said}");
        Ok(())
    };
    for wire in wires {
        let cure = format!("ethtool -K {wire} rx off tx off tso off gso off gro off");
        sees(&format!("ports front, back (bond0): {wire} joins"), &cure, &config)?;
        topology.appliance.run(&cure)?;
    }
    assert_eq!(doctor(&topology, &config)?.0, 0);

    // What is done, what is said of it, and the command that helps, or what it begins with.
    let faults = [
        (
            "ip link set trunk1 down",
            "warning: ports front, back (bond0): interface trunk1 is down",
            "ip link set trunk1 up",
        ),
        (
            "ip link set trunk1 mtu 1500",
            "mtu = 1600, but interface trunk1 has 1500",
            "ip link set trunk1 mtu 1600",
        ),
        (
            "ip address add 192.0.2.77/24 dev trunk1",
            "member trunk1 has 192.0.2.77 of its own",
            "ip address flush dev trunk1 scope global",
        ),
        (
            "ip link set trunk1 master kernels",
            "kernels of the kernel is on top of trunk1",
            "ip link set trunk1 nomaster",
        ),
    ];
    topology.appliance.ip("link add kernels type bridge")?;
    for (fault, what, cure) in faults {
        topology.appliance.run(fault)?;
        sees(what, cure, &config)?;
        topology.appliance.run(cure)?;
        let (code, said) = doctor(&topology, &config)?;
        assert_eq!(code, 0, "{fault}: {said}");
    }
    topology.appliance.ip("link del kernels")?;

    topology.appliance.run("ethtool -s trunk1 speed 100 duplex full")?;
    topology.appliance.run("ethtool -s trunk0 speed 1000 duplex full")?;
    sees("not equally fast (Mbit/s): trunk0 1000, trunk1 100", "members of one speed", &config)?;
    config.bond = Some("active-backup");
    let (code, said) = doctor(&topology, &config)?;
    assert_eq!(code, 0, "there it does not matter: {said}");

    let appliance = Appliance::start(&topology, &config)?;
    let (code, said) = doctor(&topology, &config)?;
    assert_eq!((code, &*said), (0, "nothing is wrong; windrose is running\n"));
    appliance.stop(Signal::TERM)?;

    topology.appliance.ip("link set trunk1 down")?;
    topology.appliance.ip("link set trunk1 name other1")?;
    sees("there is no interface trunk1", "name one that there is: ", &config)?;
    Ok(())
}
