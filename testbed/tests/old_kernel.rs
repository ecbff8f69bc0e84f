//! Linux 5.10, which passes over the mark for neighbours that are to be kept resolved
//! (`NTF_EXT_MANAGED`, Linux 5.16): Windrose, run there, asks for them again and again itself.

use std::time::{Duration, Instant};

use testbed::address::{BACK, Family, backend};
use testbed::config::Config;
use testbed::guest::{self, Guest};
use testbed::netns::Namespace;
use testbed::topology::{Arms, Port, Topology};
use testbed::{Error, Result};

/// The switch's end of the cable of the first backend.
const CABLE: &str = "b10";

/// One port, on the guest's card.
fn config(topology: &Topology) -> String {
    let own = Family::BOTH.map(|family| backend(2, family, guest::INDEX).to_string());
    let prefixes = Family::BOTH.into_iter().map(Family::prefix);
    let addresses = own.iter().zip(prefixes).map(|(own, length)| format!("{own}/{length}"));
    let port = Port {
        interface: "eth0",
        addresses: addresses.collect(),
        neighbours: Vec::new(),
        ..topology.ports[1].clone()
    };
    let config = Config { ports: vec![port], memory: "64M", ..Config::new(topology) };
    config.to_string().replace(&format!("source = {BACK:?}"), &format!("source = {own:?}"))
}

struct Old {
    topology: Topology,
    guest: Guest,
}

impl Old {
    fn run(&self, script: &str) -> Result<String> {
        let said = self.guest.run(&self.topology.client, script)?;
        match said.code {
            0 => Ok(said.text),
            _ => Err(Error::Unexpected(format!("`{script}` in the guest: {}", said.text))),
        }
    }

    fn log(&self) -> Result<String> {
        self.run("cat /tmp/log")
    }

    fn wait_for_log(&self, what: &str) -> Result<()> {
        self.wait_for_log_again(what, 1)
    }

    /// Waits until it has been logged so many times.
    fn wait_for_log_again(&self, what: &str, times: usize) -> Result<()> {
        let end = Instant::now() + Duration::from_secs(30);
        while self.log()?.matches(what).count() < times {
            if Instant::now() > end {
                let neighbours = self.run("ip -s neighbour show dev wr-back")?;
                let log = self.log()?;
                return Err(Error::Unexpected(format!("no `{what}`:\n{log}\n{neighbours}")));
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        Ok(())
    }

    /// Starts Windrose in it, with a kernel that finds out in seconds what it else does in a minute.
    fn start(&self) -> Result<()> {
        let config = config(&self.topology);
        self.run(&format!(
            "set -e\ncat >/tmp/windrose.toml <<'END'\n{config}\nEND\n\
             modprobe tun; modprobe af_packet || true; mkdir -p /run /dev/net\n\
             [ -c /dev/net/tun ] || mknod /dev/net/tun c 10 200\n\
             ip address flush dev eth0\n\
             for family in ipv4 ipv6; do cd /proc/sys/net/$family/neigh/default\n\
             echo 2000 >base_reachable_time_ms; echo 1 >delay_first_probe_time; done\n\
             windrose run --config /tmp/windrose.toml --log-format human </dev/null >/tmp/out 2>/tmp/log &\n"
        ))?;
        self.wait_for_log("running workers=")
    }
}

#[test]
#[cfg_attr(no_old_guest, ignore = "no guest with an old kernel: testbed/setup.sh makes it")]
fn on_a_kernel_that_does_not_keep_next_hops_resolved_windrose_does() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let guest = Guest::boot_old(&topology, "windrose")?;
    let old = Old { topology, guest };
    let version = old.run("uname -r")?;
    assert!(version.starts_with("5.10."), "{version}");
    old.start()?;
    let first = &old.topology.backends[0].namespace;
    let both = || Family::BOTH.into_iter().map(|family| backend(2, family, 0));
    let mac = first.mac("eth0")?;
    for backend in both() {
        old.wait_for_log(&format!("next hop {backend} is at {mac}"))?;
    }
    let known = old.run("ip neighbour show dev wr-back")?;
    assert!(!known.contains("managed"), "this kernel knows the mark: {known}");
    assert!(!old.log()?.contains("refuses"), "it passes over it, and refuses nothing");

    // It moves without a word, and nobody sends to it: who does not ask does not find out.
    let moved = "02:00:00:00:b1:01";
    move_quietly(first, moved)?;
    for backend in both() {
        old.wait_for_log(&format!("next hop {backend} is at {moved}"))?;
    }

    old.topology.fabric.ip(&format!("link set {CABLE} down"))?;
    for backend in both() {
        old.wait_for_log(&format!(
            "next hop {backend}, last at {moved}, does not answer any more"
        ))?;
    }
    old.topology.fabric.ip(&format!("link set {CABLE} up"))?;
    for backend in both() {
        old.wait_for_log_again(&format!("next hop {backend} is at {moved}"), 2)?;
    }
    Ok(())
}

fn move_quietly(host: &Namespace, mac: &str) -> Result<()> {
    host.set("ipv4/conf/eth0/arp_notify", 0)?;
    host.set("ipv6/conf/eth0/ndisc_notify", 0)?;
    host.ip(&format!("link set eth0 address {mac}")).map(drop)
}
