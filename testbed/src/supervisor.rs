//! A service manager's end of sd_notify(3): a socket, and what was sent to it.

use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::cleanup::Directory;
use crate::error::{Context, Error, Result};

/// Listens.
#[derive(Debug)]
pub struct Supervisor {
    socket: UnixDatagram,
    path: PathBuf,
    /// Every message so far.
    messages: Vec<String>,
    _directory: Directory,
}

impl Supervisor {
    /// On a socket of its own.
    pub fn new() -> Result<Self> {
        let directory = Directory::new()?;
        let path = directory.path().join("notify");
        let socket = UnixDatagram::bind(&path).context("binding the notification socket")?;
        let wait = Some(Duration::from_millis(50));
        socket.set_read_timeout(wait).context("a read timeout")?;
        Ok(Self { socket, path, messages: Vec::new(), _directory: directory })
    }

    /// What a shell puts in front of a command that is to be supervised, `watchdog` as in
    /// `WatchdogSec`.
    pub fn environment(&self, watchdog: Duration) -> String {
        format!("NOTIFY_SOCKET={} WATCHDOG_USEC={}", self.path.display(), watchdog.as_micros())
    }

    /// Waits for the next message from now on that has this line; `*` is anything.
    pub fn wait_for(&mut self, line: &str, seconds: u64) -> Result<String> {
        let ends = Instant::now() + Duration::from_secs(seconds);
        while Instant::now() < ends {
            if let Some(message) = self.next().filter(|m| m.lines().any(|l| is(l, line))) {
                return Ok(message);
            }
        }
        let heard = self.messages.join("");
        Err(Error::Timeout { seconds, what: format!("{line} from the appliance; heard:\n{heard}") })
    }

    /// Listens for as long as this, and gives what was said.
    pub fn listen(&mut self, how_long: Duration) -> String {
        let (from, ends) = (self.messages.len(), Instant::now() + how_long);
        while Instant::now() < ends {
            self.next();
        }
        self.messages.get(from..).unwrap_or_default().join("")
    }

    fn next(&mut self) -> Option<String> {
        let mut buffer = [0; 4096];
        let length = self.socket.recv(&mut buffer).ok()?;
        let message = String::from_utf8_lossy(buffer.get(..length)?).into_owned();
        self.messages.push(message.clone());
        Some(message)
    }
}

fn is(line: &str, expected: &str) -> bool {
    match expected.split_once('*') {
        None => line == expected,
        Some((beginning, rest)) => line.strip_prefix(beginning).is_some_and(|line| {
            (0..=line.len()).any(|at| line.get(at..).is_some_and(|line| is(line, rest)))
        }),
    }
}
