//! `[[port]]`

use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;
use tables::Mac;

use super::{AnnounceVips, Bond};

/// `[[port]]`
#[derive(Clone, Debug, PartialEq)]
pub struct Port {
    /// Its name.
    pub name: Arc<str>,
    /// A PCI address, a DPDK vdev string, or the name of a bond. Ports of one device differ in
    /// [`Port::vlan`].
    pub device: String,
    /// What `device` is made of, if it is a bond; one of its ports says so.
    pub bond: Option<Bond>,
    /// Its own addresses with their on-link prefixes.
    pub addresses: Vec<IpNet>,
    /// Next hops for what is not on link, at most one per family.
    pub gateways: Vec<IpAddr>,
    /// The largest IP packet, bytes.
    pub mtu: u16,
    /// ICMP answers a second a worker (N-3).
    pub icmp_rate: u32,
    /// Echo to a VIP that no rule takes ICMP for.
    pub answer_echo: bool,
    /// Fragment what is too big and may be (D-8).
    pub fragment_oversize: bool,
    /// VLAN id, 0: untagged.
    pub vlan: u16,
    /// The host interface's name; empty: none.
    pub host_interface: String,
    /// Frames a second that are taken from the workers for the host (D-11).
    pub host_rate: u32,
    /// Whether VIPs within the prefixes of `addresses` are answered for.
    pub announce_vips: AnnounceVips,
    /// Static neighbours.
    pub neighbours: Vec<(IpAddr, Mac)>,
}
