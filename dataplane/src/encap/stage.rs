//! A burst's encapsulation.

use tables::{Family, HashSeed, Outcome, SlotId, Tables, Template};

use super::{FlowLabels, Identifiers, apply};
use crate::batch::{Batch, Packet};
use crate::icmp::Paths;
use crate::io::Frame;
use crate::prefetch::prefetch;

/// Puts every live packet that has a backend into its tunnel and notes the port that it leaves by,
/// or ends its way. What lives on goes out.
pub fn stage<F: Frame>(
    batch: &mut Batch<F>,
    tables: &Tables,
    identifiers: &mut Identifiers,
    paths: Paths<'_>,
) {
    for packet in batch.live() {
        if let Some(template) = packet.slot.and_then(|slot| template(packet, slot, tables)) {
            prefetch(template);
        }
    }
    let mut labels = Labels { seed: &tables.seed, made: None };
    for packet in batch.live() {
        let Some(slot) = packet.slot else { continue };
        let done = encapsulate(packet, slot, tables, identifiers, &mut labels, paths);
        if let Err(outcome) = done {
            packet.end(outcome);
        }
    }
}

/// Derives the labels' key at the first IPv6 tunnel of a burst, if there is one.
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
fn encapsulate<F: Frame>(
    packet: &mut Packet<F>,
    slot: SlotId,
    tables: &Tables,
    identifiers: &mut Identifiers,
    labels: &mut Labels<'_>,
    paths: Paths<'_>,
) -> Result<(), Outcome> {
    // A slot without a template is a free one: nobody is behind it.
    let template = template(packet, slot, tables).ok_or(Outcome::NoEligibleBackend)?;
    let (id, label) = match template.outer() {
        Family::V4 => (identifiers.take(), 0),
        Family::V6 => (0, labels.get().of(&packet.parsed)),
    };
    if packet.parsed.length > paths.max_inner(slot, template, tables) {
        return Err(Outcome::TooBig);
    }
    apply(&mut packet.frame, &packet.parsed, template, id, label)?;
    packet.egress = template.egress();
    Ok(())
}
