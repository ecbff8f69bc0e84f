//! A machine with systemd, over a throw-away copy of this one: what a package does there is seen
//! nowhere else. `testbed/machine.sh` says how.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::cleanup::{self, Directory};
use crate::command::output;
use crate::error::{Context, Error, Result};
use crate::netns::Namespace;
use crate::process::Process;

/// Running, in a network namespace.
#[derive(Debug)]
pub struct Machine {
    process: Process,
    /// systemd, as this machine numbers it.
    init: i32,
    cgroup: PathBuf,
    directory: Directory,
}

impl Machine {
    /// Boots one that has the network of `namespace`.
    pub fn boot(namespace: &Namespace) -> Result<Self> {
        let directory = Directory::new()?;
        std::fs::create_dir(directory.path().join("share")).context("making share")?;
        let cgroup = unified().join(format!("{}-machine", cleanup::run_prefix()));
        std::fs::create_dir_all(&cgroup).context("making a control group")?;
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/machine.sh");
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(format!(
            "echo $$ > {}/cgroup.procs && exec ip netns exec {} \
             unshare --mount --pid --fork --kill-child --ipc --uts --cgroup {script} {}",
            cgroup.display(),
            namespace.name(),
            directory.path().display()
        ));
        let process = Process::start("machine", &shell)?;
        let mut machine = Self { process, init: 0, cgroup, directory };
        machine.wait_for_systemd()?;
        Ok(machine)
    }

    fn wait_for_systemd(&mut self) -> Result<()> {
        let pid = self.process.pid();
        let children = format!("/proc/{pid}/task/{pid}/children");
        let ends = Instant::now() + Duration::from_secs(20);
        while Instant::now() < ends {
            let child = std::fs::read_to_string(&children).unwrap_or_default();
            if let Ok(init) = child.trim().parse() {
                self.init = init;
                // Before systemd has a socket this fails.
                if self.run("systemctl is-active basic.target").is_ok() {
                    return Ok(());
                }
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let what = format!("systemd\n{}", self.process.stderr());
        Err(Error::Timeout { seconds: 20, what })
    }

    /// Where files are put for it: its /mnt.
    pub fn share(&self) -> PathBuf {
        self.directory.path().join("share")
    }

    /// Runs a shell's line in it and gives what it printed.
    pub fn run(&self, line: &str) -> Result<String> {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.init.to_string()]);
        command.args(["--mount", "--pid", "--ipc", "--uts", "--net", "--cgroup", "--root", "--wd"]);
        command.args(["sh", "-c", line]);
        output(&mut command).map(|o| String::from_utf8_lossy(&o.stdout).trim().to_owned())
    }

    /// One property of a unit.
    pub fn show(&self, unit: &str, property: &str) -> Result<String> {
        self.run(&format!("systemctl show --value -p {property} {unit}"))
    }

    /// A unit's main process, as this machine numbers it.
    pub fn main_process(&self, unit: &str) -> Result<u32> {
        let inside = self.show(unit, "MainPID")?;
        let is = |status: &str| {
            let line = status.lines().find_map(|l| l.strip_prefix("NSpid:"));
            line.is_some_and(|l| l.split_whitespace().nth(1) == Some(&inside))
        };
        let processes = std::fs::read_dir("/proc").context("listing processes")?.flatten();
        let ours = processes.filter(|p| {
            let status = std::fs::read_to_string(p.path().join("status"));
            status.is_ok_and(|status| is(&status))
        });
        let pid = ours.filter_map(|p| p.file_name().to_str()?.parse().ok()).next();
        pid.ok_or_else(|| Error::Unexpected(format!("{unit} has no process {inside}")))
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        if let Some(init) = Pid::from_raw(self.init) {
            let _ = kill_process(init, Signal::KILL);
        }
        let _ = self.process.wait(5);
        remove_groups(&self.cgroup);
    }
}

/// Where control groups of version 2 are, also where version 1 is beside them.
fn unified() -> &'static Path {
    let beside = Path::new("/sys/fs/cgroup/unified");
    if beside.is_dir() { beside } else { Path::new("/sys/fs/cgroup") }
}

/// A group goes when those in it are gone.
fn remove_groups(group: &Path) {
    let inner = std::fs::read_dir(group).into_iter().flatten().flatten();
    inner.filter(|e| e.path().is_dir()).for_each(|e| remove_groups(&e.path()));
    let _ = std::fs::remove_dir(group);
}
