//! A worker that panics. What it panics of is the standard library's own look at a clock that fails:
//! no code of Windrose's is there for this.

use std::time::Duration;

use rustix::process::Signal;
use testbed::Result;
use testbed::address::{Family, vip};
use testbed::appliance::Appliance;
use testbed::client::ask;
use testbed::clock::Clock;
use testbed::config::Config;
use testbed::supervisor::Supervisor;
use testbed::topology::{Arms, Topology};

/// What the kernel is told on the interfaces under the ports while Windrose runs.
const SETTINGS: [&str; 3] =
    ["ipv4/conf/lb0/arp_ignore", "ipv4/conf/lb0/rp_filter", "ipv6/conf/lb0/disable_ipv6"];

#[test]
fn a_worker_that_panics_ends_the_process_with_the_reason_and_leaves_the_machine_as_it_was()
-> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let config = checked(&Config::new(&topology));
    let before = state(&topology)?;
    let (clock, mut supervisor) = (Clock::new()?, Supervisor::new()?);
    let environment =
        format!("{} {}", clock.environment(), supervisor.environment(Duration::from_secs(10)));
    let appliance = Appliance::start_after(&topology, &config, &environment)?;
    ask(&topology.client, vip(Family::V4, Family::V4))?;
    assert_ne!(state(&topology)?, before, "there is something to put back");
    let socket = appliance.socket();

    clock.fail_a_worker()?;
    let message = supervisor.wait_for("STOPPING=1", 10)?;
    assert!(message.contains("STATUS=worker 0 ended by itself"), "{message}");
    let (status, log) = appliance.ended()?;
    assert_eq!(status.code(), Some(70), "{log}");
    for (words, why) in [
        (["panicked", "thread=\"worker\""], "where, as it happens"),
        (["a worker failed", "worker 0 panicked: called `Result::unwrap()`"], "why"),
        (["worker 0 ended by itself", ""], "what ends the process"),
    ] {
        let has = |line: &str| words.iter().all(|word| line.contains(word));
        assert!(log.lines().any(has), "{why}: {words:?}: {log}");
    }
    assert_eq!(state(&topology)?, before);
    assert!(!socket.exists(), "the control socket");

    // As the unit does: another start, on the same devices.
    let again = Appliance::start(&topology, &config)?;
    ask(&topology.client, vip(Family::V4, Family::V4))?;
    again.stop(Signal::TERM)?;
    Ok(())
}

/// With checks to the VIP: they have rules and a routing table.
fn checked(config: &Config) -> String {
    let check = "initial_health = \"healthy\"\nhealth_check = { protocol = \"HTTP\", port = 80, \
                 request_path = \"/healthz\" }";
    config.to_string().replace("initial_health = \"healthy\"", check)
}

/// Interfaces, rules, routes and settings of the appliance's kernel; without what the kernel makes of
/// links by itself, a moment after each change.
fn state(topology: &Topology) -> Result<String> {
    let settings = SETTINGS.map(|key| format!("/proc/sys/net/{key}")).join(" ");
    let mut state = topology.appliance.run(&format!("cat {settings}"))?;
    for line in topology.appliance.ip("-br link")?.lines() {
        let name = line.split(['@', ' ']).next().unwrap_or_default();
        state += &format!("{name} promiscuous: {}\n", line.contains("PROMISC"));
    }
    for what in ["rule", "-6 rule", "route show table all", "-6 route show table all"] {
        let of_links = |line: &&str| line.contains("fe80::") || line.contains("ff00::");
        let listed = topology.appliance.ip(what)?;
        listed
            .lines()
            .filter(|line| !of_links(line))
            .for_each(|line| state += &format!("{line}\n"));
    }
    Ok(state)
}
