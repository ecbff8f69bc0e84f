//! A backend is lost under 1,000 new connections a second: whom that costs what, and until when.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use testbed::address::{Family, vip};
use testbed::appliance::Appliance;
use testbed::client::Connection;
use testbed::config::Config;
use testbed::offered::{Attempt, Offer, offer};
use testbed::topology::{Arms, Topology};
use testbed::{Error, Result};

const VIP: fn() -> IpAddr = || vip(Family::V4, Family::V4);

/// Connections a second.
const RATE: u32 = 1_000;

const INTERVAL: Duration = Duration::from_millis(400);
const THRESHOLD: u32 = 2;
const TIMEOUT: Duration = Duration::from_millis(300);

/// What a client waits for before it gives up: less than the second after which its kernel would
/// send the first packet again, which then may be given to another backend.
const PATIENCE: Duration = Duration::from_millis(800);

/// What the test itself waits for: whoever is given to a dead backend is not answered by then, and
/// a slow machine answers.
const LONG: Duration = Duration::from_secs(5);

/// How long it goes on before, and after.
const AROUND: Duration = Duration::from_secs(2);

#[test]
fn a_server_that_is_killed_under_1000_new_connections_a_second() -> Result<()> {
    lose("killed server", |topology| topology.backends[0].crash())
}

#[test]
fn a_host_that_is_gone_under_1000_new_connections_a_second() -> Result<()> {
    lose("host that is gone", |topology| topology.unplug(0))
}

fn checked(config: &Config) -> String {
    let check = format!(
        "initial_health = \"unhealthy\"\nhealth_check = {{ protocol = \"HTTP\", port = 80, \
         request_path = \"/healthz\", interval = \"{}ms\", timeout = \"{}ms\", \
         unhealthy_threshold = {THRESHOLD}, healthy_threshold = 1 }}",
        INTERVAL.as_millis(),
        TIMEOUT.as_millis()
    );
    config.to_string().replace("initial_health = \"healthy\"", &check)
}

/// When it was lost, and when the workers knew.
struct Lost {
    at: Instant,
    out: Instant,
}

fn lose(what: &str, ends: fn(&Topology) -> Result<()>) -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    // Connections that are over make room in the table for others.
    let config = checked(&Config { idle: "5s", ..Config::new(&topology) });
    let appliance = Appliance::start(&topology, &config)?;
    for name in ["b1", "b2", "b3"] {
        appliance.wait_for_line(0, &["health changed", "web-v4", name, "\"healthy\""])?;
    }
    let open = open(&topology)?;
    let kept = open.len();
    let over = AtomicBool::new(false);
    let going = || !over.load(Ordering::Relaxed);
    let offering = Offer { vip: VIP(), rate: RATE, patience: LONG };
    let (lost, attempts, exchanges) = std::thread::scope(|scope| {
        let offered = scope.spawn(|| offer(&topology.client, offering, going));
        let keeper = scope.spawn(|| keep(open, going));
        let lost = watch(&topology, &appliance, ends);
        over.store(true, Ordering::Relaxed);
        Ok::<_, Error>((lost?, join(offered)?, join(keeper)?))
    })?;
    println!(
        "{what}: {}; {exchanges} exchanges over {kept} open connections",
        tell(&lost, &attempts)
    );

    let failed: Vec<_> = attempts.iter().filter(|attempt| attempt.answer.is_err()).collect();
    // What was on its way at that moment may have been with the one that was lost.
    let before: Vec<_> = failed.iter().filter(|a| a.begun + a.took < lost.at).collect();
    assert!(before.is_empty(), "before: {before:?}");
    let after: Vec<_> = failed.iter().filter(|a| a.begun >= lost.out).collect();
    assert!(after.is_empty(), "it is out of the set: {after:?}");
    let to_it = attempts.iter().filter(|a| a.begun >= lost.out);
    assert!(to_it.clone().all(|a| a.answer.as_deref() != Ok("b1")), "it is dead");
    assert!(to_it.count() > 0);
    appliance.stop(Signal::TERM)?;
    Ok(())
}

fn join<T>(thread: std::thread::ScopedJoinHandle<'_, Result<T>>) -> Result<T> {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// It goes on for a while, then the first backend is lost; when it is out of the set it goes on again.
fn watch(
    topology: &Topology,
    appliance: &Appliance,
    ends: fn(&Topology) -> Result<()>,
) -> Result<Lost> {
    std::thread::sleep(AROUND);
    let from = appliance.log().len();
    let at = Instant::now();
    ends(topology)?;
    // It is logged when it is decided; the workers have it when its Tables are published.
    let words = ["eligible set changed", "web-v4", "left=\"rack/b1\""];
    let decided = appliance.wait_for_line(from, &words)?;
    appliance.wait_for_line(decided, &["tables published"])?;
    let out = Instant::now();
    std::thread::sleep(AROUND);
    Ok(Lost { at, out })
}

/// Connections to the backends that stay.
fn open(topology: &Topology) -> Result<Vec<(String, Connection)>> {
    let mut open = Vec::new();
    for port in 1_000..1_060 {
        let mut connection = Connection::open_from(&topology.client, port, VIP())?;
        open.push((connection.who()?, connection));
    }
    open.retain(|(name, _)| name != "b1");
    Ok(open)
}

/// A request and its answer over each, again and again: they stay at their backends.
fn keep(mut open: Vec<(String, Connection)>, going: impl Fn() -> bool) -> Result<usize> {
    let mut exchanges = 0;
    while going() {
        for (name, connection) in &mut open {
            let now = connection.who()?;
            if now != *name {
                return Err(Error::Unexpected(format!("a connection to {name} is at {now}")));
            }
            exchanges += 1;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(exchanges)
}

/// The first and the last to begin.
fn ends<'a>(of: impl Iterator<Item = &'a Attempt> + Clone) -> [Option<Instant>; 2] {
    [of.clone().map(|a| a.begun).min(), of.map(|a| a.begun).max()]
}

/// The figures, each beside what it is to be compared with.
fn tell(lost: &Lost, attempts: &[Attempt]) -> String {
    let [begin, end] = ends(attempts.iter());
    let span = begin.zip(end).map_or(Duration::ZERO, |(begin, end)| end - begin);
    let rate = attempts.len() as f64 / span.as_secs_f64();
    let failed = attempts.iter().filter(|a| !a.served_within(PATIENCE));
    let after = |at: Option<Instant>| at.map_or(Duration::ZERO, |at| at.duration_since(lost.at));
    let [first, last] = ends(failed.clone()).map(after);
    let slow = failed.clone().filter(|a| a.answer.is_ok()).count();
    format!(
        "{rate:.0} new connections a second offered of {RATE}; out of the set after {:.2?}; {} of {} failed, \
         the first {first:.2?} and the last {last:.2?} after the loss (bound: {:?} × {THRESHOLD} + {:?} = {:?}); \
         a client gives up after {PATIENCE:?}, and {slow} of these would have been answered later",
        lost.out - lost.at,
        failed.count(),
        attempts.len(),
        INTERVAL,
        TIMEOUT,
        INTERVAL * THRESHOLD + TIMEOUT,
    )
}
