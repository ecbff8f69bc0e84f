//! Ports in memory that make their own packets, in buffers that are used again and again.

use std::collections::VecDeque;
use std::hint::black_box;

use arrayvec::ArrayVec;
use dataplane::batch::{BURST, Batch, Packet};
use dataplane::io::{Frame, Io, Punt};
use tables::PortId;

use crate::traffic::{Order, Pattern};

/// As many buffers as a port's receive ring has, at least: fewer would stay in the first caches.
pub const BUFFERS: usize = 4096;

/// One port. What is sent comes back to the end of the line; no frame is ever made or freed.
#[derive(Debug)]
pub struct Recycle<F> {
    /// Free buffers, the longest unused first; each holds a frame of some pattern.
    pub buffers: VecDeque<F>,
    /// What is received next.
    pub pattern: Pattern,
    /// Of which flows.
    pub order: Order,
}

impl<F: Frame> Recycle<F> {
    /// A port without buffers.
    pub fn new(pattern: Pattern, order: Order) -> Self {
        Self { buffers: VecDeque::new(), pattern, order }
    }

    /// A burst of fresh frames, written just now.
    #[inline]
    pub fn make(&mut self) -> ArrayVec<F, BURST> {
        let mut burst = ArrayVec::new();
        while !burst.is_full() {
            let Some(mut frame) = self.buffers.pop_front() else { break };
            restore(&mut frame, self.pattern.frame_length());
            self.pattern.write(frame.bytes_mut(), self.order.take());
            burst.push(frame);
        }
        burst
    }

    /// What making and taking back a burst costs by itself.
    pub fn idle(&mut self) {
        let burst = self.make();
        self.buffers.extend(black_box(burst));
    }
}

/// Makes a frame `len` bytes long again, at whatever place: encapsulation has moved its start.
#[inline]
fn restore<F: Frame>(frame: &mut F, len: usize) {
    let grow = len as isize - frame.bytes().len() as isize;
    frame.move_start(grow);
}

impl<F: Frame> Io for Recycle<F> {
    type Frame = F;

    #[inline]
    fn receive(&mut self, batch: &mut Batch<F>) {
        for frame in self.make() {
            batch.0.push(Packet::new(frame, PortId(0)));
        }
    }

    #[inline]
    fn transmit(&mut self, _: PortId, frames: &mut ArrayVec<F, BURST>) {
        self.buffers.extend(frames.drain(..));
    }

    fn punt(&mut self, _: PortId, frame: F) -> Result<(), Punt> {
        self.buffers.push_back(frame);
        Ok(())
    }

    fn forward_from_host(&mut self) -> (u64, u64) {
        (0, 0)
    }
}
