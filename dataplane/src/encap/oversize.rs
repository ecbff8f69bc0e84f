//! Packets that are too big for their way but may be fragmented: IPv4 without "don't fragment",
//! where the port says so (D-8). Each fragment gets a frame and an outer header of its own.
//!
//! They leave before the rest of the burst, which for the same flow is a change of order that
//! fragments have to expect anyway.

use arrayvec::ArrayVec;
use tables::counters::Event;
use tables::{Outcome, Template, WorkerCounters};

use super::split::{Piece, Pieces, Whole};
use super::{FlowLabel, Identifiers, apply};
use crate::batch::{BURST, Packet};
use crate::icmp::Paths;
use crate::io::{Frame, Io};
use crate::parse::{Fragment, Parsed};

/// Whether the packet is one to fragment.
#[inline]
pub(super) fn applies(parsed: &Parsed, template: &Template) -> bool {
    template.fragments() && !parsed.dont_fragment && template.resolved()
}

/// What a burst's fragments need.
pub(super) struct Sender<'s, I: Io> {
    pub(super) io: &'s mut I,
    pub(super) identifiers: &'s mut Identifiers,
    pub(super) paths: Paths<'s>,
    pub(super) counters: &'s WorkerCounters,
}

impl<I: Io> Sender<'_, I> {
    /// Sends a packet in fragments of at most `limit` bytes; how it ended.
    #[inline(never)]
    pub(super) fn send(
        &mut self,
        packet: &Packet<I::Frame>,
        template: &Template,
        label: FlowLabel,
        limit: u16,
    ) -> Outcome {
        match self.try_send(packet, template, label, limit) {
            Ok(()) => {
                self.counters.add(Event::Fragmented, 1);
                Outcome::Forwarded
            }
            Err(outcome) => outcome,
        }
    }

    fn try_send(
        &mut self,
        packet: &Packet<I::Frame>,
        template: &Template,
        label: FlowLabel,
        limit: u16,
    ) -> Result<(), Outcome> {
        let parsed = &packet.parsed;
        let mut frames = ArrayVec::<I::Frame, BURST>::new();
        for piece in Pieces::of(whole(packet)?, limit)? {
            if frames.is_full() {
                self.transmit(template, &mut frames)?;
            }
            let pieces = [piece.header.as_slice(), piece.payload];
            let mut frame = self.io.copy(&pieces).ok_or(Outcome::NoBuffer)?;
            let id = self.identifiers.take();
            apply(&mut frame, &describe(parsed, &piece), template, id, label)?;
            frames.push(frame);
        }
        self.transmit(template, &mut frames)
    }

    /// Sends what is ready; a queue that does not take all of it ends the packet.
    fn transmit(
        &mut self,
        template: &Template,
        frames: &mut ArrayVec<I::Frame, BURST>,
    ) -> Result<(), Outcome> {
        let ready = frames.len();
        self.io.transmit(template.egress(), frames);
        self.counters.add(Event::Sent, (ready - frames.len()) as u64);
        if frames.is_empty() { Ok(()) } else { Err(Outcome::TxFull) }
    }
}

impl From<Whole> for Outcome {
    fn from(why: Whole) -> Self {
        match why {
            Whole::BadHeader => Self::MalformedIp,
            Whole::NoRoom => Self::TooBig,
        }
    }
}

/// The packet without what is around it.
pub(super) fn whole<F: Frame>(packet: &Packet<F>) -> Result<&[u8], Outcome> {
    let rest = packet.frame.bytes().get(usize::from(packet.parsed.l3)..);
    rest.and_then(|rest| rest.get(..packet.parsed.length.into())).ok_or(Outcome::RxTruncated)
}

/// What a fragment's frame holds: no Ethernet header, and only the first one has what the whole
/// packet had behind its IP header.
fn describe(parsed: &Parsed, piece: &Piece<'_>) -> Parsed {
    let header = piece.header.len() as u16;
    Parsed {
        l3: 0,
        l4: header,
        length: header + piece.payload.len() as u16,
        fragment: if piece.first { Fragment::First } else { Fragment::Later },
        ..*parsed
    }
}
