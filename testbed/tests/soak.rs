//! Everything at once for a while: clients that come, go and stay, reloads, refused files, orders, a
//! backend that fails its check and passes it again. What the process takes of memory and of file
//! descriptors stays what it was. Two minutes in CI, shorter elsewhere (`SOAK_SECONDS` chooses), and up
//! to three times as long where it has not settled by then: what the allocator keeps for its threads
//! (the heap in use stays the same) reaches its most after some thousand changes, and a slow machine
//! makes few a second. A leak goes on growing.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use testbed::appliance::{Appliance, TOTAL};
use testbed::config::Config;
use testbed::load;
use testbed::topology::{Arms, Topology};
use testbed::{Error, Result};

/// What a third may take more than the one before: less than half a kilobyte for each change in it.
const SLACK_KB: u64 = 256;

/// The same of file descriptors: there are always some probes and questions under way.
const SLACK_FILES: u64 = 16;

/// What the process takes.
struct Sample {
    kilobytes: u64,
    files: u64,
}

#[test]
fn memory_is_flat_under_churn_reloads_bad_files_orders_and_flapping_health() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    // Connections that are over make room for others: in a full table a new one has no entry, and does
    // not survive a change of the set (D-4).
    let full = Config { idle: "10s", ..Config::new(&topology) };
    let mut appliance = Appliance::start(&topology, &checked(&full))?;
    let began = Instant::now();
    let (samples, figures) =
        load::during(&topology, 12, || soak(&mut appliance, &topology, &changes(&full)))?;

    let memory = thirds(&samples, |sample| sample.kilobytes);
    let files = thirds(&samples, |sample| sample.files);
    let [warm, middle, last] = memory;
    let log = appliance.log();
    let flaps = log.matches("eligible set changed service=web-v4").count();
    println!(
        "{} s, {} changes, {flaps} of the eligible set in the log: {figures}; anonymous memory {warm} kB at first, then {middle}, then {last}; \
         file descriptors {files:?}",
        began.elapsed().as_secs(),
        samples.len()
    );
    assert!(log.contains("to=\"unhealthy\""), "the first backend was never found to fail:\n{log}");
    // Of each kind the log has ten a minute; a slow machine makes few changes.
    assert!(flaps > 3, "the eligible set has hardly changed ({flaps} times):\n{log}");
    assert!(flat(memory, SLACK_KB), "it grows: {warm}, {middle}, {last} kB");
    assert!(flat(files, SLACK_FILES), "it opens files and does not close them: {files:?}");
    let counters = appliance.stop(Signal::TERM)?;
    assert_eq!(counters.get("received"), counters.get(TOTAL), "{counters:?}");
    Ok(())
}

fn length() -> Duration {
    let chosen = std::env::var("SOAK_SECONDS").ok().and_then(|s| s.parse().ok());
    let default = if std::env::var_os("CI").is_some() { 120 } else { 20 };
    Duration::from_secs(chosen.unwrap_or(default))
}

/// Every backend is asked often enough that its health follows.
fn checked(config: &Config) -> String {
    let check = "initial_health = \"healthy\"\nhealth_check = { protocol = \"HTTP\", port = 80, \
                 request_path = \"/healthz\", interval = \"100ms\", timeout = \"100ms\", \
                 healthy_threshold = 1, unhealthy_threshold = 1 }";
    config.to_string().replace("initial_health = \"healthy\"", check)
}

/// What happens to it.
enum Change {
    File(Config),
    /// What the first backend's check says.
    Health(bool),
    BadFile,
    /// A command of the operator's.
    Command(&'static [&'static str]),
}

/// In turn.
fn changes(full: &Config) -> Vec<Change> {
    use Change::{BadFile, Command, File, Health};
    vec![
        File(full.clone().kind("gre")),
        File(full.clone().without("b1")),
        Command(&["backend", "disable", "web-v4", "rack/b3"]),
        BadFile,
        Command(&["status"]),
        File(full.clone()),
        Health(false),
        Command(&["backend", "drain", "web-v6", "rack/b3"]),
        Command(&["backend", "enable", "web-v4", "rack/b3"]),
        File(Config { draining: "30s", ..full.clone().kind("gre").without("b2") }),
        Command(&["backend", "enable", "web-v6", "rack/b3"]),
        Command(&["health"]),
        Health(true),
        Command(&["counters"]),
        File(full.clone()),
    ]
}

/// Changes one after another; what it takes of memory after each.
fn soak(appliance: &mut Appliance, topology: &Topology, changes: &[Change]) -> Result<Vec<Sample>> {
    let began = Instant::now();
    let mut samples = Vec::new();
    for change in changes.iter().cycle() {
        let elapsed = began.elapsed();
        let settled = || flat(thirds(&samples, |sample| sample.kilobytes), SLACK_KB);
        if elapsed >= 3 * length() || elapsed >= length() && settled() {
            break;
        }
        match change {
            Change::File(config) => appliance.reload(&checked(config))?,
            Change::Health(passes) => topology.backends[0].set_healthy(*passes)?,
            Change::BadFile => appliance.reload_refused(&"[[", "windrose.toml")?,
            Change::Command(words) => drop(appliance.tell(words)?),
        }
        let pid = appliance.pid();
        samples.push(Sample { kilobytes: anonymous(pid)?, files: files(pid)? });
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(samples)
}

/// Memory that is no file's, resident, kB.
fn anonymous(pid: u32) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("RssAnon:"));
    let figure = line.and_then(|l| l.split_whitespace().next()?.parse().ok());
    figure.ok_or_else(|| Error::Unexpected(format!("no RssAnon of {pid}: {status}")))
}

/// How many files it has open.
fn files(pid: u32) -> Result<u64> {
    let open = std::fs::read_dir(format!("/proc/{pid}/fd"));
    let open = open.map_err(|e| Error::Unexpected(format!("the files of {pid}: {e}")))?;
    Ok(open.count() as u64)
}

fn flat([_, middle, last]: [u64; 3], slack: u64) -> bool {
    last <= middle + slack
}

/// The median of a figure in each third.
fn thirds(samples: &[Sample], figure: impl Fn(&Sample) -> u64) -> [u64; 3] {
    let third = samples.len() / 3;
    let median = |n: usize| {
        let mut part: Vec<_> = samples.iter().skip(n * third).take(third).map(&figure).collect();
        part.sort_unstable();
        part.get(third / 2).copied().unwrap_or(0)
    };
    [median(0), median(1), median(2)]
}
