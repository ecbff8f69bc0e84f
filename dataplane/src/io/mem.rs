//! Ports in memory: for tests, benchmarks and the simulator. No thread, no clock, no loss unless a
//! queue is given a limit.

use std::collections::VecDeque;

use arrayvec::ArrayVec;
use tables::PortId;

use super::{Frame, Io, Punt};
use crate::batch::{BURST, Batch, Packet};
use crate::probe::is_probe;

/// Bytes in front of a frame, as DPDK's mbufs have them.
pub const HEADROOM: usize = 128;

/// A frame in a buffer of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemFrame {
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
}

impl MemFrame {
    /// A copy of `bytes` behind [`HEADROOM`], which is filled with 0xFF so that a byte that
    /// nobody wrote shows.
    pub fn new(bytes: &[u8]) -> Self {
        Self::with_headroom(bytes, HEADROOM)
    }

    /// The same, with another headroom.
    pub fn with_headroom(bytes: &[u8], headroom: usize) -> Self {
        let mut buffer = vec![0xFF; headroom];
        buffer.extend_from_slice(bytes);
        Self { start: headroom, end: buffer.len(), buffer: buffer.into() }
    }
}

impl Frame for MemFrame {
    fn bytes(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        self.buffer.get_mut(self.start..self.end).unwrap_or_default()
    }

    fn move_start(&mut self, grow: isize) -> bool {
        match self.start.checked_add_signed(-grow) {
            Some(start) if start <= self.end => {
                self.start = start;
                true
            }
            _ => false,
        }
    }

    fn truncate(&mut self, len: usize) {
        self.end = self.end.min(self.start + len);
    }
}

/// What is queued at one port.
#[derive(Debug, Default)]
pub struct MemPort {
    /// Arrived, not yet received.
    pub arriving: VecDeque<MemFrame>,
    /// Sent.
    pub sent: VecDeque<MemFrame>,
    /// Handed to the host; `None`: the port has no host interface.
    pub to_host: Option<VecDeque<MemFrame>>,
    /// From the host, not yet sent.
    pub from_host: VecDeque<MemFrame>,
    /// How many more frames the transmit queue takes; `None`: all.
    pub room: Option<usize>,
}

impl MemPort {
    /// A port with a host interface.
    pub fn with_host() -> Self {
        Self { to_host: Some(VecDeque::new()), ..Self::default() }
    }

    fn send(&mut self, frame: MemFrame) -> Result<(), MemFrame> {
        match &mut self.room {
            Some(0) => return Err(frame),
            Some(room) => *room -= 1,
            None => {}
        }
        self.sent.push_back(frame);
        Ok(())
    }
}

/// Ports in memory.
#[derive(Debug, Default)]
pub struct MemIo {
    /// The ports, by [`PortId`].
    pub ports: Vec<MemPort>,
    /// How many more frames can be made by [`Io::copy`]; `None`: any number.
    pub buffers: Option<usize>,
    /// Probes of the host that a worker has not taken yet (W-8).
    pub probes: Batch<MemFrame>,
}

impl MemIo {
    /// This many ports without a host interface.
    pub fn new(ports: usize) -> Self {
        Self {
            ports: (0..ports).map(|_| MemPort::default()).collect(),
            buffers: None,
            probes: Batch::default(),
        }
    }

    /// Lets a frame arrive at a port; one that does not exist loses it.
    pub fn arrive(&mut self, port: PortId, bytes: &[u8]) {
        if let Some(port) = self.port(port) {
            port.arriving.push_back(MemFrame::new(bytes));
        }
    }

    fn port(&mut self, port: PortId) -> Option<&mut MemPort> {
        self.ports.get_mut(usize::from(port.0))
    }
}

impl Io for MemIo {
    type Frame = MemFrame;

    fn receive(&mut self, batch: &mut Batch<MemFrame>) {
        for (number, port) in self.ports.iter_mut().enumerate() {
            let room = batch.0.remaining_capacity().min(port.arriving.len());
            let arrived = port.arriving.drain(..room);
            batch.0.extend(arrived.map(|frame| Packet::new(frame, PortId(number as u8))));
        }
    }

    fn transmit(&mut self, port: PortId, frames: &mut ArrayVec<MemFrame, BURST>) {
        let Some(port) = self.port(port) else { return };
        let mut left = ArrayVec::<_, BURST>::new();
        left.extend(frames.drain(..).filter_map(|frame| port.send(frame).err()));
        *frames = left;
    }

    fn copy(&mut self, pieces: &[&[u8]]) -> Option<MemFrame> {
        match &mut self.buffers {
            Some(0) => return None,
            Some(left) => *left -= 1,
            None => {}
        }
        Some(MemFrame::new(&pieces.concat()))
    }

    fn punt(&mut self, port: PortId, frame: MemFrame) -> Result<(), Punt> {
        let host = self.port(port).and_then(|p| p.to_host.as_mut()).ok_or(Punt::NoInterface)?;
        host.push_back(frame);
        Ok(())
    }

    fn forward_from_host(&mut self) -> (u64, u64) {
        let (mut sent, mut dropped) = (0, 0);
        for (id, port) in (0..).map(PortId).zip(&mut self.ports) {
            for _ in 0..port.from_host.len().min(BURST) {
                let Some(frame) = port.from_host.pop_front() else { break };
                let taken = if is_probe(frame.bytes()) {
                    self.probes.0.try_push(Packet::new(frame, id)).is_ok()
                } else {
                    port.send(frame).is_ok()
                };
                sent += u64::from(taken);
                dropped += u64::from(!taken);
            }
        }
        (sent, dropped)
    }

    fn take_probes(&mut self, batch: &mut Batch<MemFrame>) {
        std::mem::swap(batch, &mut self.probes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_grows_into_its_headroom_and_no_further() {
        let mut frame = MemFrame::with_headroom(&[1, 2, 3], 2);
        assert!(!frame.move_start(3));
        assert!(frame.move_start(2));
        assert_eq!(frame.bytes(), [0xFF, 0xFF, 1, 2, 3]);
        assert!(frame.move_start(-4));
        assert_eq!(frame.bytes(), [3]);
        assert!(!frame.move_start(-2));
    }

    #[test]
    fn truncating_only_shortens() {
        let mut frame = MemFrame::new(&[1, 2, 3]);
        frame.truncate(9);
        assert_eq!(frame.bytes(), [1, 2, 3]);
        frame.truncate(1);
        assert_eq!(frame.bytes(), [1]);
    }

    #[test]
    fn what_a_full_port_did_not_take_is_given_back() {
        let mut io = MemIo::new(1);
        io.ports[0].room = Some(1);
        let mut frames: ArrayVec<_, BURST> =
            [MemFrame::new(&[1]), MemFrame::new(&[2])].into_iter().collect();
        io.transmit(PortId(0), &mut frames);
        assert_eq!(io.ports[0].sent, [MemFrame::new(&[1])]);
        assert_eq!(frames.as_slice(), [MemFrame::new(&[2])]);
    }
}
