//! A port whose cable is pulled, and put in again: its host interface says so to the kernel, and
//! what leads elsewhere goes on.

use rustix::process::Signal;
use testbed::Result;
use testbed::address::{Family, far as far_backend};
use testbed::appliance::Appliance;
use testbed::client::ask;
use testbed::router::{Router, at, go_far};
use testbed::topology::{Arms, Port, Topology};

use crate::world::*;

/// The switch's end of the cable of port `back`.
const CABLE: &str = "appliance1";

/// The port beside it, which has prefixes of its own, and the router's addresses there.
const SIDE: [&str; 2] = ["10.0.4.1/24", "2001:db8:4::1/64"];
const BEYOND: [&str; 2] = ["10.0.4.254/24", "2001:db8:4::254/64"];

/// Two ports to the backends, a router behind each.
struct World {
    topology: Topology,
    routers: [Router; 2],
}

impl World {
    fn new() -> Result<Self> {
        let mut topology = Topology::new(Arms::Two)?;
        go_far(&topology)?;
        topology.plug_again("lb2")?;
        let side = Port {
            name: "side",
            interface: "lb2",
            addresses: SIDE.map(str::to_owned).to_vec(),
            ..topology.ports[1].clone()
        };
        topology.ports.push(side);
        let [back, side] =
            [("r1", 254), ("r2", 253)].map(|(name, host)| Router::new(&topology, name, &[host]));
        let routers = [back?, side?];
        for address in BEYOND {
            routers[1].namespace.ip(&format!("address add {address} dev eth0"))?;
        }
        Ok(Self { topology, routers })
    }

    fn cable(&self, plugged: bool) -> Result<()> {
        let up = if plugged { "up" } else { "down" };
        self.topology.fabric.ip(&format!("link set {CABLE} {up}")).map(drop)
    }

    /// The next hops: by `back`, and by `side`.
    fn hops(family: Family) -> [String; 2] {
        let beyond = BEYOND[family as usize].split('/').next().unwrap_or_default();
        [format!("via {} dev wr-back", at(family, 254)), format!("via {beyond} dev wr-side")]
    }

    /// Routes over both ports.
    fn lead(&self) -> Result<()> {
        for family in Family::BOTH {
            let hops = Self::hops(family).map(|hop| format!("nexthop {hop}"));
            route(&self.topology, family, "replace", &hops.join(" "))?;
        }
        Ok(())
    }

    /// Waits until the kernel has seen that the cable is in, or is not.
    fn kernel_knows(&self, plugged: bool) -> Result<()> {
        wait("the kernel has seen the cable", || {
            let link = self.topology.appliance.ip("link show dev wr-back")?;
            let mut routes = String::new();
            for family in Family::BOTH {
                let show = format!("-{} route show dev wr-back", family.digit());
                routes += &self.topology.appliance.ip(&show)?;
            }
            Ok(link.contains("NO-CARRIER") != plugged && routes.contains("linkdown") != plugged)
        })
    }

    /// Asks many times; how many packets the routers have received of it.
    fn shares(&self, family: Family) -> Result<[u64; 2]> {
        let received = || -> Result<[u64; 2]> {
            let [back, side] = &self.routers;
            Ok([back.received()?[0], side.received()?[0]])
        };
        let before = received()?;
        for _ in 0..100 {
            ask(&self.topology.client, vip(family))?;
        }
        let after = received()?;
        Ok([after[0] - before[0], after[1] - before[1]])
    }
}

#[test]
fn a_port_that_loses_its_link_takes_its_backends_along_and_brings_them_back() -> Result<()> {
    let world = World::new()?;
    let topology = &world.topology;
    let mut appliance = Appliance::start(topology, &far(topology))?;
    for family in Family::BOTH {
        route(topology, family, "add", &World::hops(family)[0])?;
        answered(topology, family)?;
    }
    for _ in 0..2 {
        world.cable(false)?;
        world.kernel_knows(false)?;
        for family in Family::BOTH {
            unresolved(topology, family, &mut appliance)?;
            let cut = format!("no route leads to backend {} any more", far_backend(family, 0));
            appliance.wait_for_log(&cut)?;
        }
        world.cable(true)?;
        world.kernel_knows(true)?;
        for family in Family::BOTH {
            answered(topology, family)?;
        }
    }
    appliance.stop(Signal::TERM)?;
    Ok(())
}

#[test]
fn of_two_ports_the_other_one_goes_on_and_both_do_when_the_link_is_back() -> Result<()> {
    let world = World::new()?;
    let topology = &world.topology;
    // At the start too: nobody is at the other end yet.
    world.cable(false)?;
    let appliance = Appliance::start(topology, &far(topology))?;
    world.kernel_knows(false)?;
    world.lead()?;
    for plugged in [false, true, false, true] {
        world.cable(plugged)?;
        world.kernel_knows(plugged)?;
        for family in Family::BOTH {
            answered(topology, family)?;
            // The kernel has forgotten who is behind a cable that was out.
            wait("the ports in use have their share", || {
                let [back, side] = world.shares(family)?;
                assert!(side > 100, "{family:?}, {plugged}: {back} {side}\n{}", appliance.log());
                Ok((back > 100) == plugged)
            })?;
        }
    }
    appliance.stop(Signal::TERM)?;
    Ok(())
}
