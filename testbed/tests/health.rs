//! Health checks with real servers: what they find, and what becomes of connections (section 7).

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use testbed::address::{Family, backend, vip};
use testbed::appliance::Appliance;
use testbed::client::Connection;
use testbed::config::Config;
use testbed::topology::{Arms, Topology};
use testbed::{Error, Result};

const VIP: fn() -> IpAddr = || vip(Family::V4, Family::V4);

/// Source ports, so that a run chooses as the one before did.
const FIRST_PORT: u16 = 10_000;

/// Both services, checked, every backend unhealthy until it is found to be healthy.
fn checked(config: &Config, keys: &str, more: &str) -> String {
    let check = format!(
        "initial_health = \"unhealthy\"\n{more}\nhealth_check = {{ protocol = \"HTTP\", port = 80, \
         request_path = \"/healthz\", interval = \"400ms\", timeout = \"300ms\", {keys} }}"
    );
    config.to_string().replace("initial_health = \"healthy\"", &check)
}

/// Waits for a line of the log, after `from` bytes of it, that has all of these; where it ends.
fn wait_for(appliance: &Appliance, from: usize, words: &[&str]) -> Result<usize> {
    let end = Instant::now() + Duration::from_secs(10);
    while Instant::now() < end {
        let log = appliance.log();
        let has = |line: &&str| words.iter().all(|word| line.contains(word));
        if let Some(line) = log.get(from..).unwrap_or_default().lines().find(has) {
            return Ok(log.find(line).unwrap_or(from) + line.len());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Err(Error::Unexpected(format!("no line with {words:?}:\n{}", appliance.log())))
}

fn becomes(appliance: &Appliance, from: usize, name: &str, verdict: &str) -> Result<usize> {
    let [name, verdict] = [format!("backend=rack/{name} "), format!("to=\"{verdict}\"")];
    wait_for(appliance, from, &["health changed", "web-v4", &name, &verdict])
}

/// Who answers new connections from as many source ports.
fn shares(topology: &Topology, connections: u16) -> Result<BTreeMap<String, f64>> {
    let mut shares = BTreeMap::new();
    for port in FIRST_PORT..FIRST_PORT + connections {
        let name = Connection::open_from(&topology.client, port, VIP())?.who()?;
        *shares.entry(name).or_insert(0.0) += 100.0 / f64::from(connections);
    }
    Ok(shares)
}

#[test]
fn w8_a_vip_that_is_missing_on_a_backend_is_red_by_vip_and_green_by_address() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let config = Config::new(&topology);
    for family in Family::BOTH {
        let (missing, length) = (vip(family, Family::V4), [32, 128][family as usize]);
        let hole = &topology.backends[1].namespace;
        hole.ip(&format!("address del {missing}/{length} dev lo"))?;
        let mut appliance = Appliance::start(&topology, &checked(&config, "target = \"vip\"", ""))?;
        for name in ["b1", "b3"] {
            becomes(&appliance, 0, name, "healthy")?;
        }
        wait_for(&appliance, 0, &["rack/b2 ", "\"unhealthy\"", &missing.to_string()])?;
        let shares = shares(&topology, 60)?;
        assert_eq!(shares.keys().collect::<Vec<_>>(), ["b1", "b3"], "{missing}");

        let from = appliance.log().len();
        appliance.reload(&checked(&config, "target = \"address\"", ""))?;
        becomes(&appliance, from, "b2", "healthy")?;
        let counters = appliance.stop(Signal::TERM)?;
        assert!(counters.get("probe").is_some_and(|probes| *probes > 10), "{counters:?}");
        hole.ip(&format!("address add {missing}/{length} dev lo"))?;
    }
    Ok(())
}

#[test]
fn w8_probes_go_through_every_tunnel_and_with_one_arm_or_vlans_too() -> Result<()> {
    let cases =
        [(Arms::Two, "gre"), (Arms::Two, "gue"), (Arms::One, "ipip"), (Arms::Trunk, "ipip")];
    for (arms, kind) in cases {
        let topology = Topology::new(arms)?;
        let config = Config::new(&topology).kind(kind);
        let appliance = Appliance::start(&topology, &checked(&config, "target = \"vip\"", ""))?;
        for (service, name) in [("web-v4", "b1"), ("web-v4", "b2"), ("web-v6", "b3")] {
            let name = format!("backend=rack/{name} ");
            wait_for(&appliance, 0, &["health changed", service, &name, "\"healthy\""])?;
        }
        appliance.stop(Signal::TERM)?;
    }
    Ok(())
}

#[test]
fn w1_w5_servers_change_their_shares_by_header() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let weigh = |weights: [u16; 3]| {
        let pairs = topology.backends.iter().zip(weights);
        pairs.into_iter().try_for_each(|(backend, weight)| backend.set_weight(Some(weight)))
    };
    weigh([1, 4, 0])?;
    let config = Config::new(&topology);
    let weighted = checked(&config, "", "locality_lb_policy = \"WEIGHTED_MAGLEV\"");
    let appliance = Appliance::start(&topology, &weighted)?;
    becomes(&appliance, 0, "b3", "healthy")?;
    for (weights, expected) in [([1, 4, 0], [20.0, 80.0, 0.0]), ([4, 1, 0], [80.0, 20.0, 0.0])] {
        let from = appliance.log().len();
        weigh(weights)?;
        if weights[0] == 4 {
            wait_for(&appliance, from, &["weight changed", "web-v4", "rack/b1 "])?;
            wait_for(&appliance, from, &["weight changed", "web-v4", "rack/b2 "])?;
        }
        let shares = shares(&topology, 3_000)?;
        println!("weights {weights:?}: {shares:.1?}");
        for (backend, expected) in topology.backends.iter().zip(expected) {
            let share = shares.get(&backend.name).copied().unwrap_or(0.0);
            assert!((share - expected).abs() <= 2.0, "{}: {share} of {expected}", backend.name);
        }
    }
    appliance.stop(Signal::TERM)?;
    Ok(())
}

