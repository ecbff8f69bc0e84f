//! More next hops than eight (ECMP).

use rustix::process::Signal;
use testbed::Result;
use testbed::client::ask;
use testbed::router::Router;

use crate::world::*;

const HOPS: u8 = 12;

#[test]
fn flows_are_spread_over_twelve_next_hops_by_weight_and_leave_one_that_goes() -> Result<()> {
    let (topology, mut appliance) = far_away()?;
    impatient(&topology.appliance)?;
    let hosts: Vec<u8> = (101..101 + HOPS).collect();
    let router = Router::new(&topology, "r1", &hosts)?;
    // The first has three times the share of another.
    let hop = |host: &u8| {
        let weight = if *host == 101 { 3 } else { 1 };
        format!("nexthop via 10.0.2.{host} dev wr-back weight {weight}")
    };
    let hops: Vec<_> = hosts.iter().map(hop).collect();
    topology.appliance.ip(&format!("route add 10.7.0.0/24 {}", hops.join(" ")))?;
    answered(&topology)?;
    for host in &hosts {
        appliance.wait_for_log(&format!("next hop 10.0.2.{host} is at")).or_else(|_| {
            // Eight lines at a time are said.
            appliance.wait_for_log("more next hops or backends have changed")
        })?;
    }
    let before = router.received()?;
    for _ in 0..300 {
        ask(&topology.client, VIP())?;
    }
    let after = router.received()?;
    let counts: Vec<_> = after.iter().zip(&before).map(|(after, before)| after - before).collect();
    println!("packets by next hop: {counts:?}");
    assert!(counts.iter().all(|count| *count >= 10), "{counts:?}");
    let others = counts[1..].iter().sum::<u64>() / u64::from(HOPS - 1);
    assert!(counts[0] > 2 * others, "{counts:?}");

    router.namespace.ip("link set eth5 down")?;
    appliance.wait_for_log("next hop 10.0.2.106, last at")?;
    for _ in 0..100 {
        ask(&topology.client, VIP())?;
    }
    let counters = appliance.stop(Signal::TERM)?;
    println!("{counters:?}");
    Ok(())
}
