//! Wires that carry several VLANs, and the switch at their end: for a kernel without VLAN devices,
//! filtering bridges or bonds.
//!
//! All ends are TAP devices. What comes in on one side leaves on the wire with the side's tag (0: with
//! none), and back. Several wires are one link of the switch.

use std::fs::File;
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::Result;
use crate::netns::Namespace;
use crate::tun;

/// The longest frame.
const FRAME: usize = 16_384;

/// Where a tag stands: behind the addresses.
const PLACE: usize = 12;

/// What the switch does where there are several wires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// It takes them for one: a flow has one of those that are plugged in (a static LAG).
    Lag,
    /// It knows nothing of it: a frame is on all of them.
    Flood,
}

/// The wires of one switch.
#[derive(Debug)]
pub struct Wires {
    ends: Vec<Wire>,
    switch: Switch,
}

#[derive(Debug)]
struct Wire {
    end: Arc<File>,
    cut: AtomicBool,
}

/// Makes the wires' ends in one namespace, and an interface for each VLAN in others; all are down at
/// first. It works until the namespaces go.
pub fn start(
    (namespace, wires): (&Namespace, &[&str]),
    switch: Switch,
    sides: &[(u16, &Namespace, &str)],
) -> Result<Arc<Wires>> {
    let make = |namespace: &Namespace, name: &str| {
        let file = namespace.enter(|| tun::create_tap(name))??;
        Ok::<_, crate::Error>(Arc::new(file))
    };
    let wire = |name: &&str| Ok(Wire { end: make(namespace, name)?, cut: AtomicBool::new(false) });
    let ends = wires.iter().map(wire).collect::<Result<Vec<_>>>()?;
    let wires = Arc::new(Wires { ends, switch });
    let mut ends = Vec::new();
    for (vlan, namespace, name) in sides {
        let side = make(namespace, name)?;
        ends.push((*vlan, Arc::clone(&side)));
        let (vlan, wires) = (*vlan, Arc::clone(&wires));
        std::thread::spawn(move || pass(&side, |frame| wires.send(frame, vlan)));
    }
    let ends = Arc::new(ends);
    for place in 0..wires.ends.len() {
        let (wires, ends) = (Arc::clone(&wires), Arc::clone(&ends));
        std::thread::spawn(move || wires.pass_from(place, &ends));
    }
    Ok(wires)
}

impl Wires {
    /// Cuts a wire, or mends it.
    pub fn cut(&self, place: usize, cut: bool) {
        if let Some(wire) = self.ends.get(place) {
            wire.cut.store(cut, Ordering::Relaxed);
        }
    }

    /// Sends what came in from a side.
    fn send(&self, frame: &[u8], vlan: u16) {
        let whole = self.ends.iter().filter(|wire| !wire.cut.load(Ordering::Relaxed));
        let whole: Vec<_> = whole.collect();
        let chosen = match self.switch {
            Switch::Flood => &whole[..],
            Switch::Lag => {
                let place = flow(frame).checked_rem(whole.len());
                place.map_or(&whole[..], |place| &whole[place..=place])
            }
        };
        chosen.iter().for_each(|wire| send(&wire.end, &tagged(frame, vlan)));
    }

    /// Hands every frame of a wire to the side of its VLAN.
    fn pass_from(&self, place: usize, sides: &[(u16, Arc<File>)]) {
        let Some(wire) = self.ends.get(place) else { return };
        pass(&wire.end, |frame| {
            if wire.cut.load(Ordering::Relaxed) {
                return;
            }
            if let Some((vlan, inner)) = untagged(frame) {
                sides.iter().filter(|(v, _)| *v == vlan).for_each(|(_, side)| send(side, &inner));
            }
        });
    }
}

/// A number that is the same for all packets of a flow: of its addresses and ports, or of its
/// Ethernet addresses.
fn flow(frame: &[u8]) -> usize {
    let of = match frame.get(PLACE..PLACE + 2) {
        Some([0x08, 0x00]) => 26..38,
        Some([0x86, 0xdd]) => 22..58,
        _ => 0..PLACE,
    };
    let bytes = frame.get(of).unwrap_or_default();
    let sum =
        bytes.iter().fold(0, |sum: u64, byte| sum.wrapping_mul(257).wrapping_add(u64::from(*byte)));
    // A client's ports are all odd or all even: the low bits alone would not tell flows apart.
    (sum.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33) as usize
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
    if vlan == 0 {
        return frame.to_vec();
    }
    let (addresses, rest) = frame.split_at(PLACE.min(frame.len()));
    [addresses, &[0x81, 0x00], &vlan.to_be_bytes(), rest].concat()
}

fn untagged(frame: &[u8]) -> Option<(u16, Vec<u8>)> {
    let (addresses, rest) = frame.split_at_checked(PLACE)?;
    let [0x81, 0x00, high, low] = *rest.first_chunk()? else { return Some((0, frame.to_vec())) };
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
        assert_eq!(untagged(&frame), Some((0, frame.clone())));
        assert_eq!(tagged(&frame, 0), frame);
    }

    #[test]
    fn a_flow_is_its_addresses_and_ports() {
        let mut frame = vec![0; 60];
        frame[12..14].copy_from_slice(&[8, 0]);
        let changed = |place: usize| {
            let mut other = frame.clone();
            other[place] += 1;
            flow(&other)
        };
        assert_ne!(changed(37), flow(&frame), "its last byte of ports");
        assert_eq!(changed(19), flow(&frame), "its identification");
    }
}
