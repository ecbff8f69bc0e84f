//! Reading fixed-size pieces of a frame: one bounds check each.

/// The `N` bytes at `at`, or `None` where the frame ends before them.
#[inline(always)]
pub(super) fn chunk<const N: usize>(bytes: &[u8], at: usize) -> Option<&[u8; N]> {
    bytes.get(at..)?.first_chunk()
}

/// Two bytes in network order.
#[inline(always)]
pub(super) fn be16(high: u8, low: u8) -> u16 {
    u16::from_be_bytes([high, low])
}
