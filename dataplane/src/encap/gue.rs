//! Patching the UDP header of GUE (N-2).

use tables::{Family, Template};

use super::{FlowLabel, checksum};

/// Writes source port, length and checksum into the frame, whose inner packet is in place.
///
/// Over IPv4 the checksum is zero (RFC 768: none). Over IPv6 it must not be, and is computed over
/// the whole packet: an inner checksum could stand for most of it, but only one that is right.
pub(super) fn patch(bytes: &mut [u8], template: &Template, label: FlowLabel) -> Option<()> {
    let ip_header = match template.outer() {
        Family::V4 => 20,
        Family::V6 => 40,
    };
    let udp = template.l3() + ip_header;
    let length = bytes.len().checked_sub(udp)? as u16;
    let port = label.port();
    let checksum = match template.outer() {
        Family::V4 => 0,
        Family::V6 => {
            let inner = checksum::sum(bytes.get(template.header().len()..)?);
            // The length counts twice: in the pseudo-header and in the UDP header.
            let sum = template.checksum() + 2 * u32::from(length) + u32::from(port) + inner;
            checksum::never_zero(checksum::of(sum))
        }
    };
    let [s0, s1, _, _, n0, n1, c0, c1] = bytes.get_mut(udp..)?.first_chunk_mut::<8>()?;
    [*s0, *s1] = port.to_be_bytes();
    [*n0, *n1] = length.to_be_bytes();
    [*c0, *c1] = checksum.to_be_bytes();
    Some(())
}
