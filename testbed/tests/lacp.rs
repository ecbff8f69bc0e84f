//! LACP against the kernel's own bond, in a guest.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use testbed::address::FRONT;
use testbed::appliance::Appliance;
use testbed::config::Config;
use testbed::guest::Guest;
use testbed::topology::{Arms, Topology};
use testbed::{Error, Result};

const BOND: &str = "set -e
modprobe bonding max_bonds=0
ip link add bond0 type bond mode 802.3ad lacp_rate fast miimon 100
for card in eth2 eth3; do ip link set $card down; ip link set $card master bond0; done
ip link set bond0 up
ip address add 10.0.1.9/24 dev bond0
";

/// DPDK asks the other end for a frame every 30 s and takes it for gone after 90 s of silence; there is
/// no way to have it ask for more.
const SILENCE: Duration = Duration::from_secs(90);

/// Runs a script in the guest until it ends well.
fn until(guest: &Guest, topology: &Topology, script: &str) -> Result<()> {
    let ends = Instant::now() + SILENCE + Duration::from_secs(30);
    loop {
        let said = guest.run(&topology.client, script)?;
        if said.code == 0 {
            return Ok(());
        }
        if Instant::now() > ends {
            let bond = guest.run(&topology.client, "cat /proc/net/bonding/bond0")?.text;
            return Err(Error::Unexpected(format!("`{script}`: {}\n{bond}", said.text)));
        }
    }
}

#[test]
#[cfg_attr(no_guest, ignore = "no guest for qemu: testbed/setup.sh makes it")]
fn the_kernels_bond_takes_both_members_and_goes_on_with_one() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let guest = Guest::boot_with_cards(&topology, 2)?;
    for card in ["guest2", "guest3"] {
        topology.fabric.ip(&format!("link set {card} netns {}", topology.appliance.name()))?;
        topology.appliance.ip(&format!("link set {card} mtu 1600 up"))?;
    }
    let config = Config::new(&topology).to_string().replace(
        "device = \"net_af_packet0,iface=lb0,qpairs=1\"",
        "device = \"bond0\"\nbond = \"lacp\"\n\
         members = [\"net_af_packet0,iface=guest2\", \"net_af_packet2,iface=guest3\"]",
    );
    // Each member's buffers are a queue's.
    let config = config.replace("memory = \"128M\"", "memory = \"256M\"");
    let partner = topology.appliance.mac("guest2")?;
    let appliance = Appliance::start(&topology, &config)?;
    let said = guest.run(&topology.client, BOND)?;
    assert_eq!(said.code, 0, "{}", said.text);

    let both = format!(
        "grep -q 'Number of ports: 2' /proc/net/bonding/bond0 && \
         grep -q 'Partner Mac Address: {partner}' /proc/net/bonding/bond0"
    );
    let ping = format!("ping -c 3 -W 1 {} | grep -q ' 0% packet loss'", FRONT[0]);
    until(&guest, &topology, &both)?;
    until(&guest, &topology, &ping)?;

    // The kernel's end finds it out in 3 s, for that is how often it asks for a frame; ours by
    // `SILENCE`. The worker, idle or not, has kept the other one alive.
    topology.appliance.ip("link set guest2 down")?;
    until(&guest, &topology, "grep -q 'Number of ports: 1' /proc/net/bonding/bond0")?;
    until(&guest, &topology, &ping)?;
    appliance.stop(Signal::TERM)?;
    Ok(())
}
