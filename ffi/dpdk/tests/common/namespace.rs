//! A network namespace of this thread's own.

use std::process::Command;

pub(crate) fn ip(arguments: &str) {
    let status = Command::new("ip").args(arguments.split(' ')).status().expect("ip runs");
    assert!(status.success(), "ip {arguments}");
}

/// Moves this thread, and so all that it starts, into a new network namespace. Needs root.
pub(crate) fn new_namespace() {
    // SAFETY: has no precondition.
    let done = unsafe { libc::unshare(libc::CLONE_NEWNET) } == 0;
    assert!(done, "a network namespace needs root");
}
