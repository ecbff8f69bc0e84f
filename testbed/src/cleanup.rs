//! Nothing is left behind: not by a run that ends, panics or is interrupted, and not for long by
//! one that is killed.
//!
//! Names carry the process id and its start time, which together name one process for good. A run
//! removes its own namespaces; on its way it also removes those whose process is gone. Programs
//! are started so that the kernel ends them when the thread that started them goes
//! ([`crate::process`]).

use std::collections::BTreeSet;
use std::sync::{LazyLock, Mutex, MutexGuard, Once, PoisonError};

use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::command::run;

const PREFIX: &str = "wrt";

/// What this run has made and not yet removed.
static NAMESPACES: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// `wrt-<pid>-<start time>`, which every namespace of this run starts with.
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
        leftovers().iter().for_each(|name| remove_namespace(name));
        on_interrupt();
    });
}

pub(crate) fn register_namespace(name: &str) {
    namespaces().insert(name.to_owned());
}

/// Ends the programs in a namespace and deletes it. Errors are of no use here: what is gone is gone.
pub(crate) fn remove_namespace(name: &str) {
    for pid in run(&format!("ip netns pids {name}")).unwrap_or_default().lines() {
        if let Some(pid) = pid.trim().parse().ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
    let _ = run(&format!("ip netns delete {name}"));
    namespaces().remove(name);
}

fn namespaces() -> MutexGuard<'static, BTreeSet<String>> {
    NAMESPACES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ours by name, of processes that are gone.
fn leftovers() -> Vec<String> {
    let list = run("ip netns list").unwrap_or_default();
    let names = list.lines().filter_map(|line| line.split_whitespace().next());
    names.filter(|name| is_orphan(name)).map(str::to_owned).collect()
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

/// When a process was started, in ticks since boot; `None`: there is no such process.
fn start_time(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field, the name in parentheses, may contain anything; count from its end.
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

fn on_interrupt() {
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM, SIGHUP]) else { return };
    std::thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            eprintln!("\ninterrupted: cleaning up");
            let names = namespaces().clone();
            names.iter().for_each(|name| remove_namespace(name));
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
