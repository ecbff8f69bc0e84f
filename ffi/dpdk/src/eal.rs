//! DPDK's runtime: started once, on a thread of its own.

use std::ffi::{CString, c_char};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::device::Device;
use crate::error::{last, text};
use crate::hugepages::Free;
use crate::log::{self, Mark};
use crate::{Error, HugePages, memory};

/// What DPDK needs to know to start.
#[derive(Clone, Debug)]
pub struct EalConfig {
    /// One worker thread is pinned to each of these CPUs.
    pub cpus: Vec<usize>,
    /// DPDK's memory, MB.
    pub memory: u64,
    /// Whether to use huge pages.
    pub hugepages: HugePages,
    /// Every device that will be opened; DPDK touches no other.
    pub devices: Vec<String>,
    /// More arguments, passed through.
    pub extra_args: Vec<String>,
}

impl Default for EalConfig {
    fn default() -> Self {
        Self {
            cpus: vec![0],
            memory: 512,
            hugepages: HugePages::Auto,
            devices: Vec::new(),
            extra_args: Vec::new(),
        }
    }
}

/// DPDK's runtime. Cheap to clone; it lasts as long as the process.
#[derive(Clone, Debug)]
pub struct Eal(Arc<Facts>);

#[derive(Debug)]
struct Facts {
    workers: usize,
    memory: u64,
    huge: bool,
}

impl Eal {
    /// Starts DPDK and one idle worker thread for each CPU.
    ///
    /// What can be checked before is checked before: only a start that reached DPDK counts as the
    /// one that a process has. `rte_eal_init` pins its caller, so it runs on a thread of its own.
    ///
    /// # Errors
    /// A device or CPU that is not there, missing huge pages, a second start, and what DPDK says.
    pub fn start(config: &EalConfig) -> Result<Self, Error> {
        let huge = config.hugepages.decide(config.memory, &Free::now())?;
        if !huge {
            memory::check(config.memory)?;
        }
        let arguments = arguments(config, huge, &allowed_cpus())?;
        init(arguments)?;
        Ok(Self(Arc::new(Facts { workers: config.cpus.len(), memory: config.memory, huge })))
    }

    /// How many worker threads there are.
    pub fn workers(&self) -> usize {
        self.0.workers
    }

    /// The memory that DPDK was given, MB.
    pub fn memory(&self) -> u64 {
        self.0.memory
    }

    /// Whether DPDK's memory is in huge pages.
    pub fn huge(&self) -> bool {
        self.0.huge
    }

    /// DPDK's version, as it names itself.
    pub fn version() -> String {
        // SAFETY: returns a static string.
        let version = unsafe { std::ffi::CStr::from_ptr(dpdk_sys::shim_version()) };
        version.to_string_lossy().into_owned()
    }
}

fn init(arguments: Vec<String>) -> Result<(), Error> {
    static STARTED: AtomicBool = AtomicBool::new(false);
    if STARTED.swap(true, Ordering::SeqCst) {
        return Err(Error::AlreadyStarted);
    }
    let thread = std::thread::Builder::new().name("dpdk-main".into());
    let thread = thread.spawn(move || init_here(&arguments)).map_err(|error| Error::Failed {
        action: "start a thread for DPDK".into(),
        reason: error.to_string(),
        log: Default::default(),
    })?;
    thread.join().expect("rte_eal_init does not unwind")
}

fn init_here(arguments: &[String]) -> Result<(), Error> {
    log::capture();
    let mark = Mark::now();
    // DPDK keeps pointers into its arguments: they are never freed.
    let mut argv: Vec<*mut c_char> = arguments.iter().map(|a| leak(a)).collect();
    argv.push(std::ptr::null_mut());
    let argv: &'static mut [*mut c_char] = argv.leak();
    // SAFETY: argv holds arguments.len() strings and a null, all writable and never freed; this is
    // the only call in this process (see `init`).
    let rc = unsafe { dpdk_sys::rte_eal_init(arguments.len() as i32, argv.as_mut_ptr()) };
    if rc >= 0 {
        return Ok(());
    }
    let action = format!("start DPDK with `{}`", arguments.join(" "));
    Err(Error::Failed { action, reason: text(last()), log: mark.since() })
}

