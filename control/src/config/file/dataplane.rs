//! `[dataplane]`, `[[port]]`, `[admin]`.

use std::net::{IpAddr, SocketAddr};

use ipnet::IpNet;
use tables::HashSeed;

use crate::config::field::Field;
use crate::config::table::config_table;
use crate::config::value::mixed::Neighbours;
use crate::config::value::number::Int;
use crate::config::value::text::{Bytes, Name};
use crate::model::{AnnounceVips, BondMode, Hugepages, Idle};

config_table! {
    /// What belongs to the process.
    "[dataplane]" struct Dataplane {
        /// CPU ids, one run-to-completion worker each; empty: every CPU but the first.
        default workers: Vec<Field<Int<0, 1023>>> = [],
        /// Whether to use huge pages.
        default hugepages: Hugepages = "auto",
        /// Memory for DPDK's buffers.
        default memory: Bytes = "512M",
        /// Capacity of the connection table for IPv4 connections, all workers together; its memory comes on top of `memory`.
        default conntrack_entries: Int<1_000, 100_000_000> = 1_000_000,
        /// The same for IPv6 connections.
        default conntrack_entries_v6: Int<1_000, 100_000_000> = 250_000,
        /// New entries a second a worker: beyond it packets of new connections are forwarded without an entry, so that a flood costs a bounded share of a worker's time. 0: no limit.
        default insert_rate: Int<0, 100_000_000> = 1_000_000,
        /// Slots of a service's Maglev table where the service gives none: a prime, at least ten times the backends.
        default maglev_table_size: Int<101, 5_000_011> = 65_537,
        /// Keys the selection hash: a secret, the same on every appliance of a fleet. The default is public.
        default hash_seed: HashSeed = "6ba7b8109dad11d180b400c04fd430c8",
        /// What a worker does when nothing arrives.
        default idle: Idle = "adaptive",
        /// Passed through to DPDK.
        default eal_args: Vec<String> = [],
    }
}

config_table! {
    /// A port that packets come in and go out by.
    "port" struct Port {
        /// Its name in logs and metrics.
        required name: Name = "unnamed",
        /// A PCI address or a DPDK vdev string; with `members` a name for the bond. Several ports may share one, each with a `vlan` of its own.
        required device: String = "",
        /// What the device is made of, if it is a bond: PCI addresses or DPDK vdev strings, the preferred one first. One of the ports that share it says so.
        default members: Vec<Field<String>> = [],
        /// Which members of a bond carry traffic.
        optional bond: BondMode,
        /// Its own addresses, each with the prefix that is on link.
        default addresses: Vec<Field<IpNet>> = [],
        /// Next hops for what is not on link, at most one per family.
        default gateways: Vec<Field<IpAddr>> = [],
        /// The largest IP packet, in bytes.
        default mtu: Int<576, 9_216> = 1_500,
        /// ICMP answers a second a worker.
        default icmp_rate: Int<0, 10_000_000> = 1_000,
        /// Answer echo requests to a VIP that no rule takes ICMP for.
        default answer_echo: bool = true,
        /// Where DF is clear and the packet too big: fragment it before encapsulation instead of dropping it.
        default fragment_oversize: bool = false,
        /// VLAN id; 0: untagged.
        default vlan: Int<0, 4_094> = 0,
        /// Name of the host's interface for what is for no rule; empty: none.
        default host_interface: String = "",
        /// Frames a second that are taken for the host interface; beyond it they are dropped by name, so that a flood costs the workers a bounded share of their time.
        default host_rate: Int<1, 10_000_000> = 50_000,
        /// Whether VIPs inside the prefixes of `addresses` are answered for: ARP and neighbour discovery.
        default announce_vips: AnnounceVips = "always",
        /// Static neighbours: address = Ethernet address.
        default neighbours: Neighbours = {},
    }
}

config_table! {
    /// Metrics, JSON API and control socket.
    "[admin]" struct Admin {
        /// Where metrics and the JSON API listen.
        default listen: SocketAddr = "127.0.0.1:9180",
        /// Path of the control socket.
        default socket: String = "/run/windrose/control.sock",
        /// File that keeps the operator's drains and disables over a restart; empty: none.
        default orders: String = "/var/lib/windrose/orders.json",
    }
}
