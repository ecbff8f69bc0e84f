//! BIRD on the host interfaces: its BGP sessions go through the dataplane, the routes that it learns
//! lead to the backends, and its peer learns the VIP from it.

use rustix::process::Signal;
use testbed::Result;
use testbed::address::{BACK, CLIENT, FAR_PREFIX, FRONT, Family, VIP_PREFIX, far as far_backend};
use testbed::bird::Bird;
use testbed::client::ask;
use testbed::netns::Namespace;
use testbed::router::{Router, at};
use testbed::topology::Topology;

use crate::world::*;

/// One family's names and addresses.
struct World {
    family: Family,
    /// BIRD's word for it.
    channel: &'static str,
}

impl World {
    fn of(family: Family) -> Self {
        Self { family, channel: ["ipv4", "ipv6"][family as usize] }
    }

    /// One of a pair of addresses.
    fn own(&self, pair: [&'static str; 2]) -> &'static str {
        pair[self.family as usize]
    }

    fn vip(&self) -> String {
        format!("{}/{}", vip(self.family), self.family.whole())
    }

    fn far(&self) -> &'static str {
        self.own(FAR_PREFIX)
    }

    /// A session that is tried again at once.
    fn session(&self, name: &str, local: &str, neighbour: &str, more: &str) -> String {
        let channel = self.channel;
        format!(
            "protocol bgp to_{name} {{ local {local}; neighbor {neighbour}; connect delay time 1; \
             connect retry time 1; error wait time 1, 2; hold time 9; {channel} {{ {more} }}; }}\n"
        )
    }

    fn kernel(&self, export: &str) -> String {
        let channel = self.channel;
        format!(
            "protocol kernel {{ {channel} {{ import none; export {export}; }}; merge paths on; }}\n"
        )
    }

    /// Routes that are told of and are of no other use.
    fn told(&self, name: &str, prefix: &str) -> String {
        format!("protocol static {name} {{ {}; route {prefix} blackhole; }}\n", self.channel)
    }

    fn appliance(&self, topology: &Topology) -> Result<Bird> {
        let (front, back) = (self.own(FRONT), self.own(BACK));
        let front = self.session(
            "front",
            &format!("{front} as 64512"),
            &format!("{} as 64513", self.own(CLIENT)),
            "import none; export where proto = \"own_vip\"; next hop self;",
        );
        let backs = [("first", 254, 64514), ("second", 253, 64515)].map(|(name, host, number)| {
            let neighbour = format!("{} as {number}", at(self.family, host));
            let own = format!("{back} as 64512");
            self.session(name, &own, &neighbour, "import all; export none;")
        });
        let (kernel, vip) =
            (self.kernel("where source = RTS_BGP"), self.told("own_vip", &self.vip()));
        let text = format!("{kernel}{vip}{front}{}", backs.concat());
        Bird::start(&topology.appliance, "10.0.1.1", &text)
    }

    /// The router in front: it learns where the VIP is.
    fn peer(&self, topology: &Topology) -> Result<Bird> {
        let [own, appliance] = [(CLIENT, 64513), (FRONT, 64512)]
            .map(|(pair, number)| format!("{} as {number}", self.own(pair)));
        let up = self.session("up", &own, &appliance, "import all; export none;");
        Bird::start(&topology.client, "10.0.1.2", &format!("{}{up}", self.kernel("all")))
    }

    /// A router of the backends' segment: it says that the far backends are behind it.
    fn behind(&self, router: &Router, number: u32) -> Result<Bird> {
        let own = format!("{} as {number}", router.address(self.family));
        let appliance = format!("{} as 64512", self.own(BACK));
        let exports = "import none; export where proto = \"far_ones\"; next hop self;";
        let up = self.session("up", &own, &appliance, exports);
        let id = router.address(Family::V4).to_string();
        Bird::start(&router.namespace, &id, &format!("{}{up}", self.told("far_ones", self.far())))
    }

    /// Waits for a route to say something; nothing: to be gone.
    fn wait_for_route(&self, namespace: &Namespace, prefix: &str, wanted: &str) -> Result<()> {
        wait(&format!("{prefix}: `{wanted}`"), || {
            let show = format!("-{} route show {prefix}", self.family.digit());
            let route = namespace.ip(&show)?;
            Ok(route.contains(wanted) && wanted.is_empty() == route.trim().is_empty())
        })
    }
}

#[test]
fn bgp_through_the_dataplane_leads_to_the_backends_and_announces_the_vip() -> Result<()> {
    speak(&World::of(Family::V4))
}

#[test]
fn bgp_over_ipv6_does_the_same() -> Result<()> {
    speak(&World::of(Family::V6))
}

fn speak(world: &World) -> Result<()> {
    let family = world.family;
    let (topology, mut windrose) = far_away()?;
    let [first, second] =
        [("r1", 254), ("r2", 253)].map(|(name, host)| Router::new(&topology, name, &[host]));
    let (first, second) = (first?, second?);
    topology.client.ip(&format!("route delete {}", world.own(VIP_PREFIX)))?;

    let own = world.appliance(&topology)?;
    let _peer = world.peer(&topology)?;
    let [speaks, speaks_too] = [(&first, 64514), (&second, 64515)].map(|(r, n)| world.behind(r, n));
    let (speaks, speaks_too) = (speaks?, speaks_too?);
    world.wait_for_route(&topology.client, &world.vip(), "dev front0 proto bird")?;
    for router in [&first, &second] {
        let hop = format!("nexthop via {}", router.address(family));
        world.wait_for_route(&topology.appliance, world.far(), &hop)?;
    }
    answered(&topology, family)?;
    let sessions = own.ask(&topology.appliance, "show protocols")?;
    assert_eq!(sessions.matches("Established").count(), 3, "{sessions}");

    // Both routers get their share, and the host's own addresses answer beside it all.
    let before = (first.received()?[0], second.received()?[0]);
    for _ in 0..100 {
        ask(&topology.client, vip(family))?;
    }
    let after = (first.received()?[0], second.received()?[0]);
    assert!(
        after.0 > before.0 + 100 && after.1 > before.1 + 100,
        "{before:?} {after:?}\n{}",
        windrose.log()
    );
    let ping = format!("ping -n -c 3 -i 0.2 -W 2 {}", world.own(FRONT));
    let ping = topology.client.run(&ping)?;
    assert!(ping.contains(" 0% packet loss") && !ping.contains("DUP"), "{ping}");

    // A router that stops speaking is not sent to; the last one that does takes the backends along.
    speaks.kill()?;
    let left = format!("via {} dev wr-back proto bird", second.address(family));
    world.wait_for_route(&topology.appliance, world.far(), &left)?;
    answered(&topology, family)?;
    speaks_too.kill()?;
    world.wait_for_route(&topology.appliance, world.far(), "")?;
    silent(&topology, family)?;
    windrose.wait_for_log(&format!("no route leads to backend {}", far_backend(family, 0)))?;
    let _speaks_again = world.behind(&first, 64514)?;
    let after = answered(&topology, family)?;
    println!("answered {} ms after a router spoke again", after.as_millis());

    // Without the session nobody knows the VIP.
    own.kill()?;
    world.wait_for_route(&topology.client, &world.vip(), "")?;
    windrose.stop(Signal::TERM)?;
    Ok(())
}
