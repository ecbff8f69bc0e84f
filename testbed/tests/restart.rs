//! A process that is killed and started again: an empty connection table, and Maglev (S-2, S-5).

use std::time::{Duration, Instant};

use rustix::process::Signal;
use testbed::Result;
use testbed::address::{Family, vip, vips};
use testbed::appliance::Appliance;
use testbed::client::{Connection, taken};
use testbed::config::Config;
use testbed::topology::{Arms, Topology};

const CONNECTIONS: usize = 60;

#[test]
fn killed_and_started_again_it_serves_and_open_connections_go_on_at_their_backends() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let config = Config::new(&topology);
    let appliance = Appliance::start(&topology, &config)?;
    let vips: Vec<_> = vips().collect::<Vec<_>>().into_iter().cycle().take(CONNECTIONS).collect();
    let mut open = Vec::new();
    for vip in vips {
        let mut connection = Connection::open(&topology.client, vip)?;
        let backend = connection.who()?;
        open.push((connection, backend));
    }
    appliance.kill()?;

    let began = Instant::now();
    let mut again = Appliance::start_unseen(&topology, &config, "", "--log-format human")?;
    let first = vip(Family::V4, Family::V4);
    while !taken(&topology.client, first, Duration::from_millis(50))? {
        assert!(began.elapsed() < Duration::from_secs(20), "{}", again.log());
    }
    let served = began.elapsed();
    again.wait_for_log("running workers=")?;

    let mut same = 0;
    for (connection, backend) in &mut open {
        same += usize::from(connection.who().is_ok_and(|now| now == *backend));
    }
    println!(
        "killed and started again: the first new connection {served:.2?} after the start; \
         {same} of {CONNECTIONS} open connections went on at their backends"
    );
    assert_eq!(same, CONNECTIONS);
    again.stop(Signal::TERM)?;
    Ok(())
}

/// Though `initial_health` says otherwise: first results are awaited.
#[test]
fn killed_and_started_again_it_gives_nobody_to_a_backend_that_has_died_meanwhile() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let check = "initial_health = \"healthy\"\nhealth_check = { protocol = \"HTTP\", port = 80, \
                 request_path = \"/healthz\", interval = \"60s\", timeout = \"3s\" }";
    let config = Config::new(&topology).to_string();
    let config = config.replace("initial_health = \"healthy\"", check);
    Appliance::start(&topology, &config)?.kill()?;
    topology.backends[2].crash()?;

    let again = Appliance::start_unseen(&topology, &config, "", "--log-format human")?;
    let ends = Instant::now() + Duration::from_secs(20);
    while !taken(&topology.client, vip(Family::V4, Family::V4), Duration::from_millis(50))? {
        assert!(Instant::now() < ends, "{}", again.log());
    }
    for vip in vips().collect::<Vec<_>>().into_iter().cycle().take(CONNECTIONS) {
        let name = Connection::open(&topology.client, vip)?.who()?;
        assert_ne!(name, "b3", "{vip}");
    }
    again.stop(Signal::TERM)?;
    Ok(())
}
