//! What is known of the machine.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use crate::netlink::{Neighbour, Verdict};

/// Stands for all clients (RFC 5737): the default route decides.
pub const FAR: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

/// The machine.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Whether a windrose of this network namespace has one of the devices.
    pub running: bool,
    /// Every device that DPDK drives, a bond's members among them, in the order of
    /// [`Config::devices`](crate::model::Config::devices).
    pub devices: Vec<Device>,
    /// The kernel's interfaces.
    pub interfaces: Vec<Interface>,
    /// How the kernel would reach the backends, and [`FAR`], over the host interfaces.
    pub routes: BTreeMap<IpAddr, Verdict>,
    /// What it knows of neighbours, by the port whose host interface they are behind.
    pub neighbours: BTreeMap<(usize, IpAddr), Neighbour>,
    /// CPUs that are online.
    pub online_cpus: Vec<u16>,
    /// Free huge pages of all sizes, MB.
    pub huge_pages_mb: u64,
    /// Memory that is available without them, MB.
    pub available_mb: u64,
    /// What the connection table takes, MB.
    pub connections_mb: u64,
    /// `/dev/net/tun`
    pub tun: Tun,
}

/// A device that DPDK drives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Device {
    /// An interface of the kernel.
    Interface {
        /// Its name.
        name: String,
        /// Whether the kernel sees the same packets (`net_af_packet`).
        shared: bool,
    },
    /// A card.
    Pci {
        /// Its address.
        address: String,
        /// Whether there is one.
        present: bool,
        /// The kernel's driver that has it.
        driver: Option<String>,
    },
    /// Something in memory.
    Virtual,
    /// No device, and why not.
    Unreadable(String),
}

/// An interface of the kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Its MTU, bytes.
    pub mtu: u32,
    /// Whether it is set up.
    pub up: bool,
    /// Whether the other end is there.
    pub carrier: bool,
    /// Its addresses.
    pub addresses: Vec<IpAddr>,
    /// In effect: the larger of its own and that of all interfaces.
    pub rp_filter: u8,
    /// In effect, as above.
    pub arp_ignore: u8,
    /// Whether it has IPv6.
    pub ipv6: bool,
    /// Mbit/s; `None` where it does not know.
    pub speed: Option<u32>,
    /// Devices of the kernel on top of it: bridges and bonds that have it, its VLANs.
    pub on_top: Vec<String>,
    /// The one of them that has all that arrives.
    pub master: Option<String>,
    /// Work that is left to the card or undone on arrival, of what makes frames differ from those
    /// on a wire; empty if none, or if it cannot be asked.
    pub offloads: Vec<String>,
}

/// `/dev/net/tun`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tun {
    /// It can be opened.
    #[default]
    Ready,
    /// It is not there.
    Missing,
    /// It is not ours to open.
    Denied,
}

impl Facts {
    /// The interface of this name.
    pub fn interface(&self, name: &str) -> Option<&Interface> {
        self.interfaces.iter().find(|interface| interface.name == name)
    }
}
