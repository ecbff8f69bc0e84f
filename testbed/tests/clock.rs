//! The wall clock is set under traffic, by hours and years, forth and back: only the time in front of
//! log lines follows.

use std::time::Duration;

use rustix::process::Signal;
use testbed::address::{CLIENT, Family, vip};
use testbed::appliance::Appliance;
use testbed::client::Connection;
use testbed::clock::{Clock, hour_in};
use testbed::config::Config;
use testbed::load;
use testbed::supervisor::Supervisor;
use testbed::topology::{Arms, Topology};
use testbed::{Error, Result};

const HOUR: i64 = 3_600;

/// Ahead of the right time, one after the other.
const STEPS: [i64; 5] = [6 * HOUR, -11 * HOUR, 10 * 365 * 24 * HOUR, -2 * HOUR, 0];

/// It is dead when nothing was heard from it for so long; it gives a sign four times as often.
const WATCHDOG: Duration = Duration::from_secs(4);

#[test]
fn clock_steps_by_hours_under_traffic_move_nothing_but_the_logs_time() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let (clock, mut supervisor) = (Clock::new()?, Supervisor::new()?);
    let before = format!("{} {}", clock.environment(), supervisor.environment(WATCHDOG));
    let config = checked(&Config::new(&topology));
    let mut appliance = Appliance::start_after(&topology, &config, &before)?;
    for name in ["b1", "b2", "b3"] {
        appliance.wait_for_line(0, &["health changed", "web-v4", name, "\"healthy\""])?;
        appliance.wait_for_line(0, &["health changed", "web-v6", name, "\"healthy\""])?;
    }
    let mut quiet = kept_by_its_entry_alone(&topology, &appliance)?;

    let ((), figures) = load::during(&topology, 12, || {
        for ahead in STEPS {
            step(&clock, ahead, &config, &mut appliance, &mut supervisor)?;
        }
        Ok(())
    })?;
    println!("{} clock steps: {figures}", STEPS.len());
    let (name, connection) = &mut quiet;
    assert_eq!(&connection.who()?, name, "its entry has expired, or its backend's drain has ended");
    appliance.stop(Signal::TERM)?;
    Ok(())
}

/// Asked often, and not judged by a moment in which the machine is busy.
fn checked(config: &Config) -> String {
    let check = "initial_health = \"unhealthy\"\nhealth_check = { protocol = \"HTTP\", port = 80, \
                 request_path = \"/healthz\", interval = \"1s\", timeout = \"1s\", \
                 unhealthy_threshold = 3, healthy_threshold = 1 }";
    config.to_string().replace("initial_health = \"healthy\"", check)
}

/// A connection that says nothing, to a backend that takes no new ones: what the connection table
/// and the drain's deadline forget goes elsewhere.
fn kept_by_its_entry_alone(
    topology: &Topology,
    appliance: &Appliance,
) -> Result<(String, Connection)> {
    let web = vip(Family::V4, Family::V4);
    let mut connection = Connection::open_from(&topology.client, 40_000, web)?;
    let name = connection.who()?;
    appliance.tell(&["backend", "drain", "web-v4", &format!("rack/{name}")])?;
    Ok((name, connection))
}

fn step(
    clock: &Clock,
    ahead: i64,
    config: &str,
    appliance: &mut Appliance,
    supervisor: &mut Supervisor,
) -> Result<()> {
    let from = appliance.log().len();
    let hour = hour_in(ahead)?;
    clock.set(ahead)?;
    let heard = supervisor.listen(WATCHDOG / 2);
    assert!(heard.contains("WATCHDOG=1"), "{ahead}: no sign of life: {heard}");
    appliance.reload(&config)?;
    let log = appliance.log();
    let news = log.get(from..).unwrap_or_default();
    let reloaded = news.lines().find(|line| line.contains(" reloaded ")).unwrap_or_default();
    // The hour may have ended meanwhile.
    let times = [hour, hour_in(ahead)?];
    assert!(times.iter().any(|hour| reloaded.starts_with(hour)), "{ahead}: {times:?}: {reloaded}");
    for change in ["health changed", "eligible set changed", "drained: its", "stalled"] {
        assert!(!news.contains(change), "{ahead}: {change}: {news}");
    }
    ages_are_sane(appliance, ahead)
}

/// Nothing is older than the process, which has run for minutes at most.
fn ages_are_sane(appliance: &Appliance, ahead: i64) -> Result<()> {
    let connections = ["connections", "--client", CLIENT[0], "--format", "json"];
    for words in [&["status", "--format", "json"][..], &connections] {
        let answer = appliance.tell(words)?;
        let answer: serde_json::Value =
            serde_json::from_str(&answer).map_err(|e| Error::Unexpected(e.to_string()))?;
        let mut ages = Vec::new();
        collect(&answer, &mut ages);
        assert!(!ages.is_empty(), "{answer}");
        let sane = |(_, age): &&(String, f64)| (0.0..300.0).contains(age);
        assert_eq!(ages.iter().find(|age| !sane(age)), None, "{ahead}: {answer}");
    }
    Ok(())
}

/// Every span of the past in an answer, with its name.
fn collect(answer: &serde_json::Value, ages: &mut Vec<(String, f64)>) {
    const NAMES: [&str; 5] =
        ["uptime_seconds", "seconds_ago", "since_seconds", "age_seconds", "idle_seconds"];
    match answer {
        serde_json::Value::Object(fields) => {
            for (name, value) in fields {
                if NAMES.contains(&name.as_str()) {
                    ages.extend(value.as_f64().map(|age| (name.clone(), age)));
                }
                collect(value, ages);
            }
        }
        serde_json::Value::Array(items) => items.iter().for_each(|item| collect(item, ages)),
        _ => {}
    }
}
