//! Patching what a template's outer IP header needs beyond the plain fields: a source of the
//! flow's own, and leave to fragment.

use tables::{Family, Template};

use super::{FlowLabel, ipv4, ipv6};
use crate::parse::Parsed;

const DONT_FRAGMENT: u16 = 0x4000;

/// Where the low four bytes of the source stand.
const SOURCE_V4: usize = 12;
const SOURCE_V6: usize = 20;

/// Patches the outer header at the start of `ip`; `length` is that of the whole outer packet.
pub(super) fn patch(
    ip: &mut [u8],
    parsed: &Parsed,
    template: &Template,
    length: u16,
    id: u16,
    label: FlowLabel,
) -> Option<()> {
    let tos = template.tos(parsed.tos);
    let host = label.host(template.source_mask());
    match template.outer() {
        Family::V4 => {
            set_host(ip, SOURCE_V4, host)?;
            let mut sum = template.checksum() + (host >> 16) + (host & 0xFFFF);
            if template.fragments() && !parsed.dont_fragment {
                *ip.get_mut(6)? = 0;
                sum = sum.wrapping_sub(DONT_FRAGMENT.into());
            }
            ipv4::patch(ip.first_chunk_mut()?, sum, length, id, tos);
        }
        Family::V6 => {
            set_host(ip, SOURCE_V6, host)?;
            ipv6::patch(ip.first_chunk_mut()?, length, label.ipv6(), tos);
        }
    }
    Some(())
}

/// The template has zeros where the host's bits go, so that setting is adding.
fn set_host(ip: &mut [u8], at: usize, host: u32) -> Option<()> {
    let low: &mut [u8; 4] = ip.get_mut(at..)?.first_chunk_mut()?;
    *low = (u32::from_be_bytes(*low) | host).to_be_bytes();
    Some(())
}
