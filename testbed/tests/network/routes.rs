//! Routes that come, change and go, links that go down, and news that is lost.

use rustix::process::Signal;
use testbed::appliance::Appliance;
use testbed::client::ask;
use testbed::router::Router;
use testbed::topology::{Arms, Topology};
use testbed::{Error, Result};

use crate::world::*;

#[test]
fn a_route_appears_is_replaced_and_goes() -> Result<()> {
    let (topology, mut appliance) = far_away()?;
    let routers =
        [("r1", 254), ("r2", 253)].map(|(name, host)| Router::new(&topology, name, &[host]));
    let [first, second] = routers;
    let (first, second) = (first?, second?);
    silent(&topology)?;
    assert!(count(&appliance.counters()?, "next_hop_unresolved") > 0);

    topology.appliance.ip("route add 10.7.0.0/24 via 10.0.2.254 dev wr-back")?;
    answered(&topology)?;
    topology.appliance.ip("route replace 10.7.0.0/24 via 10.0.2.253 dev wr-back")?;
    appliance.wait_for_log("next hop 10.0.2.253 is at")?;
    let before = first.received()?[0];
    for _ in 0..20 {
        ask(&topology.client, VIP())?;
    }
    assert!(second.received()?[0] >= 20 * 4, "four packets of a request at least");
    assert!(first.received()?[0] < before + 20, "the old gateway still gets packets");

    // A more specific one decides for its part, and what says "nowhere" means it.
    topology.appliance.ip("route add unreachable 10.7.0.0/25")?;
    silent(&topology)?;
    topology.appliance.ip("route delete unreachable 10.7.0.0/25")?;
    answered(&topology)?;
    topology.appliance.ip("route delete 10.7.0.0/24")?;
    silent(&topology)?;
    assert!(appliance.log().contains("no route leads to backend 10.7.0.11"), "{}", appliance.log());
    appliance.stop(Signal::TERM)?;
    Ok(())
}

#[test]
fn a_gateway_of_the_file_leads_where_no_route_does_and_the_main_table_has_none() -> Result<()> {
    let (topology, appliance) = far_away()?;
    appliance.stop(Signal::TERM)?;
    let _router = Router::new(&topology, "r1", &[254])?;
    let by_file = far(&topology)
        .replace("name = \"back\"\n", "name = \"back\"\ngateways = [\"10.0.2.254\"]\n");
    let appliance = Appliance::start(&topology, &by_file)?;
    answered(&topology)?;
    let main = topology.appliance.ip("route show")?;
    assert!(main.lines().all(|route| route.contains("proto kernel")), "{main}");
    appliance.stop(Signal::TERM)?;
    Ok(())
}

#[test]
fn a_host_interface_that_goes_down_and_comes_back_takes_its_backends_along() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let mut appliance = Appliance::start(&topology, &config(&topology))?;
    answered(&topology)?;
    for _ in 0..2 {
        topology.appliance.ip("link set wr-back down")?;
        silent(&topology)?;
        topology.appliance.ip("link set wr-back up")?;
        answered(&topology)?;
    }
    assert!(appliance.log().contains("no route leads to backend 10.0.2.11"), "{}", appliance.log());
    assert!(count(&appliance.counters()?, "next_hop_unresolved") > 0);
    appliance.stop(Signal::TERM)?;
    Ok(())
}

#[test]
fn news_that_is_lost_is_made_up_for() -> Result<()> {
    const ROUTES: u32 = 40_000;
    let (topology, mut appliance) = far_away()?;
    let _router = Router::new(&topology, "r1", &[254])?;
    // Stopped, it hears nothing of all this.
    appliance.signal(Signal::STOP)?;
    let mut batch = String::new();
    for verb in ["add", "delete"] {
        for number in 0..ROUTES {
            let [.., a, b] = number.to_be_bytes();
            batch += &format!("route {verb} 10.8.{a}.{b}/32 via 10.0.2.9 dev wr-back\n");
        }
        if verb == "add" {
            batch += "route add 10.7.0.0/24 via 10.0.2.254 dev wr-back\n";
        }
    }
    let file = std::env::temp_dir().join(format!("windrose-routes-{}", std::process::id()));
    let failed = |error: std::io::Error| Error::Unexpected(format!("{}: {error}", file.display()));
    std::fs::write(&file, batch).map_err(failed)?;
    let done = topology.appliance.run(&format!("ip -batch {}", file.display()));
    std::fs::remove_file(&file).map_err(failed)?;
    appliance.signal(Signal::CONT)?;
    done?;
    appliance.wait_for_log("was lost: all is read anew")?;
    answered(&topology)?;
    appliance.stop(Signal::TERM)?;
    Ok(())
}
