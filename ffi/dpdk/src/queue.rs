//! A port's queues: each owned by one thread at a time.

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::Arc;

use arrayvec::ArrayVec;
use dpdk_sys::rte_mbuf;

use crate::Mbuf;
use crate::port::Open;

/// The queue's thread: `Send`, not `Sync`, not `Clone`.
type OneThread = PhantomData<Cell<()>>;

/// Where frames arrive.
#[derive(Debug)]
pub struct RxQueue {
    port: Arc<Open>,
    queue: u16,
    _one: OneThread,
}

/// Where frames leave.
#[derive(Debug)]
pub struct TxQueue {
    port: Arc<Open>,
    queue: u16,
    _one: OneThread,
}

impl RxQueue {
    /// `queue` is set up on a started port, and there is no other `RxQueue` for it.
    pub(crate) fn new(port: Arc<Open>, queue: u16) -> Self {
        Self { port, queue, _one: PhantomData }
    }

    /// Takes what has arrived, at most `most` frames and as far as there is room in `out`; returns
    /// how many. Some drivers hand up nothing when asked for fewer than 8.
    ///
    /// Each frame comes in one piece and with nothing of DPDK's offload flags left on it; a VLAN
    /// tag that the driver took off is back in the frame. A frame in several segments that do not
    /// fit into the first is cut to that one.
    #[inline]
    pub fn receive<const N: usize>(&mut self, out: &mut ArrayVec<Mbuf, N>, most: usize) -> usize {
        let (old, room) =
            (out.len(), out.remaining_capacity().min(most).min(u16::MAX.into()) as u16);
        let place = out.as_mut_ptr().cast::<*mut rte_mbuf>();
        // SAFETY: the port is started for as long as `self.port` lives and this is the queue's only
        // user; `place` + old has room for `room` pointers; Mbuf is one pointer to an rte_mbuf.
        // Each received mbuf has one reference, which is ours; `tidy` makes the rest of Mbuf's
        // invariant before anyone else sees it.
        unsafe {
            let count = dpdk_sys::shim_rx_burst(self.port.id, self.queue, place.add(old), room);
            out.set_len(old + usize::from(count));
        }
        out[old..].iter_mut().for_each(tidy);
        out.len() - old
    }
}

impl TxQueue {
    /// As for [`RxQueue::new`].
    pub(crate) fn new(port: Arc<Open>, queue: u16) -> Self {
        Self { port, queue, _one: PhantomData }
    }

    /// Sends frames in order; those that the port did not take stay in `frames`. Returns how many
    /// it took.
    #[inline]
    pub fn send<const N: usize>(&mut self, frames: &mut ArrayVec<Mbuf, N>) -> usize {
        let way = self.port.detour.of(self.queue).unwrap_or(self.port.id);
        self.send_by(way, frames)
    }

    #[inline]
    fn send_by<const N: usize>(&mut self, way: u16, frames: &mut ArrayVec<Mbuf, N>) -> usize {
        let place = frames.as_mut_ptr().cast::<*mut rte_mbuf>();
        let count = frames.len().min(u16::MAX.into()) as u16;
        // SAFETY: as in `receive`, and a bond's members have its queues and no other user; `count`
        // mbufs are there, each valid and ours. The driver owns the first `sent` of them afterwards.
        let sent = unsafe { dpdk_sys::shim_tx_burst(way, self.queue, place, count) };
        frames.drain(..usize::from(sent)).for_each(std::mem::forget);
        sent.into()
    }

    /// Lets the driver send what it has itself. A bond speaks LACP only when it is asked to send,
    /// and wants to be asked every 100 ms.
    #[inline]
    pub fn poll(&mut self) {
        self.send_by(self.port.id, &mut ArrayVec::<Mbuf, 1>::new());
    }
}

/// Makes what a driver handed up an [`Mbuf`] by its invariant, free of what the driver noted.
#[inline]
fn tidy(mbuf: &mut Mbuf) {
    let head = mbuf.head();
    // SAFETY: constants of the shim, never written.
    let (buffer_flags, stripped) =
        unsafe { (dpdk_sys::shim_buffer_flags, dpdk_sys::shim_vlan_stripped) };
    if head.ol_flags & stripped != 0 || head.nb_segs != 1 {
        tidy_rare(mbuf, stripped);
    }
    // Offload flags of the receive side mean other things, or nothing, when the frame is sent.
    mbuf.head_mut().ol_flags &= buffer_flags;
}

#[cold]
fn tidy_rare(mbuf: &mut Mbuf, stripped: u64) {
    let mut raw = mbuf.raw();
    // SAFETY: a valid chain of segments that is ours; a segment that is cut off is freed once. The
    // tag goes into the headroom (it is not inserted, and the frame is as good as untagged, if the
    // driver left none); the buffer stays the same one, since nobody else refers to it.
    unsafe {
        if mbuf.head().nb_segs != 1 && dpdk_sys::shim_linearize(raw) != 0 {
            dpdk_sys::shim_cut_chain(raw);
        }
        if mbuf.head().ol_flags & stripped != 0 {
            dpdk_sys::shim_vlan_insert(&raw mut raw);
        }
    }
}

#[cfg(test)]
mod tests;
