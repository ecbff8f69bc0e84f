//! A backend with a kernel of its own: Debian's, in qemu, as `testbed/guest/build.sh` makes it. For
//! what this machine's kernel may not have: tunnel devices.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::address::{self, BACKENDS, Family, RETURN};
use crate::cleanup::Directory;
use crate::command::output;
use crate::error::{Context, Error, Result};
use crate::netns::Namespace;
use crate::process::{Process, binary};
use crate::topology::Topology;

/// Which backend it is: one more than those that are namespaces.
pub const INDEX: usize = BACKENDS;
/// Its interface to the appliance and the one to the client.
const MACS: [&str; 2] = ["52:54:00:12:34:10", "52:54:00:12:34:11"];
/// Where its scripts are taken.
const DOOR: u16 = 23;
/// Emulated it boots in five to ten seconds; a busy machine takes longer.
const BOOT: u64 = 120;

/// A running guest.
#[derive(Debug)]
pub struct Guest {
    qemu: Process,
}

/// What a script in the guest said, and its exit code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// Both streams.
    pub text: String,
    /// 0: it went well.
    pub code: i32,
}

/// Which of them. A variable names another directory than the one of setup.sh; build.rs looks there
/// too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kernel {
    /// This Debian's: `WINDROSE_GUEST`.
    Current,
    /// Linux 5.10: `WINDROSE_OLD_GUEST`.
    Old,
}

impl Kernel {
    fn directory(self) -> PathBuf {
        let (variable, usual) = match self {
            Self::Current => ("WINDROSE_GUEST", "/var/cache/windrose-guest"),
            Self::Old => ("WINDROSE_OLD_GUEST", "/var/cache/windrose-guest-old"),
        };
        std::env::var_os(variable).map_or_else(|| usual.into(), PathBuf::from)
    }

    /// DPDK, which only the old one runs, wants a processor of this century and memory.
    fn machine(self) -> &'static str {
        match self {
            Self::Current => "-m 256",
            Self::Old => "-cpu max -m 512",
        }
    }
}

impl Guest {
    /// Boots it as a backend of a two-arm topology, with addresses and a web server, without
    /// tunnels and VIPs. Its way back to the client is its second interface.
    pub fn boot(topology: &Topology) -> Result<Self> {
        Self::boot_with_cards(topology, 0)
    }

    /// The same with more cards, `eth2` and so on: `guest2` and so on in the fabric, from where they
    /// can be moved.
    pub fn boot_with_cards(topology: &Topology, more: usize) -> Result<Self> {
        let initrd = Kernel::Current.directory().join("initrd");
        Self::boot_kernel(topology, Kernel::Current, &initrd, more)
    }

    /// One with Linux 5.10 and a program of this workspace in its /bin.
    pub fn boot_old(topology: &Topology, program: &str) -> Result<Self> {
        let (directory, files) = (Kernel::Old.directory(), Directory::new()?);
        let initrd = files.path().join("initrd");
        let mut add = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/guest/add.sh"));
        output(add.arg(&directory).arg(binary(program)?).arg(&initrd))?;
        Self::boot_kernel(topology, Kernel::Old, &initrd, 0)
    }

