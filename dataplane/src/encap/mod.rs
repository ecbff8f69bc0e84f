//! The outer header (D-8): a template copied in front of the packet and patched.
//!
//! [`apply`] is the whole of it for one packet, on plain bytes; `ipv4` and `ipv6` patch,
//! `label` makes flow labels, [`Identifiers`] numbers the outer IPv4 headers. `outer` and `gue`
//! patch what only some tunnels have; `fresh` finds room where a frame has none.
//!
//! The inner packet's bytes are never touched (N-1), but by `l3dsr`, which does without a tunnel,
//! and by `oversize`, which fragments what is too big and may be (D-8), with the pieces of `split`.

pub(crate) mod checksum;
mod fresh;
mod gue;
mod identifiers;
mod ipv4;
mod ipv6;
mod l3dsr;
mod label;
mod outer;
mod oversize;
mod split;
mod stage;

use tables::template::Work;
use tables::{Family, Outcome, Template};

use crate::io::Frame;
use crate::parse::Parsed;

pub use identifiers::Identifiers;
pub use label::{FlowLabel, FlowLabels};
pub use stage::stage;

/// Puts the packet into the tunnel: from its IP header to its end, without the padding of a short
/// frame. `id` is for an IPv4 outer header, `label` counts where [`Template::varies`]. An `Err`
/// leaves the frame as it was.
#[inline]
pub fn apply<F: Frame>(
    frame: &mut F,
    parsed: &Parsed,
    template: &Template,
    id: u16,
    label: FlowLabel,
) -> Result<(), Outcome> {
    if parsed.length > template.max_inner() {
        return Err(Outcome::TooBig);
    }
    if !template.resolved() {
        return Err(Outcome::NextHopUnresolved);
    }
    let header = template.header();
    // The inner Ethernet header, tag included, makes way.
    let length = header.len() + usize::from(parsed.length);
    if !frame.reshape(header.len() as isize - parsed.l3 as isize, length) {
        return Err(Outcome::NoHeadroom);
    }
    write(frame.bytes_mut(), parsed, template, id, label).ok_or(Outcome::NoHeadroom)
}

/// `None` never happens behind [`apply`]'s checks; it stands where a panic would.
#[inline(always)]
fn write(
    bytes: &mut [u8],
    parsed: &Parsed,
    template: &Template,
    id: u16,
    label: FlowLabel,
) -> Option<()> {
    if template.work() != Work::Plain {
        return write_other(bytes, parsed, template, id, label);
    }
    copy_header(bytes, template.header())?;
    let ip = bytes.get_mut(template.l3()..)?;
    let length = outer_length(parsed, template);
    let tos = template.tos(parsed.tos);
    match template.outer() {
        Family::V4 => ipv4::patch(ip.first_chunk_mut()?, template.checksum(), length, id, tos),
        Family::V6 => ipv6::patch(ip.first_chunk_mut()?, length, label.ipv6(), tos),
    }
    Some(())
}

/// What is not [`Work::Plain`]; apart, so that it costs the plain ones nothing.
#[inline(never)]
fn write_other(
    bytes: &mut [u8],
    parsed: &Parsed,
    template: &Template,
    id: u16,
    label: FlowLabel,
) -> Option<()> {
    let (front, packet) = bytes.split_at_mut_checked(template.header().len())?;
    front.copy_from_slice(template.header());
    if matches!(template.work(), Work::Varied | Work::Gue) {
        let ip = front.get_mut(template.l3()..)?;
        outer::patch(ip, parsed, template, outer_length(parsed, template), id, label)?;
    }
    match template.work() {
        Work::Gue => gue::patch(bytes, template, label),
        Work::L3dsr => l3dsr::rewrite(packet, parsed, template),
        Work::Plain | Work::Varied | Work::L2 => Some(()),
    }
}

/// The whole outer packet's. No overflow: it is at most the next hop's MTU.
#[inline]
fn outer_length(parsed: &Parsed, template: &Template) -> u16 {
    let outer = (template.header().len() - template.l3()) as u16;
    parsed.length.wrapping_add(outer)
}

/// Copies the header in pieces of a fixed size that overlap: a copy of a length that is only known
/// at run time is a call, and costs more than all of this.
#[inline]
fn copy_header(bytes: &mut [u8], header: &[u8]) -> Option<()> {
    const PIECE: usize = 32;
    *bytes.first_chunk_mut::<PIECE>()? = *header.first_chunk()?;
    if header.len() > 2 * PIECE {
        *bytes.get_mut(PIECE..)?.first_chunk_mut::<PIECE>()? =
            *header.get(PIECE..)?.first_chunk()?;
    }
    *bytes.get_mut(..header.len())?.last_chunk_mut::<PIECE>()? = *header.last_chunk()?;
    Some(())
}
