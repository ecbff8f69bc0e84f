//! A burst's encapsulation.

use tables::{Family, HashSeed, Outcome, SlotId, Tables, Template, WorkerCounters};

use super::oversize::{self, Sender};
use super::{FlowLabel, FlowLabels, Identifiers, apply};
use crate::batch::{Batch, Packet};
use crate::icmp::Paths;
use crate::io::Io;
use crate::prefetch::prefetch;

/// Puts every live packet that has a backend into its tunnel and notes the port that it leaves by,
/// or ends its way. What lives on goes out; what had to be fragmented is out already.
pub fn stage<I: Io>(
    batch: &mut Batch<I::Frame>,
    tables: &Tables,
    identifiers: &mut Identifiers,
    paths: Paths<'_>,
    io: &mut I,
    counters: &WorkerCounters,
) {
    for packet in batch.live() {
        if let Some(template) = packet.slot.and_then(|slot| template(packet, slot, tables)) {
            prefetch(template);
        }
    }
    let mut labels = Labels { seed: &tables.seed, made: None };
    let mut sender = Sender { io, identifiers, paths, counters };
    for packet in batch.live() {
        let Some(slot) = packet.slot else { continue };
        let done = encapsulate(packet, slot, tables, &mut sender, &mut labels);
        if let Err(outcome) = done {
            packet.end(outcome);
        }
    }
}

/// Derives the labels' key at the first tunnel of a burst that needs one, if there is one.
struct Labels<'t> {
    seed: &'t HashSeed,
    made: Option<FlowLabels>,
}

impl Labels<'_> {
    #[inline]
    fn get(&mut self) -> FlowLabels {
        *self.made.get_or_insert_with(|| FlowLabels::new(self.seed))
    }
}

#[inline]
fn template<'t, F>(packet: &Packet<F>, slot: SlotId, tables: &'t Tables) -> Option<&'t Template> {
    tables.slots.template(slot, packet.parsed.flow.family())
}

#[inline]
fn encapsulate<I: Io>(
    packet: &mut Packet<I::Frame>,
    slot: SlotId,
    tables: &Tables,
    sender: &mut Sender<'_, I>,
    labels: &mut Labels<'_>,
) -> Result<(), Outcome> {
    // A slot without a template is a free one: nobody is behind it.
    let template = template(packet, slot, tables).ok_or(Outcome::NoEligibleBackend)?;
    let label =
        if template.varies() { labels.get().of(&packet.parsed) } else { FlowLabel::default() };
    let id = match template.outer() {
        Family::V4 => sender.identifiers.take(),
        Family::V6 => 0,
    };
    let limit = sender.paths.max_inner(slot, template, tables);
    let done = if packet.parsed.length > limit {
        Err(Outcome::TooBig)
    } else {
        apply(&mut packet.frame, &packet.parsed, template, id, label)
    };
    match done {
        Err(Outcome::TooBig) if oversize::applies(&packet.parsed, template) => {
            return Err(sender.send(packet, template, label, limit));
        }
        Err(Outcome::NoHeadroom) => sender.move_and_apply(packet, template, id, label)?,
        done => done?,
    }
    packet.egress = template.egress();
    Ok(())
}
