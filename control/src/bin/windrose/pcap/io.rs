//! All ports of the configuration on one capture.

use arrayvec::ArrayVec;
use dataplane::batch::{BURST, Batch};
use dataplane::io::dpdk::DpdkIo;
use dataplane::io::{Io, Punt};
use dpdk::{Mbuf, RxTimestamp};
use tables::PortId;

/// One DPDK port that stands for all: what arrives is said to have arrived at `input`, and what
/// leaves by any port is written.
pub(super) struct CaptureIo {
    pub dpdk: DpdkIo,
    pub input: PortId,
    /// Whether that port has a host interface, whose place nobody takes here.
    pub has_host: bool,
}

impl CaptureIo {
    /// Takes the next packet; its time on the capture's clock, in microseconds.
    pub(super) fn stage(&mut self, clock: &RxTimestamp) -> Option<u64> {
        self.dpdk.stage(clock)
    }
}

impl Io for CaptureIo {
    type Frame = Mbuf;

    fn receive(&mut self, batch: &mut Batch<Mbuf>) {
        self.dpdk.receive(batch);
        batch.0.iter_mut().for_each(|packet| packet.port = self.input);
    }

    fn transmit(&mut self, _: PortId, frames: &mut ArrayVec<Mbuf, BURST>) {
        self.dpdk.transmit(PortId(0), frames);
    }

    fn copy(&mut self, pieces: &[&[u8]]) -> Option<Mbuf> {
        self.dpdk.copy(pieces)
    }

    fn punt(&mut self, _: PortId, _: Mbuf) -> Result<(), Punt> {
        if self.has_host { Ok(()) } else { Err(Punt::NoInterface) }
    }

    fn forward_from_host(&mut self) -> (u64, u64) {
        (0, 0)
    }
}
