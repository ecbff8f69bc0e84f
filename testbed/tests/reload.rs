//! SIGHUP: what goes on, what stops, what is refused (R-1 to R-5, T-13).

use rustix::process::Signal;
use testbed::Result;
use testbed::address::{Family, vip};
use testbed::appliance::Appliance;
use testbed::client::{Connection, ask, noise};
use testbed::config::Config;
use testbed::topology::{Arms, Topology};

#[test]
fn a_connection_survives_ten_reloads_that_keep_its_backend() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let full = Config::new(&topology);
    let mut appliance = Appliance::start(&topology, &full)?;
    let mut connection = Connection::open(&topology.client, vip(Family::V4, Family::V4))?;
    let backend = connection.who()?;
    let others: Vec<_> = (0..3).filter(|i| format!("b{}", i + 1) != backend).collect();
    for round in 0..10 {
        // The tunnel changes, and each of the others leaves and returns.
        let kind = ["gre", "ipip"][round % 2];
        let gone = others[round / 2 % 2];
        let config = full.clone().kind(kind).members((0..3).filter(|&i| i != gone));
        appliance.reload(&config)?;
        assert_eq!(connection.who()?, backend, "round {round}");
    }
    appliance.stop(Signal::TERM)?;
    Ok(())
}

#[test]
fn a_removed_backend_keeps_its_upload_and_gets_no_new_connection() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let full = Config::new(&topology);
    for (round, family) in Family::BOTH.into_iter().enumerate() {
        let mut appliance = Appliance::start(&topology, &full)?;
        let mut connection = Connection::open(&topology.client, vip(family, family))?;
        let name = connection.who()?;
        let removed = topology.backends.iter().find(|b| b.name == name).expect("it answered");
        let (file, body) = (format!("long-{round}"), noise(1_000_000));
        connection.begin_upload(&file, body.len())?;
        connection.send(&body[..400_000])?;

        appliance.reload(&full.clone().without(&name))?;
        let before = removed.connections()?;
        for _ in 0..100 {
            assert_ne!(ask(&topology.client, vip(family, family))?, name);
        }
        assert_eq!(removed.connections()?, before, "a new connection reached {name}");

        connection.send(&body[400_000..])?;
        connection.end_upload()?;
        assert!(removed.upload(&file)? == body, "{name} got other bytes");
        appliance.stop(Signal::TERM)?;
    }
    Ok(())
}

#[test]
fn without_a_draining_timeout_a_removed_backends_connections_move_at_once() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let full = Config { draining: "0s", ..Config::new(&topology) };
    let mut appliance = Appliance::start(&topology, &full)?;
    let mut connection = Connection::open(&topology.client, vip(Family::V4, Family::V4))?;
    let backend = connection.who()?;
    appliance.reload(&full.clone().without(&backend))?;
    // Another backend gets the next packet, and resets what it does not know.
    assert!(connection.who().is_err());
    appliance.stop(Signal::TERM)?;
    Ok(())
}

#[test]
fn a_bad_file_changes_nothing_and_the_log_says_why() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let full = Config::new(&topology);
    let mut appliance = Appliance::start(&topology, &full)?;
    let mut connection = Connection::open(&topology.client, vip(Family::V6, Family::V6))?;
    let backend = connection.who()?;
    let good = full.to_string();
    let cases = [
        ("a value that is no protocol", good.replace("\"TCP\"", "\"SCTP\""), "SCTP"),
        (
            "a service that there is not",
            good.replace("service = \"web-v6\"", "service = \"x\""),
            "x",
        ),
        ("no TOML", "[[".to_owned(), "windrose.toml"),
        ("what needs a restart (R-5)", good.replace("\"128M\"", "\"64M\""), "memory"),
    ];
    for (name, bad, named) in cases {
        appliance.reload_refused(&bad, named)?;
        assert_eq!(connection.who()?, backend, "{name}");
        ask(&topology.client, vip(Family::V4, Family::V6))?;
    }
    appliance.stop(Signal::TERM)?;
    Ok(())
}
