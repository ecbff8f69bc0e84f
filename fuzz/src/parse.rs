//! One frame is read: never past its end, and never more than it says of itself.

use dataplane::parse;

use crate::{appliance, shape};

/// Runs one input: which VLAN the port is in and whether to put a header's checksum right, then the
/// frame.
pub fn run(data: &[u8]) {
    let Some((control, frame)) = data.split_first() else { return };
    let (vlan, any_mac) = (u16::from(control & 7), control & 8 != 0);
    let port = tables::Port { vlan, any_mac, ..appliance::port() };
    let frame = if control & 16 == 0 { repaired(frame) } else { frame.to_vec() };
    let Ok(parsed) = parse::frame(&frame, &port) else { return };
    let (l3, l4) = (usize::from(parsed.l3), usize::from(parsed.l4));
    let end = l3 + usize::from(parsed.length);
    assert!(l3 == 14 || l3 == 18);
    assert!(end <= frame.len(), "{parsed:?}");
    assert!(l3 < l4 && (parsed.fault.is_some() || l4 <= end), "{parsed:?}");
}

/// With the checksum that goes with an IPv4 header, behind a tag or none.
fn repaired(frame: &[u8]) -> Vec<u8> {
    let tagged = matches!(frame.get(12..14), Some([0x81, 0x00] | [0x88, 0xA8]));
    let (link, packet) = frame.split_at(frame.len().min(if tagged { 18 } else { 14 }));
    [link, &shape::summed_up(packet.to_vec())].concat()
}
