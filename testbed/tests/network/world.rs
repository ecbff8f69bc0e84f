//! What these tests share: no neighbour in the file, backends on link or behind routers.

use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use testbed::address::{self, Family, vip};
use testbed::appliance::{Appliance, Counters};
use testbed::client::ask;
use testbed::config::Config;
use testbed::netns::Namespace;
use testbed::router::go_far;
use testbed::topology::{Arms, Topology};
use testbed::{Error, Result};

/// How long a change may take: the kernel's own timers are in it.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) const VIP: fn() -> IpAddr = || vip(Family::V4, Family::V4);

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
        let near = address::backend(2, Family::V4, index);
        config = config.replace(
            &format!("address = \"{near}\""),
            &format!("address = \"{}\"", address::far(index)),
        );
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

/// Asks until somebody answers; how long that took.
pub(crate) fn answered(topology: &Topology) -> Result<Duration> {
    let host = SocketAddr::new(VIP(), 80);
    let start = Instant::now();
    topology.client.enter(|| {
        // Each with a port of its own, so that no retransmission is waited for.
        while TcpStream::connect_timeout(&host, Duration::from_millis(20)).is_err() {
            if start.elapsed() > PATIENCE {
                return Err(Error::Unexpected(format!("nobody answers at {host}")));
            }
        }
        Ok(())
    })??;
    ask(&topology.client, VIP())?;
    Ok(start.elapsed())
}

/// Whether nobody answers any more, at once or soon.
pub(crate) fn silent(topology: &Topology) -> Result<()> {
    let host = SocketAddr::new(VIP(), 80);
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

pub(crate) fn count(counters: &Counters, name: &str) -> u64 {
    counters.get(name).copied().unwrap_or(0)
}

/// The kernel finds out in seconds that a neighbour has gone, not in a minute.
pub(crate) fn impatient(appliance: &Namespace) -> Result<()> {
    for (key, value) in [
        ("base_reachable_time_ms", 1000),
        ("delay_first_probe_time", 1),
        ("retrans_time_ms", 200),
        ("locktime", 0),
    ] {
        appliance.set(&format!("ipv4/neigh/wr-back/{key}"), value)?;
    }
    Ok(())
}
