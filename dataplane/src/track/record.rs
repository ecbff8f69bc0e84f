//! The stage that writes entries, once selection has decided (T-1, T-3).

use arrayvec::ArrayVec;
use tables::counters::Event;
use tables::{Family, FieldSet, Tables, Tick, WorkerCounters};

use super::ConnectionTable;
use super::InsertLimit;
use super::insert::{Entered, New, Written, published};
use super::region::{KeyWords, Region};
use super::value::{Value, View};
use crate::batch::{BURST, Batch, Entry, Packet, Tracking, Why};

/// Enters the packets that have a backend and wish to be remembered, and counts what became of
/// their entries.
pub(super) fn record<F>(
    batch: &mut Batch<F>,
    tables: &Tables,
    table: &ConnectionTable,
    now: Tick,
    limit: &mut InsertLimit,
    counters: &WorkerCounters,
) {
    let (mut v4, mut v6) = (Wishes::default(), Wishes::default());
    for (index, packet) in (0..).zip(&batch.0) {
        if let Some((fields, what)) = wish(packet, tables) {
            let (flow, service) = (&packet.parsed.flow, packet.service);
            match flow.family() {
                Family::V4 => v4.add(flow.v4_key_words(fields, service), &what, index),
                Family::V6 => v6.add(flow.v6_key_words(fields, service), &what, index),
            }
        }
    }
    let view = View { tables, now };
    v4.write(&table.v4, view, limit);
    v6.write(&table.v6, view, limit);
    v4.tell(batch, counters);
    v6.tell(batch, counters);
}

/// What a packet's entry is to say.
struct Wish {
    hash: u64,
    value: Value,
    confirmed: bool,
    supersede: bool,
}

/// The fields of the packet's key, and what to enter under it.
#[inline]
fn wish<F>(packet: &Packet<F>, tables: &Tables) -> Option<(FieldSet, Wish)> {
    match packet.tracking {
        Tracking::No | Tracking::Found | Tracking::SelectOnly => None,
        _ if packet.outcome.is_some() => None,
        Tracking::Remember(hash) => {
            let plan = tables.service(packet.service)?.plan.class(packet.parsed.class);
            let value = Value::stamped(packet.slot?, plan.lifetime, tables)?;
            let supersede = packet.parsed.syn && plan.syn_is_new;
            Some((plan.track?, Wish { hash, value, confirmed: false, supersede }))
        }
        Tracking::Migrate { hash, value, confirmed } => {
            let plan = tables.service(packet.service)?.plan.class(packet.parsed.class);
            Some((plan.track?, Wish { hash, value, confirmed, supersede: false }))
        }
    }
}

/// A burst's entries of one family: where in the batch each one's packet is, and what has become
/// of it.
struct Wishes<const W: usize>(ArrayVec<(New<W>, u8, Written), BURST>);

impl<const W: usize> Default for Wishes<W> {
    fn default() -> Self {
        Self(ArrayVec::new())
    }
}

impl<const W: usize> Wishes<W>
where
    [u64; W]: KeyWords,
{
    fn add(&mut self, key: [u64; W], wish: &Wish, packet: u8) {
        let Wish { hash, value, confirmed, supersede } = *wish;
        let new = New { key, hash, value, confirmed, supersede };
        // A batch holds no more packets than there is room for.
        let _ = self.0.try_push((new, packet, Written::Denied));
    }

    /// Writes all, then settles all: so a burst needs one fence.
    fn write(&mut self, region: &Region<W>, view: View<'_>, limit: &mut InsertLimit) {
        if self.0.is_empty() {
            return;
        }
        // A flood beyond the limit needs no lane.
        if limit.is_left(view.now) {
            self.0.iter().for_each(|(new, ..)| region.prefetch_insert(new.hash));
        }
        let mut entered = ArrayVec::<Entered, BURST>::new();
        for (new, ..) in &self.0 {
            let _ = entered.try_push(region.enter(new, view, || limit.take(view.now)));
        }
        published();
        for ((new, _, written), entered) in self.0.iter_mut().zip(entered) {
            *written = region.settle(new, entered);
        }
    }

    fn tell<F>(&self, batch: &mut Batch<F>, counters: &WorkerCounters) {
        for (_, packet, written) in &self.0 {
            if let Some(packet) = batch.0.get_mut(usize::from(*packet)) {
                conclude(packet, *written, counters);
            }
        }
    }
}

fn conclude<F>(packet: &mut Packet<F>, written: Written, counters: &WorkerCounters) {
    let (entry, event) = match written {
        Written::Created => (Entry::Created, Event::EntryCreated),
        Written::Evicted => {
            counters.add(Event::EntryEvicted, 1);
            (Entry::Created, Event::EntryCreated)
        }
        Written::Replaced => (Entry::Replaced, Event::EntryReplaced),
        Written::Kept(value) => {
            // Another packet of this connection was entered since the look-up: one connection,
            // one backend.
            packet.slot = Some(value.slot);
            packet.why = Why::Tracked;
            (Entry::Hit, Event::EntryHit)
        }
        Written::Denied => (packet.entry, Event::EntryDenied),
        Written::Contended => (packet.entry, Event::EntryContended),
    };
    counters.add(event, 1);
    // What was found under an earlier key stays a hit, whatever became of the new one.
    if packet.entry == Entry::None {
        packet.entry = entry;
    }
}
