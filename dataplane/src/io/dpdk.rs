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
use super::{Frame, Io, MAX_PORTS, Punt};
use crate::batch::{BURST, Batch, Packet};
use crate::parse;
use crate::prefetch::prefetch;
use crate::probe::is_probe;

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

/// One worker's queues on one device, and the ports that the device is.
#[derive(Debug)]
pub struct DeviceQueues {
    /// Where its frames arrive.
    pub rx: RxQueue,
    /// Where they leave.
    pub tx: TxQueue,
    /// Its ports: one, or one for each VLAN (N-4). What is of none of them is the first one's, whose
    /// parser drops it by name.
    pub ports: ArrayVec<Lane, MAX_PORTS>,
    /// Whether its driver has frames of its own to send and does so only when it is asked to send
    /// (LACP).
    pub speaks: bool,
}

/// One port of a device.
#[derive(Clone, Debug)]
pub struct Lane {
    /// Its number.
    pub id: PortId,
    /// Its VLAN, 0: untagged.
    pub vlan: u16,
    /// The way to its host interface, if it has one.
    pub host: Option<WorkerSide>,
}

impl DeviceQueues {
    /// A device that is one port.
    pub fn one(id: PortId, rx: RxQueue, tx: TxQueue, host: Option<WorkerSide>) -> Self {
        let ports = [Lane { id, vlan: 0, host }].into_iter().collect();
        Self { rx, tx, ports, speaks: false }
    }

    fn lane(&mut self, id: PortId) -> Option<&mut Lane> {
        self.ports.iter_mut().find(|lane| lane.id == id)
    }
}

/// One worker's devices.
#[derive(Debug)]
pub struct DpdkIo {
    devices: Vec<DeviceQueues>,
    /// By port: its device.
    places: [usize; MAX_PORTS],
    /// Frames of the host are copied into its buffers.
    pool: Mempool,
    /// The device that is asked first, next time.
    first: usize,
    /// A frame that [`DpdkIo::stage`] took.
    staged: Option<Packet<Mbuf>>,
    /// Probes that the host sends (W-8).
    probes: Batch<Mbuf>,
}

impl DpdkIo {
    /// Devices with their ports, each port once.
    pub fn new(devices: Vec<DeviceQueues>, pool: Mempool) -> Self {
        let mut places = [usize::MAX; MAX_PORTS];
        for (number, device) in devices.iter().enumerate() {
            for lane in &device.ports {
                if let Some(place) = places.get_mut(usize::from(lane.id.0)) {
                    *place = number;
                }
            }
        }
        Self { devices, places, pool, first: 0, staged: None, probes: Batch::default() }
    }

    #[inline]
    fn device(&mut self, port: PortId) -> Option<&mut DeviceQueues> {
        let place = self.places.get(usize::from(port.0))?;
        self.devices.get_mut(*place)
    }

    /// Takes one frame in advance, which the next [`Io::receive`] hands out alone, and returns the
    /// time that its driver gave it. None if nothing has arrived. So a capture's own clock can be
    /// set before its packet is handled.
    pub fn stage(&mut self, clock: &RxTimestamp) -> Option<u64> {
        let mut one = ArrayVec::<Mbuf, 1>::new();
        let mut devices = self.devices.iter_mut();
        let device = devices.find_map(|d| (d.rx.receive(&mut one, 1) > 0).then_some(d))?;
        let frame = one.pop()?;
        let time = clock.of(&frame);
        self.staged = Some(Packet::new(frame, device.ports.first()?.id));
        Some(time)
    }

    /// Asks the devices in turn, beginning with another one each time.
    fn receive_from_devices(&mut self, batch: &mut Batch<Mbuf>) {
        let (before, after) = self.devices.split_at_mut(self.first);
        for device in after.iter_mut().chain(before) {
            receive(device, batch);
        }
        self.first = if self.first + 1 < self.devices.len() { self.first + 1 } else { 0 };
    }
}

impl Io for DpdkIo {
    type Frame = Mbuf;

    #[inline]
    fn receive(&mut self, batch: &mut Batch<Mbuf>) {
        match self.staged.take() {
            Some(packet) => batch.0.push(packet),
            None => self.receive_from_devices(batch),
        }
    }

