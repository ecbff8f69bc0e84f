//! Stops one thread of another program, as a driver that blocks would: the rest of it goes on.

use std::fs;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use nix::sys::ptrace::{self, Options};
use nix::unistd::Pid;

use crate::error::{Context, Error, Result};

/// A thread that does not run for as long as this is not dropped.
#[derive(Debug)]
pub struct Stalled {
    over: Option<Sender<()>>,
    tracer: Option<JoinHandle<()>>,
}

impl Stalled {
    /// Stops the first thread of `pid` whose name begins so.
    pub fn thread(pid: u32, name: &str) -> Result<Self> {
        let thread = find(pid, name)?;
        let (over, wait) = channel::<()>();
        let (say, said) = channel();
        // The kernel lets a traced thread go when the thread that traces it ends.
        let tracer = std::thread::spawn(move || {
            let stopped = ptrace::seize(thread, Options::empty());
            let _ = say.send(stopped.and_then(|()| ptrace::interrupt(thread)));
            let _ = wait.recv();
        });
        let stopped = said.recv().map_err(|e| Error::Unexpected(e.to_string()))?;
        stopped.context(format!("stopping thread {thread} of {pid}"))?;
        Ok(Self { over: Some(over), tracer: Some(tracer) })
    }
}

impl Drop for Stalled {
    fn drop(&mut self) {
        drop(self.over.take());
        let _ = self.tracer.take().map(JoinHandle::join);
    }
}

fn find(pid: u32, name: &str) -> Result<Pid> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).context("listing threads")?;
    let named = |task: &fs::DirEntry| {
        fs::read_to_string(task.path().join("comm")).is_ok_and(|comm| comm.starts_with(name))
    };
    let mut found = tasks.flatten().filter(named);
    let id = found.find_map(|task| task.file_name().to_str()?.parse().ok());
    let id = id.ok_or_else(|| Error::Unexpected(format!("{pid} has no thread {name}")))?;
    Ok(Pid::from_raw(id))
}
