//! BIRD, a routing daemon, in a namespace.

use rustix::process::Signal;

use crate::cleanup::Directory;
use crate::error::{Context, Result};
use crate::netns::Namespace;
use crate::process::Process;

/// A running BIRD. It ends with this value, and so do its sessions.
#[derive(Debug)]
pub struct Bird {
    process: Process,
    files: Directory,
}

impl Bird {
    /// Starts it with the protocols of `configuration`; devices are scanned each second.
    pub fn start(namespace: &Namespace, id: &str, configuration: &str) -> Result<Self> {
        let files = Directory::new()?;
        let directory = files.path().display().to_string();
        let text = format!(
            "router id {id};\nlog stderr all;\nprotocol device {{ scan time 1; }}\n{configuration}"
        );
        std::fs::write(files.path().join("bird.conf"), text).context("writing bird.conf")?;
        let line = format!(
            "bird -f -c {directory}/bird.conf -s {directory}/bird.ctl -P {directory}/bird.pid"
        );
        let name = format!("{}'s bird", namespace.name());
        let mut process = Process::start(&name, &namespace.command(&line))?;
        process.wait_for("its start", 5, |p| p.stderr().contains("Started"))?;
        Ok(Self { process, files })
    }

    /// What its client program says to a command.
    pub fn ask(&self, namespace: &Namespace, command: &str) -> Result<String> {
        namespace.run(&format!("birdc -s {}/bird.ctl {command}", self.files.path().display()))
    }

    /// Ends it at once: its neighbours see their sessions break.
    pub fn kill(mut self) -> Result<()> {
        self.process.stop(Signal::KILL, 5).map(drop)
    }
}
