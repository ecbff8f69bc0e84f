//! What these tests share: no neighbour in the file, backends on link or behind routers.

use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use testbed::address::{self, Family};
use testbed::appliance::{Appliance, Counters};
use testbed::client::ask;
use testbed::config::Config;
use testbed::netns::Namespace;
use testbed::router::go_far;
use testbed::topology::{Arms, Topology};
use testbed::{Error, Result};

/// How long a change may take: the kernel's own timers are in it.
const PATIENCE: Duration = Duration::from_secs(20);

/// The VIP whose backends are of its own family.
pub(crate) fn vip(family: Family) -> IpAddr {
    address::vip(family, family)
}

/// The file without neighbours: the kernel finds them out.
pub(crate) fn config(topology: &Topology) -> Config {
    let mut config = Config::new(topology);
    config.ports.iter_mut().for_each(|port| port.neighbours.clear());
    config
}

/// The same, with backends that only a router leads to.
pub(crate) fn far(topology: &Topology) -> String {
    let mut config = config(topology).to_string();
    for index in 0..address::BACKENDS {
        for family in Family::BOTH {
            config = config.replace(
                &format!("address = \"{}\"", address::backend(2, family, index)),
                &format!("address = \"{}\"", address::far(family, index)),
            );
        }
    }
    config
}

/// A topology with far backends, and Windrose in it, without a route to them.
pub(crate) fn far_away() -> Result<(Topology, Appliance)> {
    let topology = Topology::new(Arms::Two)?;
    go_far(&topology)?;
    let appliance = Appliance::start(&topology, &far(&topology))?;
    Ok((topology, appliance))
}

/// Gives the appliance's kernel a route to the far backends, or takes it: `add via 10.0.2.254`.
pub(crate) fn route(topology: &Topology, family: Family, verb: &str, way: &str) -> Result<()> {
    let far = address::FAR_PREFIX[family as usize];
    topology.appliance.ip(&format!("route {verb} {far} {way}")).map(drop)
}

/// Asks until somebody answers; how long that took.
pub(crate) fn answered(topology: &Topology, family: Family) -> Result<Duration> {
    answered_in_steps(topology, family, Duration::from_millis(20))
}

/// The same with a connection tried for so long before the next one.
pub(crate) fn answered_in_steps(
    topology: &Topology,
    family: Family,
    step: Duration,
) -> Result<Duration> {
    let host = SocketAddr::new(vip(family), 80);
    let start = Instant::now();
    let after = topology.client.enter(|| {
        // Each with a port of its own, so that no retransmission is waited for.
        while TcpStream::connect_timeout(&host, step).is_err() {
            if start.elapsed() > PATIENCE {
                return Err(Error::Unexpected(format!("nobody answers at {host}")));
            }
        }
        Ok(start.elapsed())
    })??;
    ask(&topology.client, host.ip())?;
    Ok(after)
}

/// Whether nobody answers any more, at once or soon.
pub(crate) fn silent(topology: &Topology, family: Family) -> Result<()> {
    let host = SocketAddr::new(vip(family), 80);
    let quiet = |end: Instant| loop {
        if TcpStream::connect_timeout(&host, Duration::from_millis(100)).is_err() {
            return true;
        }
        if Instant::now() > end {
            return false;
        }
    };
    let end = Instant::now() + PATIENCE;
    match topology.client.enter(|| quiet(end))? {
        true => Ok(()),
        false => Err(Error::Unexpected("somebody still answers".into())),
    }
}

/// Waits until nobody answers and packets end as having no next hop; some wait for one before.
pub(crate) fn unresolved(
    topology: &Topology,
    family: Family,
    appliance: &mut Appliance,
) -> Result<()> {
    let before = count(&appliance.counters()?, "next_hop_unresolved");
    wait("packets end as next_hop_unresolved", || {
        silent(topology, family)?;
        Ok(count(&appliance.counters()?, "next_hop_unresolved") > before)
    })
}

pub(crate) fn count(counters: &Counters, name: &str) -> u64 {
    counters.get(name).copied().unwrap_or(0)
}

/// The kernel finds out in seconds that a neighbour has gone, not in a minute.
pub(crate) fn impatient(appliance: &Namespace) -> Result<()> {
    let keys =
        [("base_reachable_time_ms", 1000), ("delay_first_probe_time", 1), ("retrans_time_ms", 200)];
    for (family, (key, value)) in ["ipv4", "ipv6"].into_iter().flat_map(|f| keys.map(|k| (f, k))) {
        appliance.set(&format!("{family}/neigh/wr-back/{key}"), value)?;
    }
    // Only ARP has it: an address that has just changed does not change again.
    appliance.set("ipv4/neigh/wr-back/locktime", 0)
}

/// Waits for something that takes a moment.
pub(crate) fn wait(what: &str, mut done: impl FnMut() -> Result<bool>) -> Result<()> {
    let end = Instant::now() + PATIENCE;
    while !done()? {
        if Instant::now() > end {
            return Err(Error::Unexpected(format!(
                "not so after {} s: {what}",
                PATIENCE.as_secs()
            )));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}
