//! A wall clock that only the appliance sees, and that can be set while it runs; and a clock that
//! fails one of its workers. The machine's own clock is not touched.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cleanup::Directory;
use crate::command::{output, run};
use crate::error::{Context, Result};

/// What is preloaded.
const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/preload/clock.c");

/// The clocks of one appliance.
#[derive(Debug)]
pub struct Clock {
    directory: Directory,
}

impl Clock {
    /// Right, for now.
    pub fn new() -> Result<Self> {
        let clock = Self { directory: Directory::new()? };
        build(&clock.file("clock.so"))?;
        clock.set(0)?;
        Ok(clock)
    }

    /// What a shell puts in front of a command that is to have it.
    pub fn environment(&self) -> String {
        let [library, offset, broken] =
            ["clock.so", "offset", "break"].map(|name| self.file(name).display().to_string());
        format!("LD_PRELOAD={library} CLOCK_OFFSET={offset} CLOCK_BREAK={broken}")
    }

    /// From now on it is so many seconds ahead of the machine's; below zero: behind.
    pub fn set(&self, ahead: i64) -> Result<()> {
        let (next, file) = (self.file("next"), self.file("offset"));
        std::fs::write(&next, ahead.to_string()).context("setting the clock")?;
        std::fs::rename(next, file).context("setting the clock")
    }

    /// A worker's next look at the monotonic clock fails: what asked for it, Rust's standard library,
    /// panics.
    pub fn fail_a_worker(&self) -> Result<()> {
        std::fs::write(self.file("break"), "").context("breaking the clock")
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}

/// Makes the library that is to be preloaded.
pub fn build(library: &Path) -> Result<()> {
    run(&format!("cc -shared -fPIC -O2 -o {} {SOURCE}", library.display())).map(drop)
}

/// How the time that is so many seconds ahead begins in a log: `2026-11-30T09`, the hour.
pub fn hour_in(ahead: i64) -> Result<String> {
    let then = format!("--date={ahead} seconds");
    let hour = output(Command::new("date").args(["--utc", &then, "+%Y-%m-%dT%H"]))?;
    Ok(String::from_utf8_lossy(&hour.stdout).trim().to_owned())
}
