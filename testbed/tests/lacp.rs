//! LACP against the kernel's own bond, in a guest.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use testbed::address::FRONT;
use testbed::appliance::Appliance;
use testbed::config::Config;
use testbed::guest::Guest;
use testbed::topology::{Arms, Topology};
use testbed::{Error, Result};

/// It sends as often as it is asked to: with `slow` it asks for a frame every 30 s itself.
const BOND: &str = "set -e
modprobe bonding max_bonds=0
ip link add bond0 type bond mode 802.3ad lacp_rate fast miimon 100
for card in eth2 eth3; do ip link set $card down; ip link set $card master bond0; done
ip link set bond0 up
ip address add 10.0.1.9/24 dev bond0
modprobe 8021q
ip link add link bond0 name bond0.10 type vlan id 10
ip link set bond0.10 up
ip address add 10.0.9.9/24 dev bond0.10
ip address add 2001:db8:9::9/64 dev bond0.10
";

/// The other VLAN of the bond.
const TAGGED: &str = "[[port]]
name = \"tagged\"
device = \"bond0\"
vlan = 10
addresses = [\"10.0.9.1/24\", \"2001:db8:9::1/64\"]
host_interface = \"wr-tagged\"

[encapsulation]";

/// Less than a member's 90 s of silence with LACP's long timeout.
const PATIENCE: Duration = Duration::from_secs(45);

/// Runs a script in the guest until it ends well.
fn until(guest: &Guest, topology: &Topology, script: &str) -> Result<()> {
    let ends = Instant::now() + PATIENCE;
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

/// Waits until `windrose status` says of each member what is expected.
fn becomes(appliance: &Appliance, members: [&str; 2]) -> Result<()> {
    let ends = Instant::now() + PATIENCE;
    let expected = format!(
        "bond of front+tagged: lacp\n  net_af_packet0,iface=guest2: {}\n  net_af_packet2,iface=guest3: {}\n",
        members[0], members[1]
    );
    loop {
        let told = appliance.tell(&["status"])?;
        if told.contains(&expected) {
            return Ok(());
        }
        if Instant::now() > ends {
            return Err(Error::Unexpected(format!("not {expected}{told}{}", appliance.log())));
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn config(topology: &Topology) -> String {
    let config = Config::new(topology).to_string().replace(
        "device = \"net_af_packet0,iface=lb0,qpairs=1\"",
        "device = \"bond0\"\nbond = \"lacp\"\n\
         members = [\"net_af_packet0,iface=guest2\", \"net_af_packet2,iface=guest3\"]",
    );
    let config = config.replace("[encapsulation]", TAGGED);
    // Each member's buffers are a queue's.
    config.replace("memory = \"128M\"", "memory = \"256M\"")
}

#[test]
#[cfg_attr(no_guest, ignore = "no guest for qemu: testbed/setup.sh makes it")]
fn the_kernels_bond_takes_both_members_and_one_that_is_silent_or_cut_is_left_out() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let guest = Guest::boot_with_cards(&topology, 2)?;
    for card in ["guest2", "guest3"] {
        topology.fabric.ip(&format!("link set {card} netns {}", topology.appliance.name()))?;
        topology.appliance.ip(&format!("link set {card} mtu 1600 up"))?;
    }
    let here = topology.appliance.mac("guest2")?;
    let mut appliance = Appliance::start(&topology, &config(&topology))?;
    becomes(&appliance, ["link up"; 2])?;
    appliance.wait_for_log("link is down")?;
    let said = guest.run(&topology.client, BOND)?;
    assert_eq!(said.code, 0, "{}", said.text);

    let ports = |count| format!("grep -q 'Number of ports: {count}' /proc/net/bonding/bond0");
    let partner = format!("grep -q 'Partner Mac Address: {here}' /proc/net/bonding/bond0");
    let ping = format!("ping -c 3 -W 1 {} | grep -q ' 0% packet loss'", FRONT[0]);
    until(&guest, &topology, &format!("{} && {partner}", ports(2)))?;
    until(&guest, &topology, &ping)?;
    for over in ["10.0.9.1", "2001:db8:9::1"] {
        until(&guest, &topology, &format!("ping -c 3 -W 1 {over} | grep -q ' 0% packet loss'"))?;
    }
    let carries = "link up, carries traffic, LACP with 52:54:00:12:34:12";
    becomes(&appliance, [carries; 2])?;
    appliance.wait_for_log("link is up")?;
    let told = appliance.tell(&["status", "--format", "json"])?;
    let partners = told.matches("52:54:00:12:34:12").count();
    assert_eq!(partners, 4, "of two members, told with either port: {told}");

    // Out of its bond, the card is up and says nothing.
    let alone = "ip link set eth3 nomaster && ip link set eth3 up";
    assert_eq!(guest.run(&topology.client, alone)?.code, 0);
    becomes(&appliance, [carries, "link up"])?;
    until(&guest, &topology, &ping)?;
    let back = "ip link set eth3 down && ip link set eth3 master bond0 && ip link set eth3 up";
    assert_eq!(guest.run(&topology.client, back)?.code, 0);
    becomes(&appliance, [carries; 2])?;

    topology.appliance.ip("link set guest2 down")?;
    until(&guest, &topology, &ports(1))?;
    until(&guest, &topology, &ping)?;
    let told = appliance.tell(&["status"])?;
    assert!(told.contains("guest2: link DOWN"), "{told}");
    assert!(told.contains(&format!("guest3: {carries}")), "{told}");
    appliance.stop(Signal::TERM)?;
    Ok(())
}
