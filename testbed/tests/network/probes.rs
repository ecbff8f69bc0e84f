//! Probes to VIPs (W-8) leave from the port that leads to the backend, whatever becomes of it.

use std::time::Duration;

use rustix::process::Signal;
use testbed::address::Family;
use testbed::appliance::Appliance;
use testbed::router::Router;
use testbed::topology::Topology;
use testbed::{Error, Result};

use crate::world::*;

/// The backends' own port is the second: the first one's address is not where they answer to.
fn checked(topology: &Topology) -> String {
    let check = "initial_health = \"unhealthy\"\nhealth_check = { protocol = \"HTTP\", port = 80, \
                 request_path = \"/healthz\", interval = \"400ms\", timeout = \"300ms\", \
                 healthy_threshold = 1 }";
    far(topology).replace("initial_health = \"healthy\"", check)
}

fn lead(topology: &Topology, router: &Router) -> Result<()> {
    Family::BOTH.into_iter().try_for_each(|family| {
        route(topology, family, "replace", &format!("via {} dev wr-back", router.address(family)))
    })
}

/// Of both services; from there on in the log.
fn become_all(appliance: &Appliance, names: &[&str], from: usize, what: &str) -> Result<()> {
    for service in ["web-v4", "web-v6"] {
        for name in names {
            let name = format!("backend=rack/{name} ");
            appliance.wait_for_line(from, &["health changed", service, &name, what])?;
        }
    }
    Ok(())
}

/// Waits until the probes' rule is there again.
fn wait_for_rule(topology: &Topology, family: &str) -> Result<()> {
    for _ in 0..100 {
        if topology.appliance.ip(&format!("{family} rule"))?.contains("5752:") {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Err(Error::Unexpected(format!("no rule of probes, {family}")))
}

#[test]
fn w8_behind_a_router_backends_answer_the_port_that_leads_to_them_whatever_becomes_of_it()
-> Result<()> {
    const ALL: [&str; 3] = ["b1", "b2", "b3"];
    let (topology, mut appliance) = far_away()?;
    let router = Router::new(&topology, "r1", &[254])?;
    // Nobody leads them to the other port.
    for backend in &topology.backends {
        for address in ["10.0.1.1", "2001:db8:1::1"] {
            backend.namespace.ip(&format!("route add unreachable {address}"))?;
        }
    }
    lead(&topology, &router)?;
    appliance.reload(&checked(&topology))?;
    become_all(&appliance, &ALL, 0, "to=\"healthy\"")?;

    // With the interface the kernel drops the probes' own routes.
    let from = appliance.log().len();
    topology.appliance.ip("link set wr-back down")?;
    become_all(&appliance, &ALL, from, "to=\"unhealthy\"")?;
    let from = appliance.log().len();
    topology.appliance.ip("link set wr-back up")?;
    lead(&topology, &router)?;
    become_all(&appliance, &ALL, from, "to=\"healthy\"")?;

    // networkd removes rules and routes that are not its own.
    for family in ["-4", "-6"] {
        topology.appliance.ip(&format!("{family} rule del pref 5752"))?;
        wait_for_rule(&topology, family)?;
    }

    // Another address for the port, by a reload: probes are answered there from then on.
    let moved = checked(&topology);
    let moved =
        moved.replace("\"10.0.2.1", "\"10.0.2.3").replace("\"2001:db8:2::1", "\"2001:db8:2::3");
    assert!(moved.contains("10.0.2.3/24") && moved.contains("2001:db8:2::3/64"), "{moved}");
    appliance.reload(&moved)?;
    lead(&topology, &router)?;
    let from = appliance.log().len();
    topology.backends[0].set_healthy(false)?;
    become_all(&appliance, &["b1"], from, "HTTP 503")?;
    appliance.stop(Signal::TERM)?;
    Ok(())
}
