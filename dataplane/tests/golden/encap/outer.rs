//! The outer header, written a second time, slowly: what the code under test must agree with.

use std::net::IpAddr;

use dataplane::encap::{self, FlowLabel};
use dataplane::io::Frame;
use dataplane::io::mem::MemFrame;
use dataplane::parse::{self, Parsed};
use tables::template::{Dscp, GueVariant, TemplateSpec, Tunnel};
use tables::{Family, Mac, Outcome, PortId, Template};

use crate::frames::{OURS, checksum, port};

pub(crate) const NEXT_HOP: Mac = Mac([0x02, 0, 0, 0, 0, 0x0C]);
pub(crate) const ID: u16 = 0xBEEF;
/// Its 20 low bits are an IPv6 label, its 15 low ones a port.
pub(crate) const LABEL: FlowLabel = FlowLabel(0xABC1_2345);

pub(crate) const SOURCE4: [u8; 4] = [10, 0, 0, 2];
pub(crate) const BACKEND4: [u8; 4] = [10, 1, 0, 11];
pub(crate) const SOURCE6: [u8; 16] = [0x20, 1, 0xD, 0xB8, 0, 0xA, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2];
pub(crate) const BACKEND6: [u8; 16] = [0x20, 1, 0xD, 0xB8, 0, 0xB, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x11];

/// A template's ingredients between our addresses of a family.
pub(crate) fn spec(inner: Family, outer: Family, tunnel: Tunnel) -> TemplateSpec {
    let (source, destination): (IpAddr, IpAddr) = match outer {
        Family::V4 => (SOURCE4.into(), BACKEND4.into()),
        Family::V6 => (SOURCE6.into(), BACKEND6.into()),
    };
    TemplateSpec {
        port: PortId(1),
        src_mac: OURS,
        next_hop: Some(NEXT_HOP),
        vlan: 0,
        mtu: 1500,
        fragment_oversize: false,
        source,
        destination,
        entropy: None,
        tunnel,
        inner,
        dscp: Dscp::Copy,
        ttl: 64,
    }
}

pub(crate) fn template(spec: &TemplateSpec) -> Template {
    Template::new(spec).expect("one family")
}

/// Parses and encapsulates a frame that arrived at a port of this VLAN.
pub(crate) fn sent(frame: &[u8], vlan: u16, spec: &TemplateSpec) -> Vec<u8> {
    let mut frame = MemFrame::new(frame);
    apply(&mut frame, vlan, spec, ID).expect("goes out");
    frame.bytes().to_vec()
}

pub(crate) fn apply(
    frame: &mut MemFrame,
    vlan: u16,
    spec: &TemplateSpec,
    id: u16,
) -> Result<(), Outcome> {
    let parsed: Parsed = parse::frame(frame.bytes(), &port(vlan))?;
    encap::apply(frame, &parsed, &template(spec), id, LABEL)
}

/// The frame that `inner`, an IP packet, has to leave in.
pub(crate) fn expected(spec: &TemplateSpec, inner: &[u8], tos: u8, id: u16) -> Vec<u8> {
    let mut frame = ethernet(spec);
    let tunnel = tunnel(spec, inner);
    let payload = (tunnel.len() + inner.len()) as u16;
    match (source(spec), spec.destination) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            let flags = if may_fragment(spec, inner) { 0 } else { 0x40 };
            frame.extend(ipv4(spec, payload, tos, id, flags, from.octets(), to.octets()));
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            frame.extend(ipv6(spec, payload, tos, from.octets(), to.octets()));
        }
        _ => panic!("mixed families"),
    }
    frame.extend(tunnel);
    frame.extend(inner);
    frame
}

/// The Ethernet header, for an outer IP header of the destination's family.
pub(crate) fn ethernet(spec: &TemplateSpec) -> Vec<u8> {
    let mut frame = [NEXT_HOP.0, OURS.0].concat();
    if spec.vlan != 0 {
        frame.extend([0x81, 0x00, (spec.vlan >> 8) as u8, spec.vlan as u8]);
    }
    frame.extend(ether_type(spec.destination.is_ipv4()));
    frame
}

fn ether_type(four: bool) -> [u8; 2] {
    if four { [0x08, 0x00] } else { [0x86, 0xDD] }
}

