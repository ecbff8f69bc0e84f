//! A port as a worker sees it.

use std::net::IpAddr;
use std::sync::Arc;

/// The most ports that one appliance can have.
pub const MAX_PORTS: usize = 8;

/// A port's number: an index into [`crate::Tables::ports`] and the order of the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PortId(pub u8);

/// An Ethernet address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Mac(pub [u8; 6]);

impl std::fmt::Display for Mac {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

/// One port.
#[derive(Clone, Debug)]
pub struct Port {
    /// Its name, for logs.
    pub name: Arc<str>,
    /// Its own Ethernet address.
    pub mac: Mac,
    /// Its VLAN id, 0: untagged (N-4).
    pub vlan: u16,
    /// The largest IP packet that it sends, in bytes.
    pub mtu: u16,
    /// Whether any destination address is taken (captures only).
    pub any_mac: bool,
    /// Its own IP addresses.
    pub addresses: Box<[IpAddr]>,
    /// The most ICMP answers that a worker sends out of it in a second (N-3).
    pub icmp_rate: u32,
    /// Whether an echo request to a VIP that no rule takes ICMP for is answered.
    pub answer_echo: bool,
}