/// New connections, one after the other, until `done`: when each failed one began.
fn load(topology: &Topology, done: impl Fn(usize) -> bool) -> (usize, Vec<Instant>) {
    let (mut asked, mut failed) = (0, Vec::new());
    while !done(asked) {
        let begun = Instant::now();
        let port = FIRST_PORT + asked as u16 % 40_000;
        let answer = Connection::open_from(&topology.client, port, VIP());
        if answer.and_then(|mut connection| connection.who()).is_err() {
            failed.push(begun);
        }
        asked += 1;
    }
    (asked, failed)
}

#[test]
fn a_backend_that_crashes_under_load_costs_new_connections_only_until_it_is_found_out() -> Result<()>
{
    let mut topology = Topology::new(Arms::Two)?;
    let config = checked(&Config::new(&topology), "target = \"vip\"", "");
    let appliance = Appliance::start(&topology, &config)?;
    for name in ["b1", "b2", "b3"] {
        becomes(&appliance, 0, name, "healthy")?;
    }
    let mut open = Vec::new();
    for port in 1_000..1_060 {
        let mut connection = Connection::open_from(&topology.client, port, VIP())?;
        open.push((connection.who()?, connection));
    }
    let from = appliance.log().len();
    let crash = Instant::now();
    topology.backends[0].crash()?;
    let found = || becomes_now(&appliance, from, "b1");
    let (asked, failed) = load(&topology, |_| found());
    let out = crash.elapsed();
    // What was on its way when the verdict fell has been asked by now.
    let (after, failed_after) = load(&topology, |asked| asked == 300);
    println!(
        "crash: out of the set after {out:?}; {asked} new connections until then, {} failed, the last {:?} after the crash; \
         then {} of {after} failed (interval 400 ms, threshold 2, timeout 300 ms)",
        failed.len(),
        failed.last().map(|at| at.duration_since(crash)),
        failed_after.len(),
    );
    assert_eq!(failed_after.len(), 0);
    for (name, connection) in open.iter_mut().filter(|(name, _)| name != "b1") {
        assert_eq!(&connection.who()?, name, "an open connection to another backend");
    }
    topology.backends[0].revive()?;
    becomes(&appliance, from, "b1", "healthy")?;
    appliance.stop(Signal::TERM)?;
    Ok(())
}

