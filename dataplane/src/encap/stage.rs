//! A burst's encapsulation.

use arrayvec::ArrayVec;
use tables::traffic::GivenBy;
use tables::{Family, HashSeed, Outcome, SlotId, Tables, Template, WorkerCounters};

use super::oversize::{self, Sender};
use super::{FlowLabel, FlowLabels, Identifiers, apply};
use crate::batch::{BURST, Batch, Entry, Packet};
use crate::icmp::Paths;
use crate::io::Io;
use crate::parse::Parsed;
use crate::prefetch::prefetch;

/// Puts every live packet that has a backend into its tunnel and notes the port that it leaves by,
/// or ends its way. What lives on goes out; what had to be fragmented is out already; both are
/// counted as given to the backend. True: some ended because their next hop is not known.
#[inline(never)]
pub fn stage<I: Io>(
    batch: &mut Batch<I::Frame>,
    tables: &Tables,
    identifiers: &mut Identifiers,
    paths: Paths<'_>,
    io: &mut I,
    (counters, given): (&WorkerCounters, GivenBy<'_>),
) -> bool {
    let mut tunnels = ArrayVec::<(u8, SlotId, &Template), BURST>::new();
    for (index, packet) in (0..).zip(&mut batch.0) {
        let (None, Some(slot)) = (packet.outcome, packet.slot) else { continue };
        match tables.slots.template(slot, packet.parsed.flow.family()) {
            Some(template) => {
                prefetch(template);
                // A batch holds no more packets than there is room for.
                let _ = tunnels.try_push((index, slot, template));
            }
            // A slot without a template is a free one: nobody is behind it.
            None => packet.end(Outcome::NoEligibleBackend),
        }
    }
    let mut labels = Labels { seed: &tables.seed, made: None };
    let mut sender = Sender { io, identifiers, paths, counters };
    let mut unresolved = false;
    for (index, slot, template) in &tunnels {
        let Some(packet) = batch.0.get_mut(usize::from(*index)) else { continue };
        let limit = sender.paths.max_inner(*slot, template, tables);
        match encapsulate(packet, template, limit, &mut sender, &mut labels) {
            Ok(()) => count(packet, *slot, given),
            Err(outcome) => {
                if outcome == Outcome::Forwarded {
                    count(packet, *slot, given);
                }
                unresolved |= outcome == Outcome::NextHopUnresolved;
                packet.end(outcome);
            }
        }
    }
    unresolved
}

#[inline(always)]
fn count<F>(packet: &Packet<F>, slot: SlotId, given: GivenBy<'_>) {
    if let Some(given) = given.to(slot) {
        let begins = matches!(packet.entry, Entry::Created | Entry::Replaced);
        given.add(packet.parsed.length, begins);
    }
}

/// Derives the labels' key at the first tunnel of a burst that needs one, if there is one.
struct Labels<'t> {
    seed: &'t HashSeed,
    made: Option<FlowLabels>,
}

impl Labels<'_> {
    #[inline(never)]
    fn of(&mut self, parsed: &Parsed) -> FlowLabel {
        self.made.get_or_insert_with(|| FlowLabels::new(self.seed)).of(parsed)
    }
}

#[inline]
fn encapsulate<I: Io>(
    packet: &mut Packet<I::Frame>,
    template: &Template,
    limit: u16,
    sender: &mut Sender<'_, I>,
    labels: &mut Labels<'_>,
) -> Result<(), Outcome> {
    let (mut template, mut label) = (template, FlowLabel::default());
    if template.varies() {
        label = labels.of(&packet.parsed);
        template = template.of_flow(label.0);
    }
    let id = match template.outer() {
        Family::V4 => sender.identifiers.take(),
        Family::V6 => 0,
    };
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
