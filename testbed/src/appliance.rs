//! A running `windrose`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

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

/// The control socket's name in the appliance's folder.
const SOCKET: &str = "control.sock";

/// The file of its operator's orders there.
const ORDERS: &str = "state/orders.json";

/// The sum of the outcomes, as the table names it.
pub const TOTAL: &str = "= received";

/// How packets ended: outcome → count; what is 0 may be left out.
pub type Counters = BTreeMap<String, u64>;

/// Windrose, run in the appliance's namespace.
#[derive(Debug)]
pub struct Appliance {
    process: Process,
    file: PathBuf,
    directory: Directory,
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
        let text = with_admin(&config.to_string(), directory.path());
        std::fs::write(&file, text).context("writing the configuration")?;
        Self::launch_in(topology, directory, before, after)
    }

    /// The same with a folder that has the configuration.
    fn launch_in(
        topology: &Topology,
        directory: Directory,
        before: &str,
        after: &str,
    ) -> Result<Self> {
        let file = directory.path().join("windrose.toml");
        let program = binary("windrose")?;
        let mut shell = topology.appliance.command("sh -c");
        let (program, config) = (program.display(), file.display());
        shell.arg(format!("{before} exec {program} run --config {config} {after}"));
        let process = Process::start("windrose", &shell)?;
        Ok(Self { process, file, directory })
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
        self.write(config)?;
        let before = self.process.stderr().len();
        self.process.signal(Signal::HUP)?;
        self.process.wait_for(what, 30, |p| p.stderr().get(before..).is_some_and(&as_expected))
    }

    /// Writes the file anew and sends SIGHUP, and waits for nothing.
    pub fn ask_for_reload(&mut self, config: &impl ToString) -> Result<()> {
        self.write(config)?;
        self.process.signal(Signal::HUP)
    }

    /// Replaces the configuration file, and tells nobody.
    pub fn write(&self, config: &impl ToString) -> Result<()> {
        let text = with_admin(&config.to_string(), self.directory.path());
        std::fs::write(&self.file, text).context("writing the configuration")
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Its configuration file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Its control socket.
    pub fn socket(&self) -> PathBuf {
        self.directory.path().join(SOCKET)
    }

    /// Where it keeps its operator's orders.
    pub fn orders(&self) -> PathBuf {
        self.directory.path().join(ORDERS)
    }

    /// Runs a command of `windrose` that talks to it.
    pub fn command(&self, words: &[&str]) -> Result<Said> {
        let mut command = Command::new(binary("windrose")?);
        command.args(words).arg("--socket").arg(self.socket());
        let output = command.output().context(format!("windrose {}", words.join(" ")))?;
        Ok(Said {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }

    /// The same, which must succeed: what it prints.
    pub fn tell(&self, words: &[&str]) -> Result<String> {
        let said = self.command(words)?;
        match said.code {
            Some(0) => Ok(said.out),
            _ => Err(Error::Unexpected(format!("windrose {}: {said:?}", words.join(" ")))),
        }
    }

    /// Sends it a signal, and waits for nothing.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        self.process.signal(signal)
    }

    /// Ends it as a crash would: it gets no chance to do anything. What it leaves can be dropped, or
    /// started again.
    pub fn kill(mut self) -> Result<Remains> {
        self.process.stop(Signal::KILL, 5)?;
        Ok(Remains(self.directory))
    }

    /// Waits until it has logged this.
    pub fn wait_for_log(&mut self, what: &str) -> Result<()> {
        self.process.wait_for(what, 10, |p| p.stderr().contains(what))
    }

    /// Waits for a line of the log, after `from` bytes of it, that has all of these: where it ends.
    pub fn wait_for_line(&self, from: usize, words: &[&str]) -> Result<usize> {
        let ends = Instant::now() + Duration::from_secs(10);
        while Instant::now() < ends {
            let log = self.log();
            let has = |line: &&str| words.iter().all(|word| line.contains(word));
            if let Some(line) = log.get(from..).unwrap_or_default().lines().find(has) {
                return Ok(log.find(line).unwrap_or(from) + line.len());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Err(Error::Unexpected(format!("no line with {words:?}:\n{}", self.log())))
    }

    /// Waits until it has logged all of this after `from` bytes of its log.
    pub fn wait_for_more(&mut self, from: usize, words: &[&str]) -> Result<()> {
        let all = |log: &str| words.iter().all(|word| log.contains(word));
        self.process.wait_for(&words.join(", "), 10, |p| p.stderr().get(from..).is_some_and(all))
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

/// What an appliance that was killed has left: its file, its socket, its operator's orders.
#[derive(Debug)]
pub struct Remains(Directory);

impl Appliance {
    /// Starts it again on what one that was killed has left.
    pub fn restart(topology: &Topology, remains: Remains) -> Result<Self> {
        let mut appliance = Self::launch_in(topology, remains.0, "", HUMAN)?;
        appliance.process.wait_for("forwarding", 20, |p| p.stderr().contains(READY))?;
        Ok(appliance)
    }
}

/// What a command has said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// Its exit code.
    pub code: Option<i32>,
    /// Its standard output.
    pub out: String,
    /// Its standard error.
    pub err: String,
}

/// A configuration with a control socket, and a file for orders, of its own: several appliances run
/// on one machine.
fn with_admin(config: &str, folder: &Path) -> String {
    let [socket, orders] = [SOCKET, ORDERS].map(|name| folder.join(name));
    let keys = format!("socket = {socket:?}\norders = {orders:?}\n");
    match config.split_once("[admin]\n") {
        Some((before, after)) => format!("{before}[admin]\n{keys}{after}"),
        None => format!("{config}\n[admin]\n{keys}"),
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
