//! Ports that DPDK drives.
//!
//! What drivers do that one would not expect, found by trial:
//!
//! - `net_af_packet` hands up frames that the host itself sends out of the interface: the parser
//!   drops them by their source address. Its kernel side puts IPv4 fragments together, and what is
//!   then longer than its slot is cut and ends as `rx_truncated`.
//! - A veth pair leaves checksums to its receiver; behind a DPDK port nobody computes them. Turn
//!   them on at the sender: `ethtool -K IFACE tx off`.
//! - Several workers on `net_af_packet` share its frames by the kernel's flow hash (`qpairs`).

use arrayvec::ArrayVec;
use dpdk::{Mbuf, Mempool, RxQueue, RxTimestamp, TxQueue};
use tables::PortId;

use super::host::WorkerSide;
use super::{Frame, Io, Punt};
use crate::batch::{BURST, Batch, Packet};
use crate::prefetch::prefetch;

/// Drivers with vector receive hand up nothing when asked for fewer.
const SMALLEST_ASK: usize = 8;

impl Frame for Mbuf {
    #[inline]
    fn bytes(&self) -> &[u8] {
        self.bytes()
    }

    #[inline]
    fn bytes_mut(&mut self) -> &mut [u8] {
        self.bytes_mut()
    }

    #[inline]
    fn move_start(&mut self, grow: isize) -> bool {
        self.move_start(grow)
    }

    #[inline]
    fn truncate(&mut self, len: usize) {
        self.truncate(len);
    }
}

/// One worker's queues on one port.
#[derive(Debug)]
pub struct PortQueues {
    /// Where its frames arrive.
    pub rx: RxQueue,
    /// Where they leave.
    pub tx: TxQueue,
    /// The way to the port's host interface, if it has one.
    pub host: Option<WorkerSide>,
}

/// One worker's ports.
#[derive(Debug)]
pub struct DpdkIo {
    ports: Vec<PortQueues>,
    /// Frames of the host are copied into its buffers.
    pool: Mempool,
    /// The port that is asked first, next time.
    first: usize,
    /// A frame that [`DpdkIo::stage`] took.
    staged: Option<Packet<Mbuf>>,
}

impl DpdkIo {
    /// `ports` in the order of their [`PortId`]s.
    pub fn new(ports: Vec<PortQueues>, pool: Mempool) -> Self {
        Self { ports, pool, first: 0, staged: None }
    }

    /// Takes one frame in advance, which the next [`Io::receive`] hands out alone, and returns the
    /// time that its driver gave it. None if nothing has arrived. So a capture's own clock can be
    /// set before its packet is handled.
    pub fn stage(&mut self, clock: &RxTimestamp) -> Option<u64> {
        let mut one = ArrayVec::<Mbuf, 1>::new();
        let ports = self.ports.iter_mut().zip(0..);
        let port =
            ports.filter_map(|(p, id)| (p.rx.receive(&mut one, 1) > 0).then_some(id)).next()?;
        let frame = one.pop()?;
        let time = clock.of(&frame);
        self.staged = Some(Packet::new(frame, PortId(port)));
        Some(time)
    }

    /// Asks the ports in turn, beginning with another one each time.
    fn receive_from_ports(&mut self, batch: &mut Batch<Mbuf>) {
        let (before, after) = self.ports.split_at_mut(self.first);
        let ids = (self.first as u8..).zip(after).chain((0..).zip(before));
        for (id, port) in ids {
            receive(&mut port.rx, PortId(id), batch);
        }
        self.first = if self.first + 1 < self.ports.len() { self.first + 1 } else { 0 };
    }
}

impl Io for DpdkIo {
    type Frame = Mbuf;

    #[inline]
    fn receive(&mut self, batch: &mut Batch<Mbuf>) {
        match self.staged.take() {
            Some(packet) => batch.0.push(packet),
            None => self.receive_from_ports(batch),
        }
    }

    #[inline]
    fn transmit(&mut self, port: PortId, frames: &mut ArrayVec<Mbuf, BURST>) {
        if let Some(port) = self.ports.get_mut(usize::from(port.0)) {
            port.tx.send(frames);
        }
    }

    fn copy(&mut self, pieces: &[&[u8]]) -> Option<Mbuf> {
        copy(&self.pool, pieces)
    }

    fn punt(&mut self, port: PortId, frame: Mbuf) -> Result<(), Punt> {
        let host = self.ports.get(usize::from(port.0)).and_then(|port| port.host.as_ref());
        host.ok_or(Punt::NoInterface)?.punt(frame.bytes())
    }

    fn forward_from_host(&mut self) -> (u64, u64) {
        let pool = &self.pool;
        let each = self.ports.iter_mut().map(|port| forward_from_host(port, pool));
        each.fold((0, 0), |sum, port| (sum.0 + port.0, sum.1 + port.1))
    }
}

#[inline]
fn receive(rx: &mut RxQueue, port: PortId, batch: &mut Batch<Mbuf>) {
    let room = batch.0.remaining_capacity();
    if room < SMALLEST_ASK {
        return;
    }
    let mut frames = ArrayVec::<Mbuf, BURST>::new();
    rx.receive(&mut frames, room);
    for frame in frames {
        prefetch(frame.bytes().as_ptr());
        batch.0.push(Packet::new(frame, port));
    }
}

/// At most a burst; returns how many frames went out and how many could not.
fn forward_from_host(port: &mut PortQueues, pool: &Mempool) -> (u64, u64) {
    let Some(host) = &port.host else { return (0, 0) };
    let mut frames = ArrayVec::<Mbuf, BURST>::new();
    let mut dropped = 0;
    for _ in 0..BURST {
        match host.next(|bytes| copy(pool, &[bytes])) {
            Some(Some(frame)) => frames.push(frame),
            Some(None) => dropped += 1,
            None => break,
        }
    }
    if frames.is_empty() {
        return (0, dropped);
    }
    let sent = port.tx.send(&mut frames) as u64;
    (sent, dropped + frames.len() as u64)
}

fn copy(pool: &Mempool, pieces: &[&[u8]]) -> Option<Mbuf> {
    let mut frame = pool.take()?;
    pieces.iter().all(|piece| frame.extend(piece)).then_some(frame)
}
