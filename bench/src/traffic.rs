//! The packets: one pattern, in which each flow has its own source.

use tables::Flow;

/// Ours, on the port.
pub const OURS: [u8; 6] = [2, 0, 0, 0, 0, 10];
/// The router's, where packets come from and go to.
pub const ROUTER: [u8; 6] = [2, 0, 0, 0, 0, 11];
/// Where IPv4 clients send to.
pub const VIP4: [u8; 4] = [203, 0, 113, 10];
/// Where IPv6 clients send to.
pub const VIP6: [u8; 16] = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10];

/// Where the clients of many VIPs send to: the first of [`VIPS`] addresses in a row.
pub const FIRST_VIP: [u8; 4] = [198, 18, 0, 0];
/// How many VIPs many are.
pub const VIPS: u32 = 1_000;

const IPV6_CLIENTS: [u8; 16] = [0x20, 1, 0xd, 0xb8, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
const PORT: u16 = 80;

/// What the packets are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// TCP over IPv4, of a connection that is there.
    Tcp4,
    /// TCP over IPv6, the same.
    Tcp6,
    /// TCP over IPv4 with SYN.
    Syn4,
    /// TCP over IPv6 with SYN.
    Syn6,
    /// UDP over IPv4.
    Udp4,
    /// As [`Kind::Tcp4`], the flows spread over [`VIPS`] VIPs.
    Many4,
    /// As [`Kind::Syn4`], the same.
    ManySyn4,
}

impl Kind {
    /// Whether it is IPv6.
    pub fn v6(self) -> bool {
        matches!(self, Self::Tcp6 | Self::Syn6)
    }

    /// How many VIPs, and services, there are.
    pub fn vips(self) -> u32 {
        if matches!(self, Self::Many4 | Self::ManySyn4) { VIPS } else { 1 }
    }

    /// Whether it opens a connection.
    fn is_syn(self) -> bool {
        matches!(self, Self::Syn4 | Self::Syn6 | Self::ManySyn4)
    }

    /// The packet that starts such a connection.
    pub fn opening(self) -> Self {
        match self {
            Self::Tcp4 | Self::Syn4 => Self::Syn4,
            Self::Tcp6 | Self::Syn6 => Self::Syn6,
            Self::Many4 | Self::ManySyn4 => Self::ManySyn4,
            Self::Udp4 => Self::Udp4,
        }
    }

    /// The packet that goes on with it.
    pub fn going_on(self) -> Self {
        match self {
            Self::Syn4 => Self::Tcp4,
            Self::Syn6 => Self::Tcp6,
            Self::ManySyn4 => Self::Many4,
            other => other,
        }
    }
}

/// The source of flow `n`: 24 bits of address and 8 of the port, no two alike. Mixed by steps that
/// can be undone (MurmurHash3's last ones), and not only by a factor: neighbours that differ in few
/// bits would be spread evenly by a checksum, which is what `rte_hash` hashes by.
fn source(n: u32) -> (u32, u16) {
    let n = (n ^ n >> 16).wrapping_mul(0x85EB_CA6B);
    let n = (n ^ n >> 13).wrapping_mul(0xC2B2_AE35);
    let n = n ^ n >> 16;
    (n & 0xFF_FFFF, 40_000 + (n >> 24) as u16)
}

/// Which of a kind's VIPs flow `n` is for, from 0.
#[inline]
fn vip(vips: u32, n: u32) -> u16 {
    (n % vips) as u16
}

/// The flow of number `n`, as the parser reads it.
pub fn flow(kind: Kind, n: u32) -> Flow {
    let (client, sport) = source(n);
    let [_, a, b, c] = client.to_be_bytes();
    if kind.v6() {
        let mut address = IPV6_CLIENTS;
        address[13..].copy_from_slice(&[a, b, c]);
        return Flow::v6(address, VIP6, 6, sport, PORT);
    }
    let vip = match kind.vips() {
        1 => VIP4,
        vips => (u32::from_be_bytes(FIRST_VIP) + u32::from(vip(vips, n))).to_be_bytes(),
    };
    Flow::v4([10, a, b, c], vip, if kind == Kind::Udp4 { 17 } else { 6 }, sport, PORT)
}

/// A frame in which only the source is to be filled in.
#[derive(Clone, Debug)]
pub struct Pattern {
    bytes: [u8; 80],
    len: usize,
    v6: bool,
    vips: u32,
    /// Of an IPv4 header's words, without the source's low 24 bits.
    sum: u32,
}

impl Pattern {
    /// The smallest frame of its kind: 60 bytes for IPv4, 74 for IPv6.
    pub fn new(kind: Kind) -> Self {
        let mut frame = [&OURS[..], &ROUTER].concat();
        frame.extend(if kind.v6() { ipv6() } else { ipv4(kind) });
        frame.extend(transport(kind));
        frame.resize(frame.len().max(60), 0xAB);
        let words = frame[14..34].chunks(2).map(|w| u32::from(w[0]) << 8 | u32::from(w[1]));
        let (mut bytes, len) = ([0; 80], frame.len());
        bytes[..len].copy_from_slice(&frame);
        Self { bytes, len, v6: kind.v6(), vips: kind.vips(), sum: words.sum() }
    }

    /// Bytes of a frame.
    pub fn frame_length(&self) -> usize {
        self.len
    }

