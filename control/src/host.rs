//! The host interface of a port: a TAP device, and the thread that moves its frames (D-11).
//!
//! The port's addresses live on the device, so the kernel does ARP, neighbour discovery and ICMP
//! for them, and routing daemons run on it. A worker never waits for any of this: it sees two
//! bounded queues, whose other end is [`Frames`].

use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use ipnet::IpNet;
use tun_rs::{DeviceBuilder, InterruptEvent, Layer, SyncDevice};

/// How long a frame from a worker waits at most when the thread was idle: queues have no way to
/// wake it, and a worker shall not make a system call.
const PAUSE: Duration = Duration::from_millis(1);

/// So many frames go one way before the other way is looked at.
const TURN: usize = 64;

/// What the device looks like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostConfig {
    /// Its name, at most 15 bytes.
    pub name: String,
    /// Its Ethernet address: the port's.
    pub mac: [u8; 6],
    /// The largest IP packet, bytes.
    pub mtu: u16,
    /// Its addresses with their on-link prefixes.
    pub addresses: Vec<IpNet>,
}

/// The other end of the workers' queues.
pub trait Frames: Send + 'static {
    /// Gives the next frame for the host to `deliver`; false if there is none.
    fn next(&mut self, deliver: &mut dyn FnMut(&[u8])) -> bool;

    /// Lets `fill` write a frame for the network into a buffer and say how long it is; false if it
    /// had none, or if no buffer was free: then `fill` was not asked.
    fn send(&mut self, fill: &mut dyn FnMut(&mut [u8]) -> Option<usize>) -> bool;
}

/// Why there is no host interface.
#[derive(Debug, thiserror::Error)]
#[error("host interface {name}: {what}: {source}{cure}")]
pub struct HostError {
    name: String,
    what: &'static str,
    source: io::Error,
    cure: &'static str,
}

/// A host interface with its thread. Dropping it stops the thread and removes the device.
pub struct HostInterface {
    stop: Arc<InterruptEvent>,
    undelivered: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl HostInterface {
    /// Makes the device, in the network namespace of the caller, and starts its thread.
    ///
    /// # Errors
    /// No `/dev/net/tun`, no permission, a name that is taken, an address that the kernel refuses.
    pub fn start(config: &HostConfig, frames: impl Frames) -> Result<Self, HostError> {
        let device = create(config)?;
        let failed = |source| error(config, "start its thread", source);
        let stop = Arc::new(InterruptEvent::new().map_err(failed)?);
        let undelivered = Arc::new(AtomicU64::new(0));
        let mover = Mover { device, frames, undelivered: undelivered.clone(), stop: stop.clone() };
        let thread = std::thread::Builder::new().name("host".into());
        let thread = thread.spawn(move || mover.run()).map_err(failed)?;
        Ok(Self { stop, undelivered, thread: Some(thread) })
    }

    /// How many frames the kernel did not take (the device was set down, say).
    pub fn undelivered(&self) -> u64 {
        self.undelivered.load(Ordering::Relaxed)
    }
}

impl std::fmt::Debug for HostInterface {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostInterface")
            .field("undelivered", &self.undelivered)
            .finish_non_exhaustive()
    }
}

impl Drop for HostInterface {
    fn drop(&mut self) {
        if self.stop.trigger().is_ok()
            && let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread of a host interface panicked");
        }
    }
}

fn create(config: &HostConfig) -> Result<SyncDevice, HostError> {
    let builder = DeviceBuilder::new().name(&config.name).layer(Layer::L2).enable(false);
    let device = builder.mac_addr(config.mac).mtu(config.mtu).build_sync();
    let device = device.map_err(|source| error(config, "create it", source))?;
    skip_duplicate_detection(&config.name);
    for address in &config.addresses {
        add_address(&device, *address)
            .map_err(|source| error(config, "give it its addresses", source))?;
    }
    let up = device.enabled(true).and_then(|()| device.set_nonblocking(true));
    up.map_err(|source| error(config, "bring it up", source))?;
    Ok(device)
}

/// An address would else be unusable for a second. Nobody but us is on this link. Where /proc is
/// read-only the second is all that it costs.
fn skip_duplicate_detection(name: &str) {
    let path = format!("/proc/sys/net/ipv6/conf/{name}/accept_dad");
    if let Err(error) = std::fs::write(&path, "0") {
        tracing::debug!("{path}: {error}");
    }
}

fn add_address(device: &SyncDevice, address: IpNet) -> io::Result<()> {
    match address {
        IpNet::V4(net) => device.add_address_v4(net.addr(), net.prefix_len()),
        IpNet::V6(net) => device.add_address_v6(net.addr(), net.prefix_len()),
    }
}

fn error(config: &HostConfig, what: &'static str, source: io::Error) -> HostError {
    let cure = match source.raw_os_error().map(io::Error::from_raw_os_error).map(|e| e.kind()) {
        Some(ErrorKind::NotFound) => {
            "; load the module (`modprobe tun`) or pass /dev/net/tun into the container"
        }
        Some(ErrorKind::PermissionDenied) => "; it needs CAP_NET_ADMIN and access to /dev/net/tun",
        Some(ErrorKind::ResourceBusy | ErrorKind::InvalidInput) => {
            "; the name is probably taken (`ip link`): remove that interface or choose another host_interface"
        }
        _ => "",
    };
    HostError { name: config.name.clone(), what, source, cure }
}

/// The thread: frames from the device to the network and from the workers to the device.
struct Mover<F> {
    device: SyncDevice,
    frames: F,
    undelivered: Arc<AtomicU64>,
    stop: Arc<InterruptEvent>,
}

impl<F: Frames> Mover<F> {
    fn run(mut self) {
        while !self.stop.is_trigger() {
            let readable = self.device.wait_readable_intr_timeout(&self.stop, Some(PAUSE));
            let moved = self.deliver() + if readable.is_ok() { self.collect() } else { 0 };
            match readable.map_err(|error| error.kind()) {
                // Every buffer is on its way to the workers: the kernel's own queue has to wait.
                Ok(()) if moved == 0 => std::thread::sleep(PAUSE),
                Ok(()) | Err(ErrorKind::TimedOut | ErrorKind::Interrupted) => {}
                Err(_) => {
                    return tracing::error!("a host interface is gone; its traffic is dropped");
                }
            }
        }
    }

    fn deliver(&mut self) -> usize {
        let (device, undelivered) = (&self.device, &self.undelivered);
        let mut deliver = |frame: &[u8]| {
            if device.send(frame).is_err() {
                undelivered.fetch_add(1, Ordering::Relaxed);
            }
        };
        let frames = &mut self.frames;
        (0..TURN).take_while(|_| frames.next(&mut deliver)).count()
    }

    fn collect(&mut self) -> usize {
        let device = &self.device;
        let mut fill = |buffer: &mut [u8]| device.recv(buffer).ok();
        let frames = &mut self.frames;
        (0..TURN).take_while(|_| frames.send(&mut fill)).count()
    }
}
