//! A TUN device: packets written to it arrive in the kernel as if from a wire.

use std::fs::{File, OpenOptions};

use rustix::ioctl::{Opcode, Setter, ioctl};

use crate::error::{Context, Error, Result};

const TUNSETIFF: Opcode = 0x4004_54ca;
const IFF_TUN: u16 = 0x0001;
const IFF_TAP: u16 = 0x0002;
/// Packets alone, without four bytes in front.
const IFF_NO_PI: u16 = 0x1000;

/// The kernel's `struct ifreq`, as far as TUNSETIFF reads it.
#[repr(C)]
struct InterfaceRequest {
    name: [u8; 16],
    flags: u16,
    rest: [u8; 22],
}

/// Makes the device; it goes when the file is closed. It is down at first.
pub fn create(name: &str) -> Result<File> {
    make(name, IFF_TUN)
}

/// The same, but with Ethernet frames.
pub fn create_tap(name: &str) -> Result<File> {
    make(name, IFF_TAP)
}

fn make(name: &str, kind: u16) -> Result<File> {
    let mut request = InterfaceRequest { name: [0; 16], flags: kind | IFF_NO_PI, rest: [0; 22] };
    // One byte stays zero: the kernel reads to the first zero.
    let room = request.name.get_mut(..name.len()).filter(|_| name.len() < 16);
    room.ok_or_else(|| Error::Unexpected(format!("the name {name} is too long")))?
        .copy_from_slice(name.as_bytes());
    let file = OpenOptions::new().read(true).write(true).open("/dev/net/tun");
    let file = file.context("opening /dev/net/tun")?;
    // SAFETY: TUNSETIFF reads one `struct ifreq` (40 bytes on 64-bit Linux), which
    // `InterfaceRequest` is, and writes only within it (the name that it chose).
    let made = unsafe { ioctl(&file, Setter::<TUNSETIFF, _>::new(request)) };
    made.context(format!("making the TUN device {name}"))?;
    Ok(file)
}
