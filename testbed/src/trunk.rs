//! A wire that carries several VLANs, and the switch at its end: for a kernel without VLAN devices
//! or filtering bridges.
//!
//! All ends are TAP devices. What comes in untagged on one side leaves tagged on the wire, and back.

use std::fs::File;
use std::io::{Read, Write};
use std::sync::Arc;

use crate::error::Result;
use crate::netns::Namespace;
use crate::tun;

/// The longest frame.
const FRAME: usize = 16_384;

/// Where a tag stands: behind the addresses.
const PLACE: usize = 12;

/// Makes the wire's end in one namespace, and an interface for each VLAN in others; all are down at
/// first. It works until the namespaces go.
pub fn start(wire: (&Namespace, &str), sides: &[(u16, &Namespace, &str)]) -> Result<()> {
    let make = |namespace: &Namespace, name: &str| {
        let file = namespace.enter(|| tun::create_tap(name))??;
        Ok::<_, crate::Error>(Arc::new(file))
    };
    let wire = make(wire.0, wire.1)?;
    let mut ends = Vec::new();
    for (vlan, namespace, name) in sides {
        let side = make(namespace, name)?;
        ends.push((*vlan, Arc::clone(&side)));
        let (vlan, wire) = (*vlan, Arc::clone(&wire));
        std::thread::spawn(move || pass(&side, |frame| send(&wire, &tagged(frame, vlan))));
    }
    std::thread::spawn(move || {
        pass(&wire, |frame| {
            if let Some((vlan, inner)) = untagged(frame) {
                ends.iter().filter(|(v, _)| *v == vlan).for_each(|(_, side)| send(side, &inner));
            }
        });
    });
    Ok(())
}

/// Every frame, until the device is gone.
fn pass(mut from: &File, mut to: impl FnMut(&[u8])) {
    let mut buffer = vec![0; FRAME];
    // A device that is down has nothing to read, and says so.
    loop {
        match from.read(&mut buffer) {
            Ok(length) => to(&buffer[..length]),
            Err(error) if error.raw_os_error() == Some(5) => {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            Err(_) => return,
        }
    }
}

/// A frame for a device that is down is lost, as on a wire.
fn send(mut to: &File, frame: &[u8]) {
    let _ = to.write_all(frame);
}

fn tagged(frame: &[u8], vlan: u16) -> Vec<u8> {
    let (addresses, rest) = frame.split_at(PLACE.min(frame.len()));
    [addresses, &[0x81, 0x00], &vlan.to_be_bytes(), rest].concat()
}

fn untagged(frame: &[u8]) -> Option<(u16, Vec<u8>)> {
    let (addresses, rest) = frame.split_at_checked(PLACE)?;
    let [0x81, 0x00, high, low] = *rest.first_chunk()? else { return None };
    let vlan = u16::from_be_bytes([high, low]) & 0x0FFF;
    Some((vlan, [addresses, &rest[4..]].concat()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_goes_on_and_comes_off() {
        let frame: Vec<u8> = (0..60).collect();
        let on_the_wire = tagged(&frame, 20);
        assert_eq!(on_the_wire[12..18], [0x81, 0, 0, 20, 12, 13]);
        assert_eq!(untagged(&on_the_wire), Some((20, frame.clone())));
        assert_eq!(untagged(&frame), None);
    }
}