fn leak(argument: &str) -> *mut c_char {
    // A zero byte cannot come from a file or a command line; without it the rest is meaningless.
    CString::new(argument.split('\0').next().unwrap_or_default()).unwrap_or_default().into_raw()
}

/// The command line for `rte_eal_init`.
fn arguments(config: &EalConfig, huge: bool, allowed: &[usize]) -> Result<Vec<String>, Error> {
    let memory = config.memory.to_string();
    let lcores = lcores(&config.cpus, allowed)?;
    let mut out: Vec<String> = ["windrose", "--log-level=notice", "--no-telemetry", "-m", &memory]
        .map(str::to_owned)
        .to_vec();
    out.extend(["--main-lcore=0".into(), format!("--lcores={lcores}")]);
    // DPDK refuses --in-memory together with --no-huge, whose memory is anonymous anyway.
    out.extend(
        if huge { vec!["--in-memory"] } else { vec!["--no-huge", "--no-shconf"] }
            .into_iter()
            .map(str::to_owned),
    );
    let devices = config.devices.iter().map(|d| Device::parse(d)?.check());
    let addresses: Vec<String> =
        devices.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect();
    if addresses.is_empty() {
        out.push("--no-pci".into());
    }
    out.extend(addresses.into_iter().flat_map(|address| ["-a".to_owned(), address]));
    out.extend(config.extra_args.iter().cloned());
    Ok(out)
}

/// Lcore 0, which does nothing, floats over all CPUs; lcore i + 1 is pinned to worker i's.
fn lcores(cpus: &[usize], allowed: &[usize]) -> Result<String, Error> {
    let max = dpdk_sys::RTE_MAX_LCORE as usize - 1;
    if cpus.is_empty() || cpus.len() > max {
        return Err(Error::WorkerCount { count: cpus.len(), max });
    }
    let all = allowed.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
    if let Some(&cpu) = cpus.iter().find(|cpu| !allowed.contains(cpu)) {
        return Err(Error::NoSuchCpu { cpu, allowed: all });
    }
    let workers = cpus.iter().enumerate().map(|(i, cpu)| format!(",{}@{cpu}", i + 1));
    Ok(format!("0@({all}){}", workers.collect::<String>()))
}

/// The CPUs that this process may run on.
fn allowed_cpus() -> Vec<usize> {
    // SAFETY: an all-zero cpu_set_t is an empty set; the kernel writes at most its size.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set);
        set
    };
    // SAFETY: each cpu is below CPU_SETSIZE, the set's number of bits.
    (0..libc::CPU_SETSIZE as usize).filter(|cpu| unsafe { libc::CPU_ISSET(*cpu, &set) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_main_lcore_floats_and_workers_are_pinned() {
        assert_eq!(lcores(&[3, 1], &[0, 1, 2, 3]).unwrap(), "0@(0,1,2,3),1@3,2@1");
    }

    #[test]
    fn a_cpu_that_is_not_there_is_named() {
        let error = lcores(&[7], &[0, 1]).unwrap_err().to_string();
        assert_eq!(error, "worker CPU 7 is not one that this process may run on (0,1)");
        assert!(matches!(lcores(&[], &[0]), Err(Error::WorkerCount { count: 0, .. })));
    }

    #[test]
    fn without_huge_pages_memory_is_anonymous_and_no_pci_device_is_touched() {
        let config = EalConfig { devices: vec!["net_null0".into()], ..EalConfig::default() };
        let arguments = arguments(&config, false, &[0, 1]).unwrap().join(" ");
        assert!(
            arguments.contains(
                "-m 512 --main-lcore=0 --lcores=0@(0,1),1@0 --no-huge --no-shconf --no-pci"
            ),
            "{arguments}"
        );
    }
}