    #[inline]
    fn transmit(&mut self, port: PortId, frames: &mut ArrayVec<Mbuf, BURST>) {
        if let Some(device) = self.device(port) {
            device.tx.send(frames);
        }
    }

    fn copy(&mut self, pieces: &[&[u8]]) -> Option<Mbuf> {
        copy(&self.pool, pieces)
    }

    fn punt(&mut self, port: PortId, frame: Mbuf) -> Result<(), Punt> {
        let lane = self.device(port).and_then(|device| device.lane(port));
        let host = lane.and_then(|lane| lane.host.as_ref());
        host.ok_or(Punt::NoInterface)?.punt(frame.bytes())
    }

    fn forward_from_host(&mut self) -> (u64, u64) {
        let pool = &self.pool;
        let probes = &mut self.probes;
        let devices = self.devices.iter_mut();
        let each = devices.map(|device| forward_from_host(device, pool, probes));
        each.fold((0, 0), |sum, device| (sum.0 + device.0, sum.1 + device.1))
    }

    fn take_probes(&mut self, batch: &mut Batch<Mbuf>) {
        if !self.probes.0.is_empty() {
            std::mem::swap(batch, &mut self.probes);
        }
    }
}

#[inline]
fn receive(device: &mut DeviceQueues, batch: &mut Batch<Mbuf>) {
    let room = batch.0.remaining_capacity();
    if room < SMALLEST_ASK {
        return;
    }
    let mut frames = ArrayVec::<Mbuf, BURST>::new();
    device.rx.receive(&mut frames, room);
    match &*device.ports {
        [only] => batch.0.extend(frames.into_iter().map(|frame| arrived(frame, only.id))),
        several => batch.0.extend(frames.into_iter().filter_map(|frame| {
            let port = by_vlan(several, frame.bytes())?;
            Some(arrived(frame, port))
        })),
    }
}

#[inline]
fn arrived(frame: Mbuf, port: PortId) -> Packet<Mbuf> {
    let start = frame.bytes().as_ptr();
    prefetch(start);
    // The outer header goes into the line in front of it.
    prefetch(start.wrapping_sub(64));
    Packet::new(frame, port)
}

/// The port of the frame's VLAN; the first one's where no port has it. None: there are no ports.
fn by_vlan(ports: &[Lane], frame: &[u8]) -> Option<PortId> {
    let vlan = parse::vlan(frame);
    ports.iter().find(|lane| lane.vlan == vlan).or(ports.first()).map(|lane| lane.id)
}

/// At most a burst of each port; returns how many frames went out and how many could not.
fn forward_from_host(
    device: &mut DeviceQueues,
    pool: &Mempool,
    probes: &mut Batch<Mbuf>,
) -> (u64, u64) {
    let DeviceQueues { tx, ports, speaks, .. } = device;
    if *speaks {
        tx.poll();
    }
    let hosts = ports.iter().filter_map(|lane| Some((lane.id, lane.host.as_ref()?)));
    let each = hosts.map(|host| forward_from(host, tx, pool, probes));
    each.fold((0, 0), |sum, host| (sum.0 + host.0, sum.1 + host.1))
}

fn forward_from(
    (id, host): (PortId, &WorkerSide),
    tx: &mut TxQueue,
    pool: &Mempool,
    probes: &mut Batch<Mbuf>,
) -> (u64, u64) {
    let mut frames = ArrayVec::<Mbuf, BURST>::new();
    let (mut dropped, before) = (0, probes.0.len());
    // Those for whom there is no room among the probes wait for the next step.
    while frames.len() < BURST && probes.0.len() < BURST {
        match host.next(|bytes| copy(pool, &[bytes])) {
            Some(Some(frame)) if is_probe(frame.bytes()) => probes.0.push(Packet::new(frame, id)),
            Some(Some(frame)) => frames.push(frame),
            Some(None) => dropped += 1,
            None => break,
        }
    }
    let probes = (probes.0.len() - before) as u64;
    if frames.is_empty() {
        return (probes, dropped);
    }
    let sent = tx.send(&mut frames) as u64;
    (sent + probes, dropped + frames.len() as u64)
}

fn copy(pool: &Mempool, pieces: &[&[u8]]) -> Option<Mbuf> {
    let mut frame = pool.take()?;
    pieces.iter().all(|piece| frame.extend(piece)).then_some(frame)
}
