//! Routes that come, change and go, links that go down, and news that is lost.

use rustix::process::Signal;
use testbed::address::{Family, far as far_backend};
use testbed::appliance::Appliance;
use testbed::client::ask;
use testbed::router::{Router, at};
use testbed::topology::{Arms, Topology};
use testbed::{Error, Result};

use crate::world::*;

#[test]
fn a_route_appears_is_replaced_and_goes() -> Result<()> {
    let (topology, mut appliance) = far_away()?;
    let routers =
        [("r1", 254), ("r2", 253)].map(|(name, host)| Router::new(&topology, name, &[host]));
    let [first, second] = routers;
    let routers = [first?, second?];
    for family in Family::BOTH {
        appears_and_goes(&topology, family, &mut appliance, &routers)?;
    }
    appliance.stop(Signal::TERM)?;
    Ok(())
}

fn appears_and_goes(
    topology: &Topology,
    family: Family,
    appliance: &mut Appliance,
    [first, second]: &[Router; 2],
) -> Result<()> {
    unresolved(topology, family, appliance)?;
    let first_address = match family {
        Family::V4 => first.address(family).to_string(),
        Family::V6 => first.link_local()?,
    };
    for (verb, gateway) in [("add", first_address), ("replace", second.address(family).to_string())]
    {
        route(topology, family, verb, &format!("via {gateway} dev wr-back"))?;
        answered(topology, family)?;
        appliance.wait_for_log(&format!("next hop {gateway} is at"))?;
    }
    let (old, new) = (first.received()?[0], second.received()?[0]);
    for _ in 0..20 {
        ask(&topology.client, vip(family))?;
    }
    assert!(second.received()?[0] >= new + 20 * 4, "four packets of a request at least");
    assert!(first.received()?[0] < old + 20, "the old gateway still gets packets");

    // A more specific one decides for its part, and what says "nowhere" means it.
    let part = ["10.7.0.0/25", "2001:db8:7::/65"][family as usize];
    topology.appliance.ip(&format!("route add unreachable {part}"))?;
    silent(topology, family)?;
    topology.appliance.ip(&format!("route delete unreachable {part}"))?;
    answered(topology, family)?;
    route(topology, family, "delete", "")?;
    silent(topology, family)?;
    appliance.wait_for_log(&format!("no route leads to backend {}", far_backend(family, 0)))
}

#[test]
fn a_gateway_of_the_file_leads_where_no_route_does_and_the_main_table_has_none() -> Result<()> {
    let (topology, appliance) = far_away()?;
    appliance.stop(Signal::TERM)?;
    let _router = Router::new(&topology, "r1", &[254])?;
    let gateways = Family::BOTH.map(|family| at(family, 254).to_string());
    let port = "name = \"back\"\n";
    let by_file = far(&topology).replace(port, &format!("{port}gateways = {gateways:?}\n"));
    let appliance = Appliance::start(&topology, &by_file)?;
    for family in Family::BOTH {
        answered(&topology, family)?;
        let main = topology.appliance.ip(&format!("-{} route show", family.digit()))?;
        assert!(main.lines().all(|route| route.contains("proto kernel")), "{main}");
    }
    appliance.stop(Signal::TERM)?;
    Ok(())
}

#[test]
fn a_host_interface_that_goes_down_and_comes_back_takes_its_backends_along() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let mut appliance = Appliance::start(&topology, &config(&topology))?;
    let all = |then: fn(&Topology, Family) -> Result<()>| {
        Family::BOTH.into_iter().try_for_each(|family| then(&topology, family))
    };
    all(|topology, family| answered(topology, family).map(drop))?;
    for _ in 0..2 {
        topology.appliance.ip("link set wr-back down")?;
        all(silent)?;
        topology.appliance.ip("link set wr-back up")?;
        all(|topology, family| answered(topology, family).map(drop))?;
    }
    for backend in ["10.0.2.11", "2001:db8:2::11"] {
        let cut = format!("no route leads to backend {backend} any more");
        assert!(appliance.log().contains(&cut), "{}", appliance.log());
    }
    assert!(count(&appliance.counters()?, "next_hop_unresolved") > 0);
    appliance.stop(Signal::TERM)?;
    Ok(())
}

#[test]
fn news_that_is_lost_is_made_up_for() -> Result<()> {
    let (topology, appliance) = far_away()?;
    let _router = Router::new(&topology, "r1", &[254])?;
    for (family, lost) in Family::BOTH.into_iter().zip(1..) {
        // Stopped, it hears nothing of all this.
        appliance.signal(Signal::STOP)?;
        let done = very_much(&topology, family);
        appliance.signal(Signal::CONT)?;
        done?;
        wait("the loss is noticed", || {
            Ok(appliance.log().matches("was lost: all is read anew").count() >= lost)
        })?;
        answered(&topology, family)?;
    }
    appliance.stop(Signal::TERM)?;
    Ok(())
}

/// Forty thousand routes come and go, and one of them stays.
fn very_much(topology: &Topology, family: Family) -> Result<()> {
    const ROUTES: u32 = 40_000;
    let mut batch = String::new();
    for verb in ["add", "delete"] {
        for number in 0..ROUTES {
            let [.., a, b] = number.to_be_bytes();
            let to = match family {
                Family::V4 => format!("10.8.{a}.{b}/32"),
                Family::V6 => format!("2001:db8:8::{number:x}/128"),
            };
            batch += &format!("route {verb} {to} via {} dev wr-back\n", at(family, 9));
        }
        if verb == "add" {
            let to = testbed::address::FAR_PREFIX[family as usize];
            batch += &format!("route add {to} via {} dev wr-back\n", at(family, 254));
        }
    }
    let file = std::env::temp_dir().join(format!("windrose-routes-{}", std::process::id()));
    let failed = |error: std::io::Error| Error::Unexpected(format!("{}: {error}", file.display()));
    std::fs::write(&file, batch).map_err(failed)?;
    let done = topology.appliance.run(&format!("ip -batch {}", file.display()));
    std::fs::remove_file(&file).map_err(failed)?;
    done.map(drop)
}
