//! What is behind the IP header: class, ports, SYN, faults.

use tables::{Outcome, PacketClass};

use super::Fragment;
use super::bytes::{be16, chunk};

const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;
const GRE: u8 = 47;
const ESP: u8 = 50;
const ICMPV6: u8 = 58;

const SYN: u8 = 0x02;

/// What the transport header says.
#[derive(Clone, Copy, Default)]
pub(super) struct Transport {
    pub(super) class: PacketClass,
    pub(super) sport: u16,
    pub(super) dport: u16,
    pub(super) syn: bool,
    pub(super) fault: Option<Outcome>,
}

impl Transport {
    /// What an unreadable header chain leaves.
    pub(super) fn broken() -> Self {
        Self { fault: Some(Outcome::MalformedL4), ..Self::default() }
    }

    fn of(class: PacketClass) -> Self {
        Self { class, ..Self::default() }
    }

    fn checked(class: PacketClass, valid: bool) -> Self {
        Self { class, fault: (!valid).then_some(Outcome::MalformedL4), ..Self::default() }
    }
}

/// Reads `payload`, the packet from the transport header to its end, as IPv4's protocol `proto`.
#[inline(always)]
pub(super) fn ipv4(proto: u8, fragment: Fragment, payload: &[u8]) -> Transport {
    read(proto, ICMP, fragment, payload)
}

/// The same for IPv6.
#[inline(always)]
pub(super) fn ipv6(proto: u8, fragment: Fragment, payload: &[u8]) -> Transport {
    read(proto, ICMPV6, fragment, payload)
}

/// `icmp` is the family's own ICMP: the other's is no more than an unknown protocol.
#[inline(always)]
fn read(proto: u8, icmp: u8, fragment: Fragment, payload: &[u8]) -> Transport {
    let later = fragment == Fragment::Later;
    match proto {
        TCP if later => Transport::of(PacketClass::Tcp),
        TCP => tcp(payload),
        UDP if later => Transport::of(PacketClass::UdpFragment),
        UDP => udp(fragment, payload),
        ESP => Transport::of(PacketClass::Esp),
        GRE => Transport::of(PacketClass::Gre),
        // Type, code and checksum: all that every message has.
        p if p == icmp => Transport::checked(PacketClass::Icmp, later || payload.len() >= 4),
        _ => Transport::of(PacketClass::Other),
    }
}

/// Any combination of flags is taken: SYN decides (T-1), the backend judges the rest.
#[inline(always)]
fn tcp(payload: &[u8]) -> Transport {
    let Some(header) = payload.first_chunk::<20>() else {
        return Transport::checked(PacketClass::Tcp, false);
    };
    let [s0, s1, d0, d1, _, _, _, _, _, _, _, _, offset, flags, ..] = *header;
    let header_length = usize::from(offset >> 4) * 4;
    Transport {
        sport: be16(s0, s1),
        dport: be16(d0, d1),
        syn: flags & SYN != 0,
        ..Transport::checked(
            PacketClass::Tcp,
            header_length >= 20 && header_length <= payload.len(),
        )
    }
}

/// A first fragment's length field is the whole datagram's, so only a whole one is held to it.
#[inline(always)]
fn udp(fragment: Fragment, payload: &[u8]) -> Transport {
    let whole = fragment == Fragment::Whole;
    let class = if whole { PacketClass::Udp } else { PacketClass::UdpFragment };
    let Some([s0, s1, d0, d1, n0, n1, _, _]) = chunk::<8>(payload, 0).copied() else {
        return Transport::checked(class, false);
    };
    let length = usize::from(be16(n0, n1));
    Transport {
        sport: be16(s0, s1),
        dport: be16(d0, d1),
        ..Transport::checked(class, length >= 8 && (!whole || length <= payload.len()))
    }
}
