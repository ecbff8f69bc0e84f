//! Patching an outer IPv4 header.

/// Writes what differs from packet to packet. `sum` is of the header's words with zero in these
/// fields; `length` is that of the whole outer packet.
#[inline(always)]
pub(super) fn patch(header: &mut [u8; 12], sum: u32, length: u16, id: u16, tos: u8) {
    let checksum = checksum(sum + u32::from(tos) + u32::from(length) + u32::from(id));
    let [_, t, n0, n1, i0, i1, _, _, _, _, c0, c1] = header;
    *t = tos;
    [*n0, *n1] = length.to_be_bytes();
    [*i0, *i1] = id.to_be_bytes();
    [*c0, *c1] = checksum.to_be_bytes();
}

/// The Internet checksum (RFC 1071) of words that add up to `sum`. Two folds are enough for a
/// header's dozen words. The sum of a header is never 0, as it starts with 0x45, so that 0xFFFF
/// never results: the form that RFC 1624 warns of cannot arise.
#[inline(always)]
fn checksum(sum: u32) -> u16 {
    let once = (sum & 0xFFFF) + (sum >> 16);
    let twice = (once & 0xFFFF) + (once >> 16);
    !(twice as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn carries_are_added_back_at_both_ends() {
        for (sum, expected) in [
            (0x0_FFFF, 0x0000),
            (0x1_0000, 0xFFFE),
            (0x1_FFFE, 0x0000),
            (0x1_FFFF, 0xFFFE),
            (0x9_FFF6, 0x0000),
            (0x9_FFF7, 0xFFFE),
        ] {
            assert_eq!(checksum(sum), expected, "{sum:#x}");
        }
    }
}
