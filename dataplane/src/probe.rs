//! Health checks' probes to a VIP: packets of the host that go to one chosen backend (W-8).
//!
//! They are encapsulated like everything else, by the same code and the service's own template,
//! whatever the rules, the health or a drain say, and touch no entry. Which of the host's frames
//! are probes says their next hop, [`GATEWAY`]; whose, their source port ([`ProbeSlots`]).

use std::sync::Arc;

use arrayvec::ArrayVec;
use tables::counters::Event;
use tables::probes::{GATEWAY, ProbeSlots};
use tables::traffic::GivenBy;
use tables::{Outcome, PacketClass, Tables, WorkerCounters};

use crate::batch::{Batch, Packet};
use crate::encap::{self, Identifiers};
use crate::icmp::Paths;
use crate::io::{Frame, Io};
use crate::parse;
use crate::tx::Observe;

/// Whether a frame that the host sends is a probe.
#[inline]
pub fn is_probe(frame: &[u8]) -> bool {
    frame.starts_with(&GATEWAY.0)
}

/// Which backends probes are for; shared with the prober.
#[derive(Clone, Debug, Default)]
pub struct Probes(Arc<ProbeSlots>);

impl Probes {
    /// With what the prober writes.
    pub fn new(slots: Arc<ProbeSlots>) -> Self {
        Self(slots)
    }

    /// Sends a batch of nothing but probes, and empties it.
    #[cold]
    #[inline(never)]
    pub fn stage<I: Io>(
        &self,
        batch: &mut Batch<I::Frame>,
        tables: &Tables,
        (identifiers, paths): (&mut Identifiers, Paths<'_>),
        io: &mut I,
        counters: &WorkerCounters,
        observer: &mut impl Observe<I::Frame>,
    ) {
        let offered = batch.0.len();
        batch.0.retain(|packet| self.resolve(packet).is_some());
        // What is late, its claim gone, goes nowhere: nobody on the wire is its next hop.
        counters.add(Event::FromHostDropped, (offered - batch.0.len()) as u64);
        counters.add(Event::Received, batch.0.len() as u64);
        // Probes are no client's.
        let counted = (counters, GivenBy::default());
        encap::stage(batch, tables, identifiers, paths, io, counted);
        for packet in batch.0.drain(..) {
            observer.packet(&packet);
            counters.end(send(packet, io, counters));
        }
    }

    /// Finds out its backend.
    fn resolve<F: Frame>(&self, packet: &mut Packet<F>) -> Option<()> {
        packet.parsed = parse::from_host(packet.frame.bytes()).ok()?;
        let flow = &packet.parsed.flow;
        let is_tcp = packet.parsed.class == PacketClass::Tcp && packet.parsed.fault.is_none();
        packet.slot = self.0.slot(flow.family(), flow.sport()).filter(|_| is_tcp);
        packet.slot.map(drop)
    }
}

fn send<I: Io>(packet: Packet<I::Frame>, io: &mut I, counters: &WorkerCounters) -> Outcome {
    if let Some(outcome) = packet.outcome {
        return outcome;
    }
    let mut frames = ArrayVec::new();
    frames.push(packet.frame);
    io.transmit(packet.egress, &mut frames);
    let sent = frames.is_empty();
    counters.add(Event::Sent, u64::from(sent));
    if sent { Outcome::Probe } else { Outcome::TxFull }
}
