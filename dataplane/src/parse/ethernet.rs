//! The Ethernet header: whose frame it is, its VLAN (N-4), and whether IP is in it.

use tables::{Family, Mac, Outcome, Port};

use super::bytes::{be16, chunk};

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86DD;
const VLAN: u16 = 0x8100;
const SERVICE_VLAN: u16 = 0x88A8;

const UNTAGGED: usize = 14;
const TAGGED: usize = 18;

/// The family of the IP packet in the frame and where it starts.
#[inline]
pub(super) fn payload(bytes: &[u8], port: &Port) -> Result<(Family, usize), Outcome> {
    let header: &[u8; UNTAGGED] = chunk(bytes, 0).ok_or(Outcome::MalformedIp)?;
    let [d0, d1, d2, d3, d4, d5, s0, s1, s2, s3, s4, s5, t0, t1] = *header;
    let destination = Mac([d0, d1, d2, d3, d4, d5]);
    let ours = port.any_mac || destination == port.mac;
    let group = d0 & 1 != 0;
    if Mac([s0, s1, s2, s3, s4, s5]) == port.mac || !(ours || group) {
        return Err(Outcome::NotOurMac);
    }
    let (vlan, ether_type, l3) = tag(bytes, be16(t0, t1))?;
    // A second tag is a VLAN within that VLAN, which is not the port's either (N-4).
    if vlan != port.vlan || l3 == TAGGED && is_tag(ether_type) {
        return Err(Outcome::WrongVlan);
    }
    match ether_type {
        IPV4 if ours => Ok((Family::V4, l3)),
        IPV6 if ours => Ok((Family::V6, l3)),
        // ARP, LLDP; or IP to a group, neighbour discovery say.
        _ => Err(Outcome::Host),
    }
}

/// The same for a frame of the host's own: its addresses and its VLAN are not ours to judge.
pub(super) fn payload_from_host(bytes: &[u8]) -> Result<(Family, usize), Outcome> {
    let [t0, t1] = *chunk(bytes, UNTAGGED - 2).ok_or(Outcome::MalformedIp)?;
    match tag(bytes, be16(t0, t1))? {
        (_, IPV4, l3) => Ok((Family::V4, l3)),
        (_, IPV6, l3) => Ok((Family::V6, l3)),
        _ => Err(Outcome::MalformedIp),
    }
}

/// The frame's VLAN; 0 where it has none, or is cut within the tag (N-4).
pub fn vlan(bytes: &[u8]) -> u16 {
    let ether_type = chunk(bytes, UNTAGGED - 2).map_or(0, |[t0, t1]| be16(*t0, *t1));
    tag(bytes, ether_type).map_or(0, |(vlan, ..)| vlan)
}

/// VLAN id, ethertype and where the payload starts. A priority tag has id 0, so it counts as
/// untagged (N-4).
#[inline]
fn tag(bytes: &[u8], ether_type: u16) -> Result<(u16, u16, usize), Outcome> {
    if !is_tag(ether_type) {
        return Ok((0, ether_type, UNTAGGED));
    }
    let [c0, c1, t0, t1] = *chunk(bytes, UNTAGGED).ok_or(Outcome::MalformedIp)?;
    Ok((be16(c0, c1) & 0x0FFF, be16(t0, t1), TAGGED))
}

#[inline(always)]
fn is_tag(ether_type: u16) -> bool {
    matches!(ether_type, VLAN | SERVICE_VLAN)
}
