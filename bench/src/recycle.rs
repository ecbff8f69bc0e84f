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

/// What is between the generator and the worker, if it is more than memory.
pub trait Wire<F>: Send {
    /// Takes a burst of buffers to write frames into.
    fn fetch(&mut self, buffers: &mut VecDeque<F>, burst: &mut ArrayVec<F, BURST>);
    /// Lets what was written arrive.
    fn arrive(&mut self, burst: &mut ArrayVec<F, BURST>);
    /// Sends frames and brings their buffers back.
    fn leave(&mut self, frames: &mut ArrayVec<F, BURST>, buffers: &mut VecDeque<F>);
}

/// One port. What is sent comes back to the end of the line; without a wire no frame is ever made
/// or freed.
pub struct Recycle<F> {
    /// Free buffers, the longest unused first; each holds a frame of some pattern.
    pub buffers: VecDeque<F>,
    /// What is received next.
    pub pattern: Pattern,
    /// Of which flows.
    pub order: Order,
    /// What frames pass on their way, if they do.
    pub wire: Option<Box<dyn Wire<F>>>,
}

impl<F: Frame> Recycle<F> {
    /// A port without buffers.
    pub fn new(pattern: Pattern, order: Order) -> Self {
        Self { buffers: VecDeque::new(), pattern, order, wire: None }
    }

    /// A burst of fresh frames, written just now.
    #[inline]
    pub fn make(&mut self) -> ArrayVec<F, BURST> {
        let mut burst = ArrayVec::new();
        match &mut self.wire {
            Some(wire) => wire.fetch(&mut self.buffers, &mut burst),
            None => take(&mut self.buffers, &mut burst),
        }
        for frame in &mut burst {
            restore(frame, self.pattern.frame_length());
            self.pattern.write(frame.bytes_mut(), self.order.take());
        }
        if let Some(wire) = &mut self.wire {
            wire.arrive(&mut burst);
        }
        burst
    }

    /// What making and taking back a burst costs by itself, with its wire.
    pub fn idle(&mut self) {
        let mut burst = black_box(self.make());
        self.take_back(&mut burst);
    }

    #[inline]
    fn take_back(&mut self, frames: &mut ArrayVec<F, BURST>) {
        match &mut self.wire {
            Some(wire) => wire.leave(frames, &mut self.buffers),
            None => self.buffers.extend(frames.drain(..)),
        }
    }
}

/// The longest unused ones.
#[inline]
pub fn take<F>(buffers: &mut VecDeque<F>, burst: &mut ArrayVec<F, BURST>) {
    while let Some(frame) = (!burst.is_full()).then(|| buffers.pop_front()).flatten() {
        burst.push(frame);
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
        self.take_back(frames);
    }

    fn punt(&mut self, _: PortId, frame: F) -> Result<(), Punt> {
        self.buffers.push_back(frame);
        Ok(())
    }

    fn forward_from_host(&mut self) -> (u64, u64) {
        (0, 0)
    }
}
