//! The host interface of a port: a TAP device, and the thread that moves its frames (D-11).
//!
//! The port's addresses live on the device, so the kernel does ARP, neighbour discovery and ICMP
//! for them, and routing daemons run on it. A worker never waits for any of this: it sees two
//! bounded queues, whose other end is [`Frames`].
//!
//! In reading order:
//!
//! - this page: what a host interface is, and how it is changed while it runs;
//! - `device`: the kernel's side, made, addressed and removed;
//! - `mover`: the thread; `allowance`: how much it takes from the workers; `tag`: the port's VLAN;
//! - [`announce`]: ARP and neighbour discovery for VIPs, which are not the kernel's;
//! - `groups`: the multicast groups that the neighbour discovery of those needs.

mod allowance;
pub mod announce;
mod device;
mod groups;
mod mover;
mod tag;

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

use ipnet::IpNet;
use parking_lot::Mutex;
use tun_rs::{InterruptEvent, SyncDevice};

use allowance::Allowance;
use announce::Announcer;
pub use device::HostError;
use mover::{Mover, News};

/// What the device looks like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostConfig {
    /// Its name, at most 15 bytes.
    pub name: String,
    /// Its Ethernet address: the port's.
    pub mac: [u8; 6],
    /// The largest IP packet, bytes.
    pub mtu: u16,
    /// The port's VLAN, 0: untagged. Frames on the device have no tag (N-4).
    pub vlan: u16,
    /// Its addresses with their on-link prefixes.
    pub addresses: Vec<IpNet>,
    /// The most frames that are taken from the workers in a second.
    pub rate: u32,
    /// Whether its port's link is up.
    pub link: bool,
}

/// The other end of the workers' queues.
pub trait Frames: Send + 'static {
    /// Gives the next frame for the host to `deliver`; false if there is none.
    fn next(&mut self, deliver: &mut dyn FnMut(&[u8])) -> bool;

    /// Lets `fill` write a frame for the network into a buffer and say how long it is; false if it
    /// had none, or if no buffer was free: then `fill` was not asked.
    fn send(&mut self, fill: &mut dyn FnMut(&mut [u8]) -> Option<usize>) -> bool;
}

/// A host interface with its thread. Dropping it stops the thread and removes the device.
pub struct HostInterface {
    name: String,
    device: Arc<SyncDevice>,
    addresses: Vec<IpNet>,
    carrier: bool,
    news: Arc<Mutex<News>>,
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
        let device = Arc::new(device::create(config)?);
        let failed = |source| device::error(&config.name, "start its thread", source);
        let stop = Arc::new(InterruptEvent::new().map_err(failed)?);
        let (undelivered, news) = (Arc::<AtomicU64>::default(), Arc::<Mutex<News>>::default());
        let mover = Mover {
            device: device.clone(),
            frames,
            vlan: config.vlan,
            announcer: Announcer::new(config.mac, addresses(&config.addresses)),
            allowance: Allowance::per_second(config.rate),
            news: news.clone(),
            groups: groups::Groups::on(device.if_index().unwrap_or(0)),
            undelivered: undelivered.clone(),
            stop: stop.clone(),
            start: Instant::now(),
            scratch: Vec::new(),
            waiting: Default::default(),
        };
        let thread = std::thread::Builder::new().name("host".into());
        let thread = thread.spawn(move || mover.run()).map_err(failed)?;
        let (name, addresses) = (config.name.clone(), config.addresses.clone());
        let (carrier, thread) = (config.link, Some(thread));
        Ok(Self { name, device, addresses, carrier, news, stop, undelivered, thread })
    }

    /// Gives the device these addresses in place of those that it has; what stays is not touched.
    /// New ones come before old ones go; one that somebody else has taken away comes back.
    ///
    /// # Errors
    /// What the kernel refuses; the device has then more than it should, and the next change tries
    /// again.
    pub fn set_addresses(&mut self, wanted: &[IpNet]) -> Result<(), HostError> {
        if let Ok(there) = self.device.addresses() {
            self.addresses.retain(|address| there.contains(&address.addr()));
        }
        for address in wanted {
            if !self.addresses.contains(address) {
                self.replace(*address)?;
            }
        }
        for gone in self.addresses.clone() {
            if !wanted.contains(&gone) {
                device::remove_address(&self.device, gone)
                    .map_err(|e| device::error(&self.name, &format!("take {gone} away"), e))?;
                self.addresses.retain(|address| *address != gone);
            }
        }
        self.news.lock().own = Some(addresses(wanted));
        Ok(())
    }

    /// An address whose prefix changes cannot be there twice: it goes first.
    fn replace(&mut self, address: IpNet) -> Result<(), HostError> {
        let failed = |e| device::error(&self.name, &format!("give it {address}"), e);
        if let Some(old) = self.addresses.iter().position(|a| a.addr() == address.addr()) {
            device::remove_address(&self.device, self.addresses[old]).map_err(failed)?;
            self.addresses.remove(old);
        }
        device::add_address(&self.device, address).map_err(failed)?;
        self.addresses.push(address);
        Ok(())
    }

    /// Its port's link is up, or is not: so is its carrier, and the kernel's routes over it count or
    /// do not.
    ///
    /// # Errors
    /// What the kernel refuses, said once for each change.
    pub fn set_link(&mut self, up: bool) -> Result<(), HostError> {
        if std::mem::replace(&mut self.carrier, up) == up {
            return Ok(());
        }
        device::set_carrier(&self.device, up)
            .map_err(|e| device::error(&self.name, device::FOLLOW, e))
    }

    /// From now on answers for these VIPs, and for no others; tells the segment of those that are
    /// new.
    pub fn announce(&self, vips: BTreeSet<IpAddr>) {
        self.news.lock().vips = Some(vips);
    }

    /// Tells the segment of all addresses again: its link has come up, or it is on another cable.
    pub fn announce_again(&self) {
        self.news.lock().again = true;
    }

    /// How many frames the kernel did not take (the device was set down, say).
    pub fn undelivered(&self) -> u64 {
        self.undelivered.load(Ordering::Relaxed)
    }
}

fn addresses(nets: &[IpNet]) -> Vec<IpAddr> {
    nets.iter().map(IpNet::addr).collect()
}

impl std::fmt::Debug for HostInterface {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostInterface")
            .field("name", &self.name)
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
