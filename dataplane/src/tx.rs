//! The end of every packet's way: out, to the host, or dropped; each is counted here, once (D-7).

use arrayvec::ArrayVec;
use tables::counters::Event;
use tables::{Outcome, PortId, WorkerCounters};

use crate::batch::{BURST, Batch, Packet};
use crate::io::{Io, MAX_PORTS, Punt};

/// Sees each packet just before its frame leaves; the outcome is `None` for one that is about to
/// be sent, and `Forwarded` for one that has left in fragments. The frame of an answered one is the
/// answer. `()` sees nothing and costs nothing.
pub trait Observe<F> {
    /// One packet, every stage's result in it.
    fn packet(&mut self, packet: &Packet<F>);
}

impl<F> Observe<F> for () {
    fn packet(&mut self, _: &Packet<F>) {}
}

/// Empties the batch.
#[inline(never)]
pub fn stage<I: Io>(
    batch: &mut Batch<I::Frame>,
    io: &mut I,
    counters: &WorkerCounters,
    observer: &mut impl Observe<I::Frame>,
) {
    let mut leaving: [ArrayVec<I::Frame, BURST>; MAX_PORTS] = Default::default();
    // By itself, since to be seen whole a packet would have to be moved whole.
    batch.0.iter().for_each(|packet| observer.packet(packet));
    for Packet { frame, port, outcome, egress, answered, .. } in batch.0.drain(..) {
        match (outcome, leaving.get_mut(usize::from(egress.0))) {
            (None, Some(queue)) => queue.push(frame),
            (None, None) => counters.end(Outcome::NextHopUnresolved),
            (Some(Outcome::Host), _) => counters.end(punt(frame, port, io)),
            (Some(outcome), _) => {
                counters.end(outcome);
                if answered {
                    answer(frame, port, io, counters);
                }
            }
        }
    }
    for (number, frames) in leaving.iter_mut().enumerate().filter(|(_, f)| !f.is_empty()) {
        transmit(PortId(number as u8), frames, io, counters);
    }
}

fn transmit<I: Io>(
    port: PortId,
    frames: &mut ArrayVec<I::Frame, BURST>,
    io: &mut I,
    counters: &WorkerCounters,
) {
    let offered = frames.len();
    io.transmit(port, frames);
    let sent = offered - frames.len();
    counters.end_many(Outcome::Forwarded, sent as u64);
    counters.end_many(Outcome::TxFull, frames.len() as u64);
    counters.add(Event::Sent, sent as u64);
    frames.clear();
}

/// Sends what the packet's frame has become: a packet of our own, counted apart (D-7).
#[cold]
fn answer<I: Io>(frame: I::Frame, port: PortId, io: &mut I, counters: &WorkerCounters) {
    let mut frames = ArrayVec::<_, BURST>::new();
    frames.push(frame);
    io.transmit(port, &mut frames);
    let sent = frames.is_empty();
    counters.add(if sent { Event::IcmpSent } else { Event::IcmpUnsent }, 1);
    counters.add(Event::Sent, u64::from(sent));
}

fn punt<I: Io>(frame: I::Frame, port: PortId, io: &mut I) -> Outcome {
    match io.punt(port, frame) {
        Ok(()) => Outcome::Host,
        Err(Punt::NoInterface) => Outcome::NoHostInterface,
        Err(Punt::Full) => Outcome::HostFull,
    }
}
