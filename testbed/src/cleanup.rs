//! Nothing is left behind: not by a run that ends, panics or is interrupted, and not for long by
//! one that is killed.
//!
//! Names of namespaces and directories carry the process id and its start time, which together name one process for good. A run
//! removes its own namespaces; on its way it also removes those whose process is gone. Programs
//! are started so that the kernel ends them when the thread that started them goes
//! ([`crate::process`]).

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard, Once, PoisonError};

use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::command::run;
use crate::error::{Context, Result};

const PREFIX: &str = "wrt";

/// What this run has made and not yet removed.
static NAMESPACES: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// `wrt-<pid>-<start time>`, which the names of all that this run makes start with.
pub fn run_prefix() -> &'static str {
    static NAME: LazyLock<String> = LazyLock::new(|| {
        let pid = std::process::id();
        format!("{PREFIX}-{pid}-{}", start_time(pid).unwrap_or_default())
    });
    &NAME
}

/// Removes what killed runs have left, and arms the removal for when this one is interrupted.
pub fn prepare() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        orphans(namespaces_of_the_system()).for_each(|name| remove_namespace(&name));
        orphans(directory_names()).for_each(|name| remove_directory(&name));
        on_interrupt();
    });
}

/// The machine's one testbed: topologies do not run beside each other, in whatever process, so that
/// none takes the processors that another needs to answer in time.
#[derive(Debug)]
pub struct Turn(#[expect(dead_code, reason = "held, not read: closing it ends the turn")] File);

impl Turn {
    /// Waits for it.
    pub fn take() -> Result<Self> {
        let path = std::env::temp_dir().join(format!("{PREFIX}.lock"));
        let file = File::create(&path).context(format!("opening {}", path.display()))?;
        flock(&file, FlockOperation::LockExclusive).context("waiting for the testbed")?;
        Ok(Self(file))
    }
}

/// A directory for temporary files that goes when this value goes.
#[derive(Debug)]
pub struct Directory(PathBuf);

impl Directory {
    /// A fresh one.
    pub fn new() -> Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("{}-{number}", run_prefix()));
        std::fs::create_dir(&path).context(format!("making {}", path.display()))?;
        Ok(Self(path))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Makes a namespace that will be removed. An interrupt waits until it is there, so as not to look
/// for it too early.
pub(crate) fn make_namespace(name: &str) -> Result<()> {
    let mut namespaces = namespaces();
    namespaces.insert(name.to_owned());
    run(&format!("ip netns add {name}")).map(drop)
}

/// Ends the programs in a namespace and deletes it. Errors are of no use here: what is gone is gone.
pub(crate) fn remove_namespace(name: &str) {
    end_namespace(name);
    namespaces().remove(name);
}

fn end_namespace(name: &str) {
    for pid in run(&format!("ip netns pids {name}")).unwrap_or_default().lines() {
        if let Some(pid) = pid.trim().parse().ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
    let _ = run(&format!("ip netns delete {name}"));
}

fn namespaces() -> MutexGuard<'static, BTreeSet<String>> {
    NAMESPACES.lock().unwrap_or_else(PoisonError::into_inner)
}

fn namespaces_of_the_system() -> Vec<String> {
    let list = run("ip netns list").unwrap_or_default();
    list.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

fn directory_names() -> Vec<String> {
    let entries = std::fs::read_dir(std::env::temp_dir());
    let names = entries.into_iter().flatten().flatten().map(|entry| entry.file_name());
    names.filter_map(|name| name.into_string().ok()).collect()
}

fn remove_directory(name: &str) {
    let _ = std::fs::remove_dir_all(std::env::temp_dir().join(name));
}

/// Ours by name, of processes that are gone.
fn orphans(names: Vec<String>) -> impl Iterator<Item = String> {
    names.into_iter().filter(|name| is_orphan(name))
}

fn is_orphan(name: &str) -> bool {
    let mut parts = name.split('-');
    if parts.next() != Some(PREFIX) {
        return false;
    }
    let pid = parts.next().and_then(|p| p.parse().ok());
    let start = parts.next().and_then(|s| s.parse().ok());
    match (pid, start) {
        (Some(pid), Some(start)) => start_time(pid) != Some(start),
        _ => false,
    }
}

/// When a process was started, in ticks since boot; `None`: there is no such process, or it has
/// ended and nobody has asked how.
fn start_time(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field, the name in parentheses, may contain anything; count from its end.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    fields.nth(18)?.parse().ok().filter(|_| state != "Z")
}

fn on_interrupt() {
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM, SIGHUP]) else { return };
    std::thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            eprintln!("\ninterrupted: cleaning up");
            // Kept to the end: nobody makes another one.
            let names = namespaces();
            names.iter().for_each(|name| end_namespace(name));
            let own = directory_names().into_iter().filter(|n| n.starts_with(run_prefix()));
            own.for_each(|name| remove_directory(&name));
            std::process::exit(128 + signal);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_an_orphan_when_its_process_is_gone_or_another() {
        assert!(!is_orphan(&format!("{}-0-client", run_prefix())));
        assert!(is_orphan(&format!("wrt-{}-1-0-client", std::process::id())));
        assert!(is_orphan("wrt-4194305-1-0-client"));
        assert!(!is_orphan("wrt-notes"), "someone else's");
        assert!(!is_orphan("client"), "someone else's");
    }
}
