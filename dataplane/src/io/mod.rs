//! Where frames come from and go to.

#[cfg(feature = "dpdk")]
pub mod dpdk;
pub mod host;
pub mod mem;
#[cfg(feature = "dpdk")]
pub mod pcap;

use arrayvec::ArrayVec;
use tables::PortId;

pub use tables::MAX_PORTS;

use crate::batch::{BURST, Batch};

/// A frame's bytes, contiguous, with room in front of them.
pub trait Frame {
    /// The bytes, from the Ethernet header on.
    fn bytes(&self) -> &[u8];
    /// The bytes, to change.
    fn bytes_mut(&mut self) -> &mut [u8];
    /// Moves the start of the frame: `grow` > 0 claims that many bytes of headroom (their content
    /// is undefined), < 0 gives bytes back. False, and nothing changed, if there is no room.
    fn move_start(&mut self, grow: isize) -> bool;
    /// Cuts the frame to `len` bytes; a longer `len` changes nothing.
    fn truncate(&mut self, len: usize);
    /// [`Frame::move_start`], then [`Frame::truncate`].
    #[inline]
    fn reshape(&mut self, grow: isize, len: usize) -> bool {
        let moved = self.move_start(grow);
        if moved {
            self.truncate(len);
        }
        moved
    }
}

/// One worker's way to the ports and to the host.
pub trait Io {
    /// What frames are kept in.
    type Frame: Frame;

    /// Takes what has arrived, over all ports, up to a burst.
    fn receive(&mut self, batch: &mut Batch<Self::Frame>);

    /// Sends frames out of one port, in order. Those that the port did not take stay in `frames`.
    fn transmit(&mut self, port: PortId, frames: &mut ArrayVec<Self::Frame, BURST>);

    /// A new frame of these pieces, one behind the other, with room in front for any outer header.
    /// `None` if there is no free buffer that takes them; ports without buffers of their own have
    /// none.
    fn copy(&mut self, _pieces: &[&[u8]]) -> Option<Self::Frame> {
        None
    }

    /// Hands a frame to the host side of `port`; gives it back when there is none, or no room.
    fn punt(&mut self, port: PortId, frame: Self::Frame) -> Result<(), Punt>;

    /// Sends what the host has for the network, a bounded number of frames; returns how many were
    /// sent and how many could not be. Probes are kept for [`Io::take_probes`], and count as sent.
    fn forward_from_host(&mut self) -> (u64, u64);

    /// Hands out the probes that [`Io::forward_from_host`] has come across (W-8): at most as many
    /// as an empty batch takes. A host that sends none has none.
    fn take_probes(&mut self, _batch: &mut Batch<Self::Frame>) {}
}

/// Why the host did not get a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Punt {
    /// The port has no host interface.
    NoInterface,
    /// The queue to the host is full.
    Full,
}
