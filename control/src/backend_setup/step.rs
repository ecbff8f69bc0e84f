//! One thing to do on a backend's host.

use ipnet::IpNet;
use tables::Family;

/// One thing to do. Where two services on a host need the same one, they share it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The interface that has the backend's address takes IP packets of so many bytes.
    LinkMtu {
        /// The family of that address.
        outer: Family,
        /// The MTU of the appliance's port.
        mtu: u16,
    },
    /// UDP packets to this port are GUE.
    Fou {
        /// The family of the UDP packets.
        outer: Family,
        /// The port.
        port: u16,
    },
    /// A device takes the outer header off.
    Tunnel(Tunnel),
    /// IPv4 packets that come out of a tunnel pass the check of their source's way back.
    LooseTunnel {
        /// The tunnel's device.
        device: String,
        /// The family of the outer header.
        outer: Family,
    },
    /// IPv4 packets that come in where the backend's address is pass that check as well.
    LooseLink,
    /// L3DSR: the VIP that a code stands for becomes the destination again.
    Rewrite {
        /// The code, 1 to 63.
        dscp: u8,
        /// A host prefix, of the backend's family.
        vip: IpNet,
    },
    /// The host says nothing of its VIPs by ARP.
    Quiet,
    /// The host has a VIP, or every address of a prefix.
    Vip(IpNet),
    /// Clients are told segments that fit the tunnel.
    Clamp {
        /// Named after it, as other services on the host may need other sizes.
        service: String,
        /// A VIP, and the largest segment of TCP over it, bytes.
        segments: Vec<(IpNet, u16)>,
    },
}

/// A tunnel's end, for any sender: several appliances, and outer sources that are spread
/// (`source_entropy`), use one device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tunnel {
    /// Its device, up to 15 bytes. Named by what it takes, not by a service.
    pub device: String,
    /// What it takes.
    pub kind: TunnelKind,
}

/// What a tunnel's device takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TunnelKind {
    /// IPv4 in IPv4.
    Ipip,
    /// IPv6 in IPv4.
    Sit,
    /// Either in IPv6: its two modes cannot be two devices of one address.
    Ip6tnl,
    /// Either in GRE over IPv4, with this key.
    Gre(Option<u32>),
    /// Either in GRE over IPv6, with this key.
    Ip6gre(Option<u32>),
}

impl TunnelKind {
    /// The outer header's family.
    pub fn outer(self) -> Family {
        match self {
            Self::Ipip | Self::Sit | Self::Gre(_) => Family::V4,
            Self::Ip6tnl | Self::Ip6gre(_) => Family::V6,
        }
    }

    /// Whether packets of a family come out of it.
    pub fn carries(self, inner: Family) -> bool {
        match self {
            Self::Ipip => inner == Family::V4,
            Self::Sit => inner == Family::V6,
            Self::Ip6tnl | Self::Gre(_) | Self::Ip6gre(_) => true,
        }
    }
}

impl Tunnel {
    /// The device for what is carried this way.
    pub fn new(kind: TunnelKind) -> Self {
        let device = match kind {
            TunnelKind::Ipip => "wr-ipip".into(),
            TunnelKind::Sit => "wr-sit".into(),
            TunnelKind::Ip6tnl => "wr-ip6tnl".into(),
            TunnelKind::Gre(None) => "wr-gre".into(),
            TunnelKind::Ip6gre(None) => "wr-ip6gre".into(),
            TunnelKind::Gre(Some(key)) => format!("wrgre-{key:x}"),
            TunnelKind::Ip6gre(Some(key)) => format!("wrgre6-{key:x}"),
        };
        Self { device, kind }
    }
}

impl Step {
    /// The family of the backend's address that it is for; `None`: for any.
    pub fn outer(&self) -> Option<Family> {
        match self {
            Self::LinkMtu { outer, .. }
            | Self::Fou { outer, .. }
            | Self::LooseTunnel { outer, .. } => Some(*outer),
            Self::Tunnel(tunnel) => Some(tunnel.kind.outer()),
            Self::LooseLink => Some(Family::V4),
            Self::Rewrite { vip, .. } if vip.addr().is_ipv4() => Some(Family::V4),
            Self::Rewrite { .. } => Some(Family::V6),
            Self::Quiet | Self::Vip(_) | Self::Clamp { .. } => None,
        }
    }
}
