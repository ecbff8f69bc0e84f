//! What went wrong: what was attempted, what DPDK said, and the cure where there is one.

use std::ffi::CStr;

/// Why DPDK could not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// DPDK's runtime starts once per process; a failed start counts.
    #[error("DPDK was already started in this process, and starts only once")]
    AlreadyStarted,
    /// No worker, or more than DPDK was built for.
    #[error("{count} worker CPUs, but DPDK takes 1 to {max}")]
    WorkerCount {
        /// How many were asked for.
        count: usize,
        /// How many there may be.
        max: usize,
    },
    /// A worker's CPU that this process may not run on.
    #[error("worker CPU {cpu} is not one that this process may run on ({allowed})")]
    NoSuchCpu {
        /// The CPU.
        cpu: usize,
        /// Those it may run on.
        allowed: String,
    },
    /// Huge pages are required and there are not enough.
    #[error(
        "huge pages are required: {needed_mb} MB, but {free_mb} MB are free; reserve them with \
         `echo {pages} > /proc/sys/vm/nr_hugepages` ({page_kb} kB pages), or set hugepages = \"auto\""
    )]
    NoHugePages {
        /// What is needed, MB.
        needed_mb: u64,
        /// What is free, MB.
        free_mb: u64,
        /// How many pages of the default size that takes.
        pages: u64,
        /// The default size, kB.
        page_kb: u64,
    },
    /// More memory than there is, without huge pages.
    #[error(
        "[dataplane] memory = \"{wanted}\" is more than the {available} MB that are available; lower it"
    )]
    Memory {
        /// What is wanted, as the configuration writes it.
        wanted: String,
        /// What is available, MB.
        available: u64,
    },
    /// A device string that names a kernel interface that is not there.
    #[error(
        "device {device}: there is no interface {interface}; `ip link` lists those of this network namespace"
    )]
    NoInterface {
        /// The device as configured.
        device: String,
        /// The interface that it names.
        interface: String,
    },
    /// A device string that must name a kernel interface and does not.
    #[error("device {device}: its driver needs an interface, as in {device},iface=eth1")]
    NoInterfaceGiven {
        /// The device as configured.
        device: String,
    },
    /// A PCI address at which there is no device.
    #[error(
        "device {device}: there is no PCI device at {address}; `dpdk-devbind.py --status` lists them"
    )]
    NoPciDevice {
        /// The device as configured.
        device: String,
        /// The full address.
        address: String,
    },
    /// A string that cannot be a device.
    #[error(
        "device {device}: neither a PCI address (0000:01:00.0) nor a DPDK virtual device \
         (net_af_packet0,iface=eth1)"
    )]
    NotADevice {
        /// The device as configured.
        device: String,
    },
    /// DPDK did not find or could not start the device.
    #[error("device {device}: DPDK cannot attach it: {reason}{cure}{log}")]
    Attach {
        /// The device as configured.
        device: String,
        /// What DPDK said.
        reason: String,
        /// What to do, with a leading `"; "`, or nothing.
        cure: String,
        /// DPDK's log lines of that moment.
        log: Log,
    },
    /// Fewer queues than workers.
    #[error(
        "device {device}: {workers} workers need {workers} queue pairs, but it has {max}; {cure}"
    )]
    TooFewQueues {
        /// The device as configured.
        device: String,
        /// How many it has.
        max: u16,
        /// How many are needed.
        workers: u16,
        /// What to do.
        cure: String,
    },
    /// An MTU that the device does not take.
    #[error("device {device}: MTU {mtu} is refused: {reason}; it takes {min} to {max}")]
    Mtu {
        /// The device as configured.
        device: String,
        /// The MTU, bytes.
        mtu: u16,
        /// What DPDK said.
        reason: String,
        /// The smallest that it takes, bytes.
        min: u16,
        /// The largest that it takes, bytes.
        max: u16,
    },
    /// A kernel interface whose own MTU is smaller than the port's.
    #[error(
        "device {device}: interface {interface} has MTU {has}, less than {mtu}: \
         `ip link set {interface} mtu {mtu}`"
    )]
    InterfaceMtu {
        /// The device as configured.
        device: String,
        /// Its interface.
        interface: String,
        /// The interface's MTU, bytes.
        has: u32,
        /// The port's, bytes.
        mtu: u16,
    },
    /// No memory for the packet buffers.
    #[error(
        "no memory for {buffers} packet buffers of {bytes} bytes ({megabytes} MB of the {memory} MB \
         that DPDK was given): {reason}; raise `memory`{log}"
    )]
    PoolMemory {
        /// How many buffers.
        buffers: u32,
        /// Each one's size, bytes.
        bytes: u32,
        /// All together, MB.
        megabytes: u64,
        /// What DPDK has, MB.
        memory: u64,
        /// What DPDK said.
        reason: String,
        /// DPDK's log lines of that moment.
        log: Log,
    },
    /// Anything else.
    #[error("cannot {action}: {reason}{log}")]
    Failed {
        /// What was attempted, as it follows "cannot".
        action: String,
        /// What DPDK said.
        reason: String,
        /// DPDK's log lines of that moment.
        log: Log,
    },
    /// A worker's closure panicked.
    #[error("worker {worker} panicked: {message}")]
    Panicked {
        /// Its number.
        worker: usize,
        /// What it said.
        message: String,
    },
}

/// Log lines that DPDK wrote while it failed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Log(pub Vec<String>);

impl std::fmt::Display for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|line| write!(f, "\n  DPDK: {line}"))
    }
}

/// DPDK's text for a function's negative return code. Many return a plain -1, which is not EPERM.
pub(crate) fn code(rc: i32) -> String {
    if rc == -1 { "its driver gave no reason".into() } else { text(rc) }
}

/// DPDK's text for an errno; the sign does not matter, since its functions return both.
pub(crate) fn text(errno: i32) -> String {
    let errno = errno.saturating_abs();
    // SAFETY: returns a string that is static or in this thread's own buffer, never null.
    let text = unsafe { CStr::from_ptr(dpdk_sys::rte_strerror(errno)) };
    format!("{} (errno {errno})", text.to_string_lossy())
}

/// `rte_errno`: why the last call on this thread that returns no code failed.
pub(crate) fn last() -> i32 {
    // SAFETY: reads a thread-local integer.
    unsafe { dpdk_sys::shim_errno() }
}
