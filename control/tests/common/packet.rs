//! The vectors' packets → the plans' classes.

use serde::Deserialize;
use tables::PacketClass;

/// `proto` of a case.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Proto {
    Tcp,
    Udp,
    Esp,
    Gre,
    Icmp,
    Icmpv6,
    Other,
}

/// The class of a packet. Fragments of TCP take their ports from the first one (S-6), those of
/// UDP have none; the rest have none anyway.
pub(crate) fn class(proto: Proto, fragment: bool) -> PacketClass {
    match proto {
        Proto::Tcp => PacketClass::Tcp,
        Proto::Udp if fragment => PacketClass::UdpFragment,
        Proto::Udp => PacketClass::Udp,
        Proto::Esp => PacketClass::Esp,
        Proto::Gre => PacketClass::Gre,
        Proto::Icmp | Proto::Icmpv6 => PacketClass::Icmp,
        Proto::Other => PacketClass::Other,
    }
}
