//! More next hops than eight (ECMP).

use rustix::process::Signal;
use testbed::address::Family;
use testbed::appliance::Appliance;
use testbed::client::ask;
use testbed::router::{Router, at};
use testbed::topology::Topology;
use testbed::{Error, Result};

use crate::world::*;

const HOPS: u8 = 12;
const FIRST: u8 = 101;

#[test]
fn flows_are_spread_over_twelve_next_hops_by_weight_and_leave_one_that_goes() -> Result<()> {
    let (topology, mut appliance) = far_away()?;
    impatient(&topology.appliance)?;
    let hosts: Vec<u8> = (FIRST..FIRST + HOPS).collect();
    let router = Router::new(&topology, "r1", &hosts)?;
    for family in Family::BOTH {
        spread(&topology, family, &router, &hosts)?;
    }
    router.namespace.ip("link set eth5 down")?;
    for family in Family::BOTH {
        leave(&topology, family, &mut appliance, FIRST + 5)?;
    }
    appliance.stop(Signal::TERM)?;
    Ok(())
}

fn spread(topology: &Topology, family: Family, router: &Router, hosts: &[u8]) -> Result<()> {
    // The first has three times the share of another.
    let hop = |host: &u8| {
        let weight = if *host == FIRST { 3 } else { 1 };
        format!("nexthop via {} dev wr-back weight {weight}", at(family, *host))
    };
    let hops: Vec<_> = hosts.iter().map(hop).collect();
    route(topology, family, "add", &hops.join(" "))?;
    answered(topology, family)?;
    found(topology, family, hosts)?;
    let before = router.received()?;
    for _ in 0..300 {
        ask(&topology.client, vip(family))?;
    }
    let after = router.received()?;
    let counts: Vec<_> = after.iter().zip(&before).map(|(after, before)| after - before).collect();
    println!("{family:?}: packets by next hop: {counts:?}");
    assert!(counts.iter().all(|count| *count >= 10), "{counts:?}");
    let others = counts[1..].iter().sum::<u64>() / u64::from(HOPS - 1);
    assert!(counts[0] > 2 * others, "{counts:?}");
    Ok(())
}

/// Waits until the kernel has found out all of them.
fn found(topology: &Topology, family: Family, hosts: &[u8]) -> Result<()> {
    wait("the kernel knows all next hops", || {
        let known = topology.appliance.ip("neighbour show dev wr-back")?;
        let is_known = |host: &u8| {
            let begins = format!("{} lladdr", at(family, *host));
            known.lines().any(|line| line.starts_with(&begins))
        };
        Ok(hosts.iter().all(is_known))
    })
}

fn leave(topology: &Topology, family: Family, appliance: &mut Appliance, host: u8) -> Result<()> {
    appliance.wait_for_log(&format!("next hop {}, last at", at(family, host)))?;
    for _ in 0..100 {
        ask(&topology.client, vip(family)).map_err(|error| {
            Error::Unexpected(format!("{error}: a flow goes where nobody is\n{}", appliance.log()))
        })?;
    }
    Ok(())
}
