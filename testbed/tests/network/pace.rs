//! How soon workers follow what the kernel knows: printed, not judged.

use std::time::Duration;

use rustix::process::Signal;
use testbed::Result;
use testbed::address::Family;
use testbed::router::Router;
use testbed::topology::Topology;

use crate::world::*;

const ROUNDS: usize = 25;
/// Another route's prefix, and how long after it ours changes: the workers have just been told.
const OTHER: [&str; 2] = ["10.8.0.0/24", "2001:db8:8::/64"];
const AMID: Duration = Duration::from_millis(8);
/// How exactly it is measured: a connection is tried so often.
const STEP: Duration = Duration::from_millis(5);

#[test]
fn how_soon_workers_follow_a_neighbour_and_a_route_that_change_is_printed() -> Result<()> {
    let (topology, appliance) = far_away()?;
    let router = Router::new(&topology, "r1", &[254])?;
    let mac = router.namespace.mac("eth0")?;
    for family in Family::BOTH {
        let gateway = router.address(family);
        route(&topology, family, "add", &format!("via {gateway} dev wr-back"))?;
        answered(&topology, family)?;
        let other = |verb: &str| {
            let line = format!("route {verb} {} via {gateway} dev wr-back", OTHER[family as usize]);
            topology.appliance.ip(&line).map(drop)
        };
        let neighbour = |mac: &str| {
            let line =
                format!("neighbour replace {gateway} dev wr-back lladdr {mac} nud reachable");
            topology.appliance.ip(&line).map(drop)
        };
        measure(&topology, family, "an Ethernet address", |wrong| {
            neighbour(if wrong { "02:00:00:00:00:99" } else { &mac })
        })?;
        let ours = |wrong| {
            let verb = if wrong { "delete" } else { "add" };
            route(&topology, family, verb, &format!("via {gateway} dev wr-back"))
        };
        measure(&topology, family, "a route", ours)?;
        measure(&topology, family, "a route just after other news", |wrong| {
            other("add")?;
            other("delete")?;
            std::thread::sleep(AMID);
            ours(wrong)
        })?;
    }
    appliance.stop(Signal::TERM)?;
    Ok(())
}

/// Makes something wrong and right again, and prints how long after that somebody answers.
fn measure(
    topology: &Topology,
    family: Family,
    what: &str,
    set: impl Fn(bool) -> Result<()>,
) -> Result<()> {
    let round = |_| {
        set(true)?;
        silent(topology, family)?;
        set(false)?;
        answered_in_steps(topology, family, STEP)
    };
    let mut took = (0..ROUNDS).map(round).collect::<Result<Vec<Duration>>>()?;
    took.sort();
    let (median, most) = (took[ROUNDS / 2], took[ROUNDS - 1]);
    println!(
        "{family:?}: {what} reaches the workers: median {median:.1?}, maximum {most:.1?} of {ROUNDS}"
    );
    Ok(())
}
