//! The outer header, written a second time, slowly: what the code under test must agree with.

use std::net::IpAddr;

use dataplane::encap;
use dataplane::io::Frame;
use dataplane::io::mem::MemFrame;
use dataplane::parse::{self, Parsed};
use tables::template::{Dscp, TemplateSpec, Tunnel};
use tables::{Family, Mac, Outcome, PortId, Template};

use crate::frames::{OURS, checksum, port};

pub(crate) const NEXT_HOP: Mac = Mac([0x02, 0, 0, 0, 0, 0x0C]);
pub(crate) const ID: u16 = 0xBEEF;
pub(crate) const LABEL: u32 = 0x1_2345;

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
        source,
        destination,
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
    let tunnel = tunnel(spec);
    let payload = tunnel.len() + inner.len();
    let mut frame = [NEXT_HOP.0, OURS.0].concat();
    if spec.vlan != 0 {
        frame.extend([0x81, 0x00, (spec.vlan >> 8) as u8, spec.vlan as u8]);
    }
    match (spec.source, spec.destination) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            frame.extend([0x08, 0x00]);
            frame.extend(ipv4(spec, payload as u16, tos, id, from.octets(), to.octets()));
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            frame.extend([0x86, 0xDD]);
            frame.extend(ipv6(spec, payload as u16, tos, from.octets(), to.octets()));
        }
        _ => panic!("mixed families"),
    }
    frame.extend(tunnel);
    frame.extend(inner);
    frame
}

fn protocol(spec: &TemplateSpec) -> u8 {
    match (spec.tunnel, spec.inner) {
        (Tunnel::Gre { .. }, _) => 47,
        (Tunnel::Ipip, Family::V4) => 4,
        (Tunnel::Ipip, Family::V6) => 41,
    }
}

fn tunnel(spec: &TemplateSpec) -> Vec<u8> {
    let [high, low] = match spec.inner {
        Family::V4 => [0x08, 0x00],
        Family::V6 => [0x86, 0xDD],
    };
    match spec.tunnel {
        Tunnel::Ipip => vec![],
        Tunnel::Gre { key: None } => vec![0, 0, high, low],
        Tunnel::Gre { key: Some(key) } => [&[0x20, 0, high, low][..], &key.to_be_bytes()].concat(),
    }
}

fn ipv4(
    spec: &TemplateSpec,
    payload: u16,
    tos: u8,
    id: u16,
    from: [u8; 4],
    to: [u8; 4],
) -> Vec<u8> {
    let mut header = vec![0x45, tos];
    header.extend((payload + 20).to_be_bytes());
    header.extend(id.to_be_bytes());
    header.extend([0x40, 0x00, spec.ttl, protocol(spec), 0, 0]);
    header.extend(from);
    header.extend(to);
    let sum = checksum(&header).to_be_bytes();
    header[10..12].copy_from_slice(&sum);
    header
}

fn ipv6(spec: &TemplateSpec, payload: u16, tos: u8, from: [u8; 16], to: [u8; 16]) -> Vec<u8> {
    let [_, label @ ..] = LABEL.to_be_bytes();
    let mut header = vec![0x60 | tos >> 4, tos << 4 | label[0], label[1], label[2]];
    header.extend(payload.to_be_bytes());
    header.extend([protocol(spec), spec.ttl]);
    header.extend(from);
    header.extend(to);
    header
}
