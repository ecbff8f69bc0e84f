//! The operator's orders where the file system takes none: full, read-only, gone. They are in force all
//! the same, whoever gave them is told, and what was kept before stays whole.

use std::path::{Path, PathBuf};

use rustix::process::Signal;
use testbed::address::{Family, vip};
use testbed::appliance::{Appliance, Said};
use testbed::client::ask;
use testbed::command::{output, run};
use testbed::config::Config;
use testbed::topology::{Arms, Topology};
use testbed::{Error, Result};

const FILE: &str = "orders.json";

#[test]
fn t18_orders_on_a_full_a_read_only_and_a_missing_disk_are_in_force_and_lose_no_older_ones()
-> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let appliance = Appliance::start(&topology, &Config::new(&topology))?;
    let state = State::of(&appliance);
    state.mount()?;
    kept(&appliance, &["drain", "web-v4", "rack/b2"])?;
    assert!(state.orders().contains("rack/b2"), "{}", state.orders());

    state.fill()?;
    let before = state.orders();
    refused_by_the_disk(&appliance, &["drain", "web-v4", "rack/b3"], "No space left on device")?;
    assert_eq!(state.orders(), before, "the older ones are whole");
    assert_eq!(whoever_serves(&topology)?, ["b1"], "in force all the same");
    assert_eq!(state.files(), ["fill", FILE], "half a file is left");
    let status = appliance.tell(&["status", "web-v4"])?;
    assert_eq!(status.matches("drained by the operator (T-18)").count(), 2, "{status}");

    state.empty()?;
    kept(&appliance, &["drain", "web-v6", "rack/b1"])?;
    let orders = state.orders();
    for name in ["rack/b1", "rack/b2", "rack/b3"] {
        assert!(orders.contains(name), "the one that was not kept is kept with the next: {orders}");
    }

    state.remount("ro")?;
    refused_by_the_disk(&appliance, &["enable", "web-v4", "rack/b2"], "Read-only file system")?;
    assert_eq!(state.orders(), orders);
    assert_eq!(whoever_serves(&topology)?, ["b1", "b2"]);
    state.remount("rw")?;
    kept(&appliance, &["enable", "web-v4", "rack/b3"])?;
    let orders = state.orders();
    assert!(orders.contains("rack/b1") && !orders.contains("rack/b2"), "{orders}");

    state.unmount()?;
    kept(&appliance, &["disable", "web-v4", "rack/b2"])?;
    let orders = std::fs::read_to_string(state.folder.join(FILE)).unwrap_or_default();
    assert!(orders.contains("rack/b1") && orders.contains("rack/b2"), "made anew: {orders}");
    assert_eq!(whoever_serves(&topology)?, ["b1", "b3"]);
    appliance.stop(Signal::TERM)?;
    Ok(())
}

fn order(appliance: &Appliance, words: &[&str]) -> Result<Said> {
    let said = appliance.command(&[&["backend"], words].concat())?;
    assert_eq!(said.code, Some(0), "it is in force: {said:?}");
    Ok(said)
}

fn kept(appliance: &Appliance, words: &[&str]) -> Result<()> {
    let said = order(appliance, words)?;
    assert!(!said.err.contains("until a restart only"), "{said:?}");
    Ok(())
}

fn refused_by_the_disk(appliance: &Appliance, words: &[&str], why: &str) -> Result<()> {
    let said = order(appliance, words)?;
    assert!(
        said.err.contains("it holds until a restart only") && said.err.contains(why),
        "{said:?}"
    );
    let log = appliance.log();
    assert!(log.lines().any(|l| l.contains("would not outlive") && l.contains(why)), "{log}");
    Ok(())
}

/// Those that answer a hundred new connections.
fn whoever_serves(topology: &Topology) -> Result<Vec<String>> {
    let asked = (0..100).map(|_| ask(&topology.client, vip(Family::V4, Family::V4)));
    let names = asked.collect::<Result<std::collections::BTreeSet<_>>>()?;
    Ok(names.into_iter().collect())
}

/// The folder of the orders: a file system of three pages, which only the appliance sees.
struct State {
    folder: PathBuf,
    pid: u32,
}

impl State {
    fn of(appliance: &Appliance) -> Self {
        let folder = appliance.orders().parent().unwrap_or(Path::new("/")).to_owned();
        Self { folder, pid: appliance.pid() }
    }

    fn mount(&self) -> Result<()> {
        std::fs::create_dir_all(&self.folder).map_err(|e| Error::Unexpected(e.to_string()))?;
        self.inside(&format!("mount -t tmpfs -o size=12k none {}", self.folder.display()))
    }

    fn remount(&self, how: &str) -> Result<()> {
        self.inside(&format!("mount -o remount,{how} {}", self.folder.display()))
    }

    fn unmount(&self) -> Result<()> {
        self.inside(&format!("umount {}", self.folder.display()))?;
        std::fs::remove_dir(&self.folder).map_err(|e| Error::Unexpected(e.to_string()))
    }

    /// In the appliance's mounts, which are not the machine's.
    fn inside(&self, line: &str) -> Result<()> {
        run(&format!("nsenter --target {} --mount {line}", self.pid)).map(drop)
    }

    /// The same folder as the appliance sees it.
    fn seen(&self) -> PathBuf {
        let folder = self.folder.strip_prefix("/").unwrap_or(&self.folder);
        Path::new(&format!("/proc/{}/root", self.pid)).join(folder)
    }

    fn fill(&self) -> Result<()> {
        let fill = self.seen().join("fill");
        let mut shell = std::process::Command::new("sh");
        output(shell.arg("-c").arg(format!("yes >{}; true", fill.display())))?;
        let free =
            rustix::fs::statvfs(self.seen()).map_err(|e| Error::Unexpected(e.to_string()))?;
        assert_eq!(free.f_bavail, 0, "the disk is not full");
        Ok(())
    }

    fn empty(&self) -> Result<()> {
        std::fs::remove_file(self.seen().join("fill")).map_err(|e| Error::Unexpected(e.to_string()))
    }

    fn orders(&self) -> String {
        std::fs::read_to_string(self.seen().join(FILE)).unwrap_or_default()
    }

    fn files(&self) -> Vec<String> {
        let files = std::fs::read_dir(self.seen()).into_iter().flatten().flatten();
        let mut names: Vec<_> =
            files.map(|file| file.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}