    /// Writes the frame of flow `n` into a buffer of exactly its length.
    #[inline]
    pub fn write(&self, frame: &mut [u8], n: u32) {
        let (client, sport) = source(n);
        frame.copy_from_slice(&self.bytes[..self.len]);
        let [_, a, b, c] = client.to_be_bytes();
        let (address, ports) = if self.v6 { (35, 54) } else { (27, 34) };
        frame[address..address + 3].copy_from_slice(&[a, b, c]);
        frame[ports..ports + 2].copy_from_slice(&sport.to_be_bytes());
        if !self.v6 {
            let mut sum = self.sum + (client >> 16) + (client & 0xFFFF);
            if self.vips > 1 {
                let vip = vip(self.vips, n);
                frame[32..34].copy_from_slice(&vip.to_be_bytes());
                sum += u32::from(vip);
            }
            let folded = (sum & 0xFFFF) + (sum >> 16);
            let checksum = !((folded & 0xFFFF) + (folded >> 16)) as u16;
            frame[24..26].copy_from_slice(&checksum.to_be_bytes());
        }
    }
}

fn ipv4(kind: Kind) -> Vec<u8> {
    let proto = if kind == Kind::Udp4 { 17 } else { 6 };
    let fixed = [8, 0, 0x45, 0, 0, 46, 0, 0, 0x40, 0, 64, proto, 0, 0];
    let vip = if kind.vips() > 1 { &FIRST_VIP } else { &VIP4 };
    [&fixed[..], &[10, 0, 0, 0], vip].concat()
}

fn ipv6() -> Vec<u8> {
    [&[0x86, 0xDD, 0x60, 0, 0, 0, 0, 20, 6, 64][..], &IPV6_CLIENTS, &VIP6].concat()
}

fn transport(kind: Kind) -> Vec<u8> {
    let ports = [0, 0, 0, PORT as u8];
    let flags = if kind.is_syn() { 0x02 } else { 0x10 };
    match kind {
        Kind::Udp4 => [&ports[..], &[0, 26, 0, 0]].concat(),
        _ => [&ports[..], &[0, 0, 0, 1, 0, 0, 0, 1, 0x50, flags, 4, 0, 0, 0, 0, 0]].concat(),
    }
}

/// In which order flows come.
#[derive(Clone, Debug)]
pub enum Order {
    /// At random, of this many.
    Random {
        /// How many flows there are.
        flows: u32,
        /// The generator's state, not 0.
        state: u64,
    },
    /// Each once; their numbers are mixed by [`flow`], so memory sees a random order.
    Each {
        /// The next one.
        next: u32,
    },
}

impl Order {
    /// Any of the first `flows`.
    pub fn random(flows: u32) -> Self {
        Self::Random { flows, state: 0x9E37_79B9_7F4A_7C15 }
    }

    /// The next flow's number.
    #[inline]
    pub fn take(&mut self) -> u32 {
        match self {
            Self::Random { flows, state } => {
                *state ^= *state << 13;
                *state ^= *state >> 7;
                *state ^= *state << 17;
                (((*state >> 32) * u64::from(*flows)) >> 32) as u32
            }
            Self::Each { next } => {
                let n = *next;
                *next = n.wrapping_add(1);
                n
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dataplane::parse;
    use tables::{Mac, Port};

    #[test]
    fn frames_are_of_the_flows_that_they_are_said_to_be() {
        let port = Port {
            name: "p".into(),
            mac: Mac(OURS),
            vlan: 0,
            mtu: 1500,
            any_mac: false,
            answer_echo: false,
            icmp_rate: 0,
            addresses: [].into(),
        };
        use Kind::{Many4, ManySyn4, Syn4, Syn6, Tcp4, Tcp6, Udp4};
        for kind in [Tcp4, Tcp6, Syn4, Syn6, Udp4, Many4, ManySyn4] {
            let pattern = Pattern::new(kind);
            for n in [0, 1, 77_777, 1 << 24, u32::MAX] {
                let mut frame = vec![0; pattern.frame_length()];
                pattern.write(&mut frame, n);
                let parsed = parse::frame(&frame, &port).expect("a good frame");
                assert_eq!(parsed.flow, flow(kind, n), "{kind:?} {n}");
                assert_eq!(parsed.syn, kind.is_syn());
                assert_eq!(parsed.fault, None);
                assert_eq!(usize::from(parsed.length) + 14, frame.len(), "no padding");
            }
        }
    }

    #[test]
    fn ipv4_checksums_are_right() {
        for kind in [Kind::Tcp4, Kind::Many4] {
            let pattern = Pattern::new(kind);
            let mut frame = vec![0; pattern.frame_length()];
            for n in [0, 5, 123_456] {
                pattern.write(&mut frame, n);
                let words = frame[14..34].chunks(2).map(|w| u32::from(w[0]) << 8 | u32::from(w[1]));
                let sum: u32 = words.sum();
                assert_eq!((sum & 0xFFFF) + (sum >> 16), 0xFFFF, "{kind:?} {n}");
            }
        }
    }

    #[test]
    fn random_flows_stay_below_their_number_and_reach_both_ends() {
        let mut order = Order::random(10);
        let seen: Vec<u32> = (0..1000).map(|_| order.take()).collect();
        assert_eq!(seen.iter().max(), Some(&9));
        assert_eq!(seen.iter().min(), Some(&0));
    }
}
