//! Patching an outer IPv6 header.

/// The fixed header, which the payload length leaves out.
const HEADER: u16 = 40;

/// Writes what differs from packet to packet; `length` is that of the whole outer packet.
#[inline(always)]
pub(super) fn patch(header: &mut [u8; 6], length: u16, flow_label: u32, traffic_class: u8) {
    let first = 6 << 28 | u32::from(traffic_class) << 20 | flow_label & 0xF_FFFF;
    let [v0, v1, v2, v3, n0, n1] = header;
    [*v0, *v1, *v2, *v3] = first.to_be_bytes();
    [*n0, *n1] = length.wrapping_sub(HEADER).to_be_bytes();
}
