//! What `windrose run` is to whoever supervises it: readiness, signs of life, an end with a reason.

use std::time::Duration;

use rustix::process::Signal;
use testbed::Result;
use testbed::address::{Family, vip};
use testbed::appliance::Appliance;
use testbed::client::{Connection, ask};
use testbed::config::Config;
use testbed::stall::Stalled;
use testbed::supervisor::Supervisor;
use testbed::topology::{Arms, Topology};

/// It is dead when nothing was heard from it for so long; it gives a sign four times as often.
const WATCHDOG: Duration = Duration::from_secs(4);

#[test]
fn the_service_manager_hears_of_readiness_reloads_life_and_the_end() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let config = Config::new(&topology);
    let mut supervisor = Supervisor::new()?;
    let environment = supervisor.environment(WATCHDOG);
    let mut appliance = Appliance::start_after(&topology, &config, &environment)?;
    supervisor.wait_for("READY=1", 20)?;
    ask(&topology.client, vip(Family::V4, Family::V4))?;
    supervisor.wait_for("STATUS=generation *: 2 services, 6 of 6 backends healthy", 5)?;
    supervisor.wait_for("WATCHDOG=1", 5)?;

    appliance.reload(&config.clone().without("b1"))?;
    let message = supervisor.wait_for("RELOADING=1", 5)?;
    assert!(message.contains("MONOTONIC_USEC="), "{message}");
    supervisor.wait_for("READY=1", 5)?;
    supervisor.wait_for("STATUS=generation *: 2 services, 4 of 4 backends healthy", 5)?;

    appliance.reload_refused(&"[[", "windrose.toml")?;
    supervisor.wait_for("READY=1", 5)?;
    supervisor.wait_for("STATUS=generation *; last reload refused: *", 5)?;
    let heard = supervisor.listen(WATCHDOG);
    assert!(heard.matches("WATCHDOG=1").count() >= 2, "{heard}");

    appliance.stop(Signal::TERM)?;
    supervisor.wait_for("STOPPING=1", 5)?;
    Ok(())
}

#[test]
fn a_worker_that_stalls_ends_the_process_with_its_name_before_the_manager_would() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let mut supervisor = Supervisor::new()?;
    let environment = supervisor.environment(WATCHDOG);
    let mut appliance = Appliance::start_after(&topology, &Config::new(&topology), &environment)?;
    supervisor.wait_for("WATCHDOG=1", 10)?;

    let stalled = Stalled::thread(appliance.pid(), "rte-worker")?;
    appliance.wait_for_log("worker 0 is stalled")?;
    let message = supervisor.wait_for("STOPPING=1", 5)?;
    assert!(message.contains("STATUS=worker 0 is stalled"), "{message}");
    drop(stalled);
    let (status, log) = appliance.ended()?;
    assert_eq!(status.code(), Some(70), "{log}");
    Ok(())
}

/// One that never sleeps is never without Tables (D-5).
#[test]
fn a_worker_that_keeps_old_tables_is_named_until_it_has_moved_on() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let config = Config::new(&topology);
    let spinning = |config: Config| config.to_string().replace("\"adaptive\"", "\"spin\"");
    let mut appliance = Appliance::start(&topology, &spinning(config.clone()))?;
    ask(&topology.client, vip(Family::V4, Family::V4))?;
    let stalled = Stalled::thread(appliance.pid(), "rte-worker")?;
    appliance.ask_for_reload(&spinning(config.without("b1")))?;
    appliance.wait_for_log("still on old Tables: worker 0")?;
    let status = appliance.tell(&["status"])?;
    assert!(status.contains("STILL ON OLD TABLES: worker 0"), "{status}");
    drop(stalled);
    appliance.wait_for_log("all workers are on new Tables again")?;
    ask(&topology.client, vip(Family::V4, Family::V4))?;
    appliance.stop(Signal::TERM)?;
    Ok(())
}