/// N-1
fn may_fragment(spec: &TemplateSpec, inner: &[u8]) -> bool {
    spec.fragment_oversize && inner[0] >> 4 == 4 && inner[6] & 0x40 == 0
}

/// Prefixes whose hosts take [`LABEL`]'s low 16 and 32 bits.
pub(crate) const SPREAD4: &str = "172.16.0.0/16";
pub(crate) const SPREAD6: &str = "2001:db8:e::/64";

fn source(spec: &TemplateSpec) -> IpAddr {
    match (spec.tunnel, spec.entropy) {
        (Tunnel::Gue { .. }, _) | (_, None) => spec.source,
        (_, Some(prefix)) if prefix.to_string() == SPREAD4 => [172, 16, 0x23, 0x45].into(),
        (_, Some(prefix)) if prefix.to_string() == SPREAD6 => {
            [0x2001, 0xDB8, 0xE, 0, 0, 0, 0xABC1, 0x2345].into()
        }
        (_, Some(prefix)) => panic!("{prefix}"),
    }
}

fn protocol(spec: &TemplateSpec) -> u8 {
    match spec.tunnel {
        Tunnel::Gre { .. } => 47,
        Tunnel::Gue { .. } => 17,
        _ => inner_protocol(spec),
    }
}

fn inner_protocol(spec: &TemplateSpec) -> u8 {
    if spec.inner == Family::V4 { 4 } else { 41 }
}

/// What stands between the IP headers.
fn tunnel(spec: &TemplateSpec, inner: &[u8]) -> Vec<u8> {
    let [high, low] = ether_type(spec.inner == Family::V4);
    match spec.tunnel {
        Tunnel::Ipip => vec![],
        Tunnel::Gre { key: None } => vec![0, 0, high, low],
        Tunnel::Gre { key: Some(key) } => [&[0x20, 0, high, low][..], &key.to_be_bytes()].concat(),
        Tunnel::Gue { port, variant: GueVariant::Zero } => {
            udp(spec, port, &[0, inner_protocol(spec), 0, 0], inner)
        }
        Tunnel::Gue { port, variant: GueVariant::One } => udp(spec, port, &[], inner),
        Tunnel::L3dsr { .. } | Tunnel::L2 => panic!("no tunnel"),
    }
}

/// A UDP header and the GUE header behind it.
fn udp(spec: &TemplateSpec, port: u16, gue: &[u8], inner: &[u8]) -> Vec<u8> {
    let length = (8 + gue.len() + inner.len()) as u16;
    let mut header = vec![0xA3, 0x45];
    header.extend([port.to_be_bytes(), length.to_be_bytes(), [0, 0]].concat());
    header.extend(gue);
    if let (IpAddr::V6(from), IpAddr::V6(to)) = (spec.source, spec.destination) {
        let [high, low] = length.to_be_bytes();
        let pseudo = [0, 0, high, low, 0, 0, 0, 17];
        let all = [&from.octets()[..], &to.octets(), &pseudo, &header, inner].concat();
        let sum = match checksum(&all) {
            0 => 0xFFFF,
            sum => sum,
        };
        header[6..8].copy_from_slice(&sum.to_be_bytes());
    }
    header
}

fn ipv4(
    spec: &TemplateSpec,
    payload: u16,
    tos: u8,
    id: u16,
    flags: u8,
    from: [u8; 4],
    to: [u8; 4],
) -> Vec<u8> {
    let mut header = vec![0x45, tos];
    header.extend((payload + 20).to_be_bytes());
    header.extend(id.to_be_bytes());
    header.extend([flags, 0x00, spec.ttl, protocol(spec), 0, 0]);
    header.extend(from);
    header.extend(to);
    let sum = checksum(&header).to_be_bytes();
    header[10..12].copy_from_slice(&sum);
    header
}

fn ipv6(spec: &TemplateSpec, payload: u16, tos: u8, from: [u8; 16], to: [u8; 16]) -> Vec<u8> {
    let mut header = vec![0x60 | tos >> 4, tos << 4 | 0x01, 0x23, 0x45];
    header.extend(payload.to_be_bytes());
    header.extend([protocol(spec), spec.ttl]);
    header.extend(from);
    header.extend(to);
    header
}