    fn boot_kernel(
        topology: &Topology,
        kernel: Kernel,
        initrd: &Path,
        more: usize,
    ) -> Result<Self> {
        topology.tap("guest0", "backs")?;
        topology.tap("guest1", "returns")?;
        let more = 2..2 + more;
        for index in more.clone() {
            topology.fabric.ip(&format!("tuntap add dev guest{index} mode tap"))?;
        }
        let card = |index: usize| {
            // A bond wants to know how fast its members are.
            let more = || format!("52:54:00:12:34:1{index},speed=1000,duplex=full");
            let mac = MACS.get(index).map_or_else(more, |mac| (*mac).to_owned());
            // Frames as they are on a wire: no checksums left to others, no segments joined.
            format!(
                "-netdev tap,id=n{index},ifname=guest{index},script=no,downscript=no,vnet_hdr=off \
                 -device virtio-net-pci,netdev=n{index},mac={mac}"
            )
        };
        let door = format!("{}/{}", address::backend(3, Family::V4, INDEX), Family::V4.prefix());
        // Emulated: a processor within a virtual machine is often not to be had, and tells too late.
        let mut command = topology.fabric_namespace().command(&format!(
            "qemu-system-x86_64 -accel tcg {} -nographic -no-reboot -nodefaults -serial stdio \
             -kernel {} -initrd {} {} -append",
            kernel.machine(),
            kernel.directory().join("vmlinuz").display(),
            initrd.display(),
            (0..more.end).map(card).collect::<Vec<_>>().join(" ")
        ));
        command.arg(format!("console=ttyS0 quiet panic=-1 door={door}"));
        let mut qemu = Process::start("the guest", &command)?;
        qemu.wait_for("its web server", BOOT, |p| p.stdout().contains("guest ready"))?;
        let guest = Self { qemu };
        guest.settle(&topology.client)?;
        Ok(guest)
    }

    /// Gives it what every host of the topology has.
    fn settle(&self, client: &Namespace) -> Result<()> {
        let mut script = String::from("set -e\nip link set eth0 up mtu 1600\n");
        for (family, via) in Family::BOTH.into_iter().zip(RETURN) {
            for (segment, interface) in [(2, "eth0"), (3, "eth1")] {
                let own = address::backend(segment, family, INDEX);
                let prefix = family.prefix();
                script += &format!("ip address replace {own}/{prefix} dev {interface} nodad\n");
            }
            script += &format!("ip route add default via {via} dev eth1\n");
        }
        // Its link-local addresses come once the links are up; a test that compares states wants all.
        for interface in ["eth0", "eth1"] {
            script += &format!(
                "until ip -6 address show dev {interface} scope link | grep -q fe80; do sleep 0.1; done\n"
            );
        }
        match self.run(client, &script)? {
            Said { code: 0, .. } => Ok(()),
            said => Err(Error::Unexpected(format!("the guest's addresses: {}", said.text))),
        }
    }

    /// What the appliance is told of its interface: address and Ethernet address.
    pub fn neighbours(&self) -> impl Iterator<Item = (String, String)> {
        let own = |family| address::backend(2, family, INDEX).to_string();
        Family::BOTH.into_iter().map(move |family| (own(family), MACS[0].to_owned()))
    }

    /// What its console says.
    pub fn console(&self) -> String {
        self.qemu.stdout()
    }

    /// Runs a script in it. It is reached from the client, past the appliance.
    pub fn run(&self, client: &Namespace, script: &str) -> Result<Said> {
        let door = SocketAddr::new(address::backend(3, Family::V4, INDEX), DOOR);
        let ask = || -> std::io::Result<String> {
            let mut stream = patient(door)?;
            stream.set_read_timeout(Some(Duration::from_secs(30)))?;
            stream.write_all(script.as_bytes())?;
            stream.shutdown(Shutdown::Write)?;
            let mut said = String::new();
            stream.read_to_string(&mut said)?;
            Ok(said)
        };
        let said = client.enter(ask)?.context("running a script in the guest".to_owned())?;
        let code =
            said.trim_end().rsplit_once("exit ").and_then(|(t, c)| Some((t, c.parse().ok()?)));
        let (text, code) = code.ok_or_else(|| {
            Error::Unexpected(format!("the guest's script has no end: {said}\n{}", self.console()))
        })?;
        Ok(Said { text: text.to_owned(), code })
    }
}

/// Connects as soon as somebody listens.
fn patient(to: SocketAddr) -> std::io::Result<TcpStream> {
    let ends = Instant::now() + Duration::from_secs(20);
    loop {
        match TcpStream::connect_timeout(&to, Duration::from_secs(2)) {
            Err(_) if Instant::now() < ends => std::thread::sleep(Duration::from_millis(100)),
            result => return result,
        }
    }
}
