//! Network namespaces.

use std::fs::File;
use std::os::fd::AsFd;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::cleanup;
use crate::command::{command, output, run};
use crate::error::{Context, Error, Result};

/// A network namespace that goes when this value goes.
#[derive(Debug)]
pub struct Namespace {
    name: String,
}

static NUMBER: AtomicU32 = AtomicU32::new(0);

impl Namespace {
    /// A fresh one, with its loopback up. `role` makes the name readable.
    pub fn new(role: &str) -> Result<Self> {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}-{number}-{role}", cleanup::run_prefix());
        cleanup::make_namespace(&name)?;
        let namespace = Self { name };
        namespace.ip("link set lo up")?;
        Ok(namespace)
    }

    /// Its name, as `ip netns` knows it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// `ip` in it, both families' spelling as `ip` itself has it.
    pub fn ip(&self, arguments: &str) -> Result<String> {
        run(&format!("ip -n {} {arguments}", self.name))
    }

    /// A program that will run in it.
    pub fn command(&self, line: &str) -> Command {
        command(&format!("ip netns exec {} {line}", self.name))
    }

    /// Runs a program in it to its end and gives what it printed.
    pub fn run(&self, line: &str) -> Result<String> {
        let output = output(&mut self.command(line))?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Sets one of the kernel's network settings: `ipv4/conf/all/rp_filter`.
    pub fn set(&self, key: &str, value: u32) -> Result<()> {
        let mut shell = self.command("sh -c");
        output(shell.arg(format!("echo {value} > /proc/sys/net/{key}"))).map(drop)
    }

    /// Switches off everything that makes a frame on a veth differ from a frame on a wire:
    /// checksums left to the card, segments joined or left to be cut. DPDK's af_packet port sees
    /// frames as they are.
    pub fn offloads_off(&self, interface: &str) -> Result<()> {
        self.run(&format!("ethtool -K {interface} rx off tx off tso off gso off gro off")).map(drop)
    }

    /// The Ethernet address of one of its interfaces.
    pub fn mac(&self, interface: &str) -> Result<String> {
        let line = self.ip(&format!("-br link show dev {interface}"))?;
        line.split_whitespace()
            .nth(2)
            .map(str::to_owned)
            .ok_or_else(|| Error::Unexpected(format!("no Ethernet address in `{line}`")))
    }

    /// How many "destination unreachable" messages its kernel has sent, ICMP and ICMPv6.
    pub fn unreachables_sent(&self) -> Result<[u64; 2]> {
        let v4 = self.run("cat /proc/net/snmp")?;
        let mut icmp =
            v4.lines().filter_map(|l| l.strip_prefix("Icmp: ")).map(str::split_whitespace);
        let (names, values) = (icmp.next(), icmp.next());
        let mut pairs = names.into_iter().flatten().zip(values.into_iter().flatten());
        let v4 = pairs.find(|(name, _)| *name == "OutDestUnreachs");
        let v6 = self.run("cat /proc/net/snmp6")?;
        let v6 = v6.lines().find_map(|l| l.strip_prefix("Icmp6OutDestUnreachs"));
        let [v4, v6] =
            [v4.map(|(_, value)| value), v6].map(|v| v.and_then(|v| v.trim().parse().ok()));
        v4.zip(v6).map(<[u64; 2]>::from).ok_or_else(|| Error::Unexpected("no ICMP counters".into()))
    }

    /// Does something inside, typically opening a socket, which stays inside wherever it is used.
    pub fn enter<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T> {
        let path = format!("/run/netns/{}", self.name);
        let file = File::open(&path).context(path)?;
        // A thread of its own: the move is for a thread's life.
        std::thread::scope(|scope| {
            let inside = scope.spawn(|| {
                move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))
                    .context(format!("entering {}", self.name))?;
                Ok(work())
            });
            inside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        cleanup::remove_namespace(&self.name);
    }
}

/// A veth pair between two namespaces, both ends up, offloads off.
pub fn wire(a: (&Namespace, &str), b: (&Namespace, &str), mtu: u16) -> Result<()> {
    let ends = [a, b];
    a.0.ip(&format!(
        "link add {} numrxqueues 1 numtxqueues 1 mtu {mtu} type veth \
         peer name {} numrxqueues 1 numtxqueues 1 mtu {mtu} netns {}",
        a.1,
        b.1,
        b.0.name()
    ))?;
    for (namespace, interface) in ends {
        namespace.offloads_off(interface)?;
        namespace.ip(&format!("link set {interface} up"))?;
    }
    Ok(())
}