#[test]
fn a_control_thread_that_hangs_gives_no_sign_of_life_and_is_not_deceived_when_it_goes_on()
-> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let mut supervisor = Supervisor::new()?;
    let environment = supervisor.environment(WATCHDOG);
    let appliance = Appliance::start_after(&topology, &Config::new(&topology), &environment)?;
    supervisor.wait_for("WATCHDOG=1", 10)?;
    let hangs = Stalled::thread(appliance.pid(), "windrose")?;
    supervisor.listen(Duration::from_millis(100));
    let heard = supervisor.listen(WATCHDOG);
    assert_eq!(heard, "", "systemd would end it now");
    // Packets do not wait for it.
    ask(&topology.client, vip(Family::V4, Family::V4))?;
    drop(hangs);
    supervisor.wait_for("WATCHDOG=1", 5)?;
    appliance.stop(Signal::TERM)?;
    Ok(())
}

#[test]
fn a_full_disk_and_a_closed_output_cost_the_log_and_nothing_else() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let full = Config::new(&topology);
    // A file system of a few pages that is full from the start; then no output at all.
    let disk = "mount -t tmpfs -o size=16k none /mnt && (yes >/mnt/fill; true) 2>/dev/null;";
    for (before, after) in [(disk, ">/mnt/out 2>/mnt/log"), ("", ">&- 2>&-")] {
        let mut supervisor = Supervisor::new()?;
        let before = format!("{before} {}", supervisor.environment(WATCHDOG));
        let mut appliance = Appliance::start_unseen(&topology, &full, &before, after)?;
        supervisor.wait_for("READY=1", 20)?;
        if before.contains("tmpfs") {
            let disk = format!("/proc/{}/root/mnt", appliance.pid());
            let free = rustix::fs::statvfs(disk).expect("it is mounted there").f_bavail;
            assert_eq!(free, 0, "the disk is not full");
        }
        let mut connection = Connection::open(&topology.client, vip(Family::V4, Family::V4))?;
        let backend = connection.who()?;
        let gone = ["b1", "b2"].into_iter().find(|b| *b != backend).unwrap_or("b3");

        appliance.ask_for_reload(&"[[")?;
        supervisor.wait_for("RELOADING=1", 5)?;
        supervisor.wait_for("STATUS=generation *; last reload refused: *", 5)?;
        appliance.ask_for_reload(&full.clone().without(gone))?;
        supervisor.wait_for("STATUS=generation *: 2 services, 4 of 4 backends healthy", 5)?;
        assert_eq!(connection.who()?, backend);
        for _ in 0..20 {
            assert_ne!(ask(&topology.client, vip(Family::V4, Family::V4))?, gone);
        }
        appliance.stop(Signal::TERM)?;
    }
    Ok(())
}

#[test]
fn without_a_terminal_every_line_of_the_log_is_json_with_the_names_to_search_for() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let full = Config::new(&topology);
    let mut supervisor = Supervisor::new()?;
    let environment = supervisor.environment(WATCHDOG);
    let mut appliance = Appliance::start_unseen(&topology, &full, &environment, "")?;
    supervisor.wait_for("READY=1", 20)?;
    appliance.ask_for_reload(&full.clone().without("b1"))?;
    appliance.wait_for_log("\"message\":\"reloaded\"")?;
    appliance.ask_for_reload(&full.to_string().replace("\"TCP\"", "\"SCTP\""))?;
    appliance.wait_for_log("reload refused")?;
    let log = appliance.log();
    appliance.stop(Signal::TERM)?;

    let lines: Vec<serde_json::Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")))
        .collect();
    let find = |message: &str, name: &str, value: serde_json::Value| {
        let is = |l: &&serde_json::Value| l["message"] == message && l[name] == value;
        lines.iter().find(is).unwrap_or_else(|| panic!("no `{message}` with {name} {value}: {log}"))
    };
    find("running", "workers", 1.into());
    let reloaded = find("reloaded", "level", "INFO".into());
    assert!(reloaded["changes"].as_str().is_some_and(|c| c.contains("- rack/b1: ")), "{reloaded}");
    let change = find("eligible set changed", "left", "rack/b1".into());
    assert_eq!((&change["from"], &change["to"]), (&3.into(), &2.into()), "{change}");
    assert_eq!(change["service"], "web-v4");
    find("tables published", "generation", change["generation"].clone());
    let refused = find("reload refused, the old configuration goes on", "level", "ERROR".into());
    assert!(refused["reason"].as_str().is_some_and(|r| r.contains("SCTP")), "{refused}");
    Ok(())
}
