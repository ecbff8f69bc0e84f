//! One frame is read: never past its end, and never more than it says of itself.

use dataplane::parse;

use crate::appliance;

/// Runs one input: which VLAN the port is in, then the frame.
pub fn run(data: &[u8]) {
    let Some((vlan, frame)) = data.split_first() else { return };
    let port =
        tables::Port { vlan: u16::from(*vlan & 7), any_mac: vlan & 8 != 0, ..appliance::port() };
    let Ok(parsed) = parse::frame(frame, &port) else { return };
    let (l3, l4) = (usize::from(parsed.l3), usize::from(parsed.l4));
    let end = l3 + usize::from(parsed.length);
    assert!(l3 == 14 || l3 == 18);
    assert!(end <= frame.len(), "{parsed:?}");
    assert!(l3 < l4 && (parsed.fault.is_some() || l4 <= end), "{parsed:?}");
}
