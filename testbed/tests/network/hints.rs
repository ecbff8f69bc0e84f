//! A router's word that it cannot reach a backend has the backend's check ask at once.

use std::time::Duration;

use rustix::process::Signal;
use testbed::address::{self, Family};
use testbed::router::Router;
use testbed::{Result, client};

use crate::world::*;

/// The next regular probe comes half a minute after the first at the soonest.
const CHECK: &str = "initial_health = \"healthy\"\nhealth_check = { protocol = \"TCP\", port = 80, \
                     target = \"address\", interval = \"60s\", timeout = \"3s\", unhealthy_threshold = 1 }";

#[test]
fn an_unreachable_from_a_router_brings_the_next_probe_forward() -> Result<()> {
    let (topology, mut appliance) = far_away()?;
    let router = Router::new(&topology, "r1", &[254])?;
    for family in Family::BOTH {
        route(&topology, family, "add", &format!("via {} dev wr-back", router.address(family)))?;
        answered(&topology, family)?;
    }
    let checked = far(&topology).replace("initial_health = \"healthy\"", CHECK);
    appliance.reload(&checked)?;
    let services = ["web-v4", "web-v6"];
    for service in services {
        for name in ["b1", "b2", "b3"] {
            let words = ["health changed", service, &format!("rack/{name} "), "to=\"healthy\""];
            appliance.wait_for_line(0, &words)?;
        }
    }
    for (family, service) in Family::BOTH.into_iter().zip(services) {
        let from = appliance.log().len();
        let gone = address::far(family, 0);
        router.namespace.ip(&format!("route replace unreachable {gone}"))?;
        // Clients' own packets are what the router complains about.
        for _ in 0..30 {
            client::taken(&topology.client, vip(family), Duration::from_millis(100))?;
        }
        let words = ["health changed", service, "rack/b1 ", "to=\"unhealthy\""];
        appliance.wait_for_line(from, &words)?;
        let log = appliance.log();
        assert!(!log.get(from..).unwrap_or_default().contains("rack/b2 "), "{log}");
    }
    appliance.stop(Signal::TERM)?;
    Ok(())
}