fn becomes_now(appliance: &Appliance, from: usize, name: &str) -> bool {
    let log = appliance.log();
    let words = ["eligible set changed", "web-v4", &format!("left=\"rack/{name}\"")];
    let mut lines = log.get(from..).unwrap_or_default().lines();
    // It is logged when it is decided; the workers have it when its Tables are published.
    lines.any(|l| words.iter().all(|w| l.contains(w)))
        && lines.any(|l| l.contains("tables published"))
}

/// Two primaries, of which both have to be healthy, and a failover backend.
fn with_failover(topology: &Topology, draining: bool) -> String {
    let config = Config::new(topology).members([0, 1]);
    let mut text = checked(&config, "", "");
    for family in Family::BOTH {
        let spare = format!(
            "\n] #\n[[service.group]]\nname = \"spare\"\nrole = \"failover\"\n\
             backends = [{{ name = \"b3\", address = \"{}\" }}]\n[service.failover_policy]\n\
             failover_ratio = 0.6\nconnection_draining_on_failover = {draining}\n",
            backend(2, family, 2)
        );
        text = text.replacen("\n]\n", &spare, 1);
    }
    text
}

#[test]
fn t10_e3_services_fail_over_by_ratio_and_back_with_draining_on_and_off() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    for draining in [true, false] {
        let appliance = Appliance::start(&topology, &with_failover(&topology, draining))?;
        for name in ["b1", "b2"] {
            becomes(&appliance, 0, name, "healthy")?;
        }
        wait_for(&appliance, 0, &["health changed", "web-v4", "spare/b3 ", "\"healthy\""])?;
        let before = shares(&topology, 40)?;
        assert_eq!(before.keys().collect::<Vec<_>>(), ["b1", "b2"]);
        let mut open = open_to(&topology, "b2")?;

        let from = appliance.log().len();
        topology.backends[0].set_healthy(false)?;
        becomes(&appliance, from, "b1", "unhealthy")?;
        wait_for(&appliance, from, &["pool changed", "web-v4", "to=\"failover\""])?;
        let during = shares(&topology, 40)?;
        assert_eq!(during.keys().collect::<Vec<_>>(), ["b3"], "one of two is less than 0.6");
        assert_eq!(open.who().is_ok_and(|name| name == "b2"), draining, "draining {draining}");

        let from = appliance.log().len();
        topology.backends[0].set_healthy(true)?;
        wait_for(&appliance, from, &["pool changed", "web-v4", "to=\"primary\""])?;
        assert_eq!(shares(&topology, 40)?, before);
        appliance.stop(Signal::TERM)?;
    }
    Ok(())
}

/// A connection to one backend.
fn open_to(topology: &Topology, name: &str) -> Result<Connection> {
    for port in 1_000..1_200 {
        let mut connection = Connection::open_from(&topology.client, port, VIP())?;
        if connection.who()? == name {
            return Ok(connection);
        }
    }
    Err(Error::Unexpected(format!("nobody is given to {name}")))
}

#[test]
fn r2_a_reload_that_adds_a_dead_backend_is_answered_and_gives_it_nobody() -> Result<()> {
    let mut topology = Topology::new(Arms::Two)?;
    topology.backends[2].crash()?;
    let config = Config::new(&topology);
    let two = checked(&config.clone().members([0, 1]), "", "");
    let appliance = Appliance::start(&topology, &two)?;
    for name in ["b1", "b2"] {
        becomes(&appliance, 0, name, "healthy")?;
    }
    appliance.write(&checked(&config, "", ""))?;
    let said = appliance.tell(&["reload"])?;
    assert!(said.contains("+ rack/b3") && said.contains("In force"), "{said}");
    let shares = shares(&topology, 60)?;
    assert_eq!(shares.keys().collect::<Vec<_>>(), ["b1", "b2"]);
    topology.backends[2].revive()?;
    becomes(&appliance, 0, "b3", "healthy")?;
    appliance.stop(Signal::TERM)?;
    Ok(())
}
