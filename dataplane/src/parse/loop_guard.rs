//! Our own encapsulated packets, come back (N-5).

use std::net::IpAddr;

use super::Parsed;

const IPV4: u8 = 4;
const IPV6: u8 = 41;
const GRE: u8 = 47;

/// Whether the packet is one that an appliance with these tunnel sources encapsulated. A backend
/// that forwards instead of decapsulating would otherwise have us wrap it again, for ever.
#[inline]
pub fn is_loop(parsed: &Parsed, tunnel_sources: &[IpAddr]) -> bool {
    matches!(parsed.flow.proto(), IPV4 | IPV6 | GRE) && tunnel_sources.contains(&parsed.flow.src())
}
