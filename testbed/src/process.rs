//! Programs that run beside the test: their output is kept, and they end with it.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::error::{Context, Error, Result};

/// A running program.
#[derive(Debug)]
pub struct Process {
    child: Child,
    name: String,
    stdout: Output,
    stderr: Output,
}

/// What a program has printed so far.
#[derive(Clone, Debug, Default)]
struct Output(Arc<Mutex<String>>);

impl Output {
    fn text(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Collects in the background, to the stream's end.
    fn collect(&self, stream: impl Read + Send + 'static) {
        let text = Arc::clone(&self.0);
        std::thread::spawn(move || {
            let mut reader = BufReader::new(stream);
            let mut line = Vec::new();
            while reader.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
                let mut text = text.lock().unwrap_or_else(PoisonError::into_inner);
                text.push_str(&String::from_utf8_lossy(&line));
                line.clear();
            }
        });
    }
}

impl Process {
    /// Starts a program. It is in a process group of its own, so that Ctrl-C reaches only us and
    /// we end it in order; and the kernel ends it should the starting thread go first.
    pub fn start(name: &str, command: &Command) -> Result<Self> {
        let mut child = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "--"])
            .arg(command.get_program())
            .args(command.get_args())
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context(format!("starting {name}"))?;
        let (stdout, stderr) = (Output::default(), Output::default());
        child.stdout.take().into_iter().for_each(|s| stdout.collect(s));
        child.stderr.take().into_iter().for_each(|s| stderr.collect(s));
        Ok(Self { child, name: name.to_owned(), stdout, stderr })
    }

    /// What it has printed to its standard output.
    pub fn stdout(&self) -> String {
        self.stdout.text()
    }

    /// What it has printed to its standard error.
    pub fn stderr(&self) -> String {
        self.stderr.text()
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        let pid =
            pid.ok_or_else(|| Error::Unexpected(format!("{} has no process id", self.name)))?;
        kill_process(pid, signal).context(format!("signalling {}", self.name))
    }

    /// Waits until it has printed what `seen` looks for, on either stream.
    pub fn wait_for(
        &mut self,
        what: &str,
        seconds: u64,
        seen: impl Fn(&Self) -> bool,
    ) -> Result<()> {
        let ends = Instant::now() + Duration::from_secs(seconds);
        while Instant::now() < ends {
            if seen(self) {
                return Ok(());
            }
            if let Some(status) = self.exited()? {
                // What it said last may still be on its way to us.
                std::thread::sleep(Duration::from_millis(100));
                return if seen(self) { Ok(()) } else { Err(self.ended(what, status)) };
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Err(Error::Timeout { seconds, what: format!("{}: {what}\n{}", self.name, self.stderr()) })
    }

    /// Waits for its end.
    pub fn wait(&mut self, seconds: u64) -> Result<ExitStatus> {
        let ends = Instant::now() + Duration::from_secs(seconds);
        loop {
            if let Some(status) = self.exited()? {
                std::thread::sleep(Duration::from_millis(50));
                return Ok(status);
            }
            if Instant::now() >= ends {
                let what = format!("{} to end", self.name);
                return Err(Error::Timeout { seconds, what });
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Asks it to stop and waits for its end.
    pub fn stop(&mut self, signal: Signal, seconds: u64) -> Result<ExitStatus> {
        self.signal(signal)?;
        self.wait(seconds)
    }

    fn exited(&mut self) -> Result<Option<ExitStatus>> {
        self.child.try_wait().context(format!("waiting for {}", self.name))
    }

    fn ended(&self, what: &str, status: ExitStatus) -> Error {
        let stderr = self.stderr();
        Error::Unexpected(format!("{} ended ({status}) before {what}:\n{stderr}", self.name))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Politely first: a decapsulator prints its counts, nginx removes its files.
        if matches!(self.exited(), Ok(None)) && self.stop(Signal::TERM, 2).is_err() {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

/// A program of this workspace, beside the one that runs: `target/<profile>/<name>`. The variable
/// `<NAME>_BIN` names another.
pub fn binary(name: &str) -> Result<PathBuf> {
    if let Some(path) = std::env::var_os(format!("{}_BIN", name.to_uppercase())) {
        return Ok(path.into());
    }
    let own = std::env::current_exe().context("finding the running program")?;
    // A test runs from `target/<profile>/deps`, a program from `target/<profile>`.
    let found = own.ancestors().skip(1).take(2).map(|d| d.join(name)).find(|p| p.is_file());
    found.ok_or_else(|| {
        Error::Unexpected(format!("{name} is not built: run `cargo build --workspace --bins`"))
    })
}
