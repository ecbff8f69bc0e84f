//! A running `windrose`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitStatus;

use rustix::process::Signal;

use crate::cleanup::Directory;
use crate::error::{Context, Error, Result};
use crate::process::{Process, binary};
use crate::topology::Topology;

/// A log that is read here is read as a person would read it.
const HUMAN: &str = "--log-format human";
/// What it logs once packets are forwarded.
const READY: &str = "running workers=";
/// What it logs when a reload took effect, and when it was refused.
const RELOADED: &str = " reloaded ";
const REFUSED: &str = "reload refused";

/// The sum of the outcomes, as the table names it.
pub const TOTAL: &str = "= received";

/// How packets ended: outcome → count; what is 0 may be left out.
pub type Counters = BTreeMap<String, u64>;

/// Windrose, run in the appliance's namespace.
#[derive(Debug)]
pub struct Appliance {
    process: Process,
    file: PathBuf,
    _directory: Directory,
}

impl Appliance {
    /// Starts it and waits until it forwards.
    pub fn start(topology: &Topology, config: &impl ToString) -> Result<Self> {
        Self::start_after(topology, config, "")
    }

    /// The same after a shell has done something: `before` sets variables or ends in `&&`.
    pub fn start_after(topology: &Topology, config: &impl ToString, before: &str) -> Result<Self> {
        let mut appliance = Self::launch(topology, config, before, HUMAN)?;
        appliance.process.wait_for("forwarding", 20, |p| p.stderr().contains(READY))?;
        Ok(appliance)
    }

    /// Starts it with other arguments, or its output elsewhere; does not wait, since its log may not
    /// be seen.
    pub fn start_unseen(
        topology: &Topology,
        config: &impl ToString,
        before: &str,
        after: &str,
    ) -> Result<Self> {
        Self::launch(topology, config, before, after)
    }

    /// Starts it with a configuration that it is expected to end with: how it ended, and what it
    /// said.
    pub fn refuse(topology: &Topology, config: &impl ToString) -> Result<(ExitStatus, String)> {
        Self::launch(topology, config, "", HUMAN)?.ended()
    }

    /// The same on a machine that has no huge pages: nothing is where the kernel tells of them.
    pub fn refuse_without_huge_pages(
        topology: &Topology,
        config: &impl ToString,
    ) -> Result<(ExitStatus, String)> {
        // `ip netns exec` runs in a mount namespace of its own: the machine's own stay.
        let hide = "mount -t tmpfs none /sys/kernel/mm/hugepages &&";
        Self::launch(topology, config, hide, HUMAN)?.ended()
    }

    /// Waits for its end: how it ended, and what it logged.
    pub fn ended(mut self) -> Result<(ExitStatus, String)> {
        let status = self.process.wait(20)?;
        Ok((status, self.process.stderr()))
    }

    /// `before` is what a shell does first; `after` follows the command.
    fn launch(
        topology: &Topology,
        config: &impl ToString,
        before: &str,
        after: &str,
    ) -> Result<Self> {
        let directory = Directory::new()?;
        let file = directory.path().join("windrose.toml");
        std::fs::write(&file, config.to_string()).context("writing the configuration")?;
        let program = binary("windrose")?;
        let mut shell = topology.appliance.command("sh -c");
        let (program, config) = (program.display(), file.display());
        shell.arg(format!("{before} exec {program} run --config {config} {after}"));
        let process = Process::start("windrose", &shell)?;
        Ok(Self { process, file, _directory: directory })
    }

    /// Replaces the configuration and waits until it is in use.
    pub fn reload(&mut self, config: &impl ToString) -> Result<()> {
        self.replace(config, "the reload", |news| news.contains(RELOADED))
    }

    /// Replaces the configuration by one that must be refused, for a reason that names `reason`.
    pub fn reload_refused(&mut self, config: &impl ToString, reason: &str) -> Result<()> {
        self.replace(config, "its refusal", |news| news.contains(REFUSED) && news.contains(reason))
    }

    /// Writes the file, sends SIGHUP, and waits until what it logs from then on is `as_expected`.
    fn replace(
        &mut self,
        config: &impl ToString,
        what: &str,
        as_expected: impl Fn(&str) -> bool,
    ) -> Result<()> {
        std::fs::write(&self.file, config.to_string()).context("writing the configuration")?;
        let before = self.process.stderr().len();
        self.process.signal(Signal::HUP)?;
        self.process.wait_for(what, 10, |p| p.stderr().get(before..).is_some_and(&as_expected))
    }

    /// Writes the file anew and sends SIGHUP, and waits for nothing.
    pub fn ask_for_reload(&mut self, config: &impl ToString) -> Result<()> {
        std::fs::write(&self.file, config.to_string()).context("writing the configuration")?;
        self.process.signal(Signal::HUP)
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Ends it as a crash would: it gets no chance to do anything.
    pub fn kill(mut self) -> Result<()> {
        self.process.stop(Signal::KILL, 5).map(drop)
    }

    /// Waits until it has logged this.
    pub fn wait_for_log(&mut self, what: &str) -> Result<()> {
        self.process.wait_for(what, 10, |p| p.stderr().contains(what))
    }

    /// The counters now.
    pub fn counters(&mut self) -> Result<Counters> {
        let before = self.process.stdout().len();
        self.process.signal(Signal::USR1)?;
        self.process.wait_for("its counters", 5, |p| {
            p.stdout().get(before..).is_some_and(|table| parse(table).contains_key(TOTAL))
        })?;
        Ok(parse(self.process.stdout().get(before..).unwrap_or_default()))
    }

    /// Stops it and gives its last counters.
    pub fn stop(mut self, signal: Signal) -> Result<Counters> {
        let before = self.process.stdout().len();
        let status = self.process.stop(signal, 5)?;
        if !status.success() {
            let said = self.process.stderr();
            return Err(Error::Unexpected(format!("windrose ended with {status}:\n{said}")));
        }
        Ok(parse(self.process.stdout().get(before..).unwrap_or_default()))
    }

    /// What it has logged.
    pub fn log(&self) -> String {
        self.process.stderr()
    }
}

/// Lines of a name and a number; the last one, once it is there, is [`TOTAL`].
fn parse(table: &str) -> Counters {
    let line = |line: &str| {
        let (name, count) = line.trim().rsplit_once(char::is_whitespace)?;
        Some((name.trim().to_owned(), count.parse().ok()?))
    };
    table.lines().filter_map(line).collect()
}
