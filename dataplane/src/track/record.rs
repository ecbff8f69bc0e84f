//! The stage that writes entries, once selection has decided (T-1, T-3).

use arrayvec::ArrayVec;
use tables::counters::Event;
use tables::{Family, Tables, Tick, WorkerCounters};

use super::ConnectionTable;
use super::InsertLimit;
use super::insert::{Entered, New, Written, published};
use super::region::{KeyWords, Region};
use super::value::{Value, View};
use crate::batch::{BURST, Batch, Entry, Packet, Tracking, Why};

/// How many keys ahead all entries of full buckets are asked for.
const LOOK_AHEAD: usize = 2;

/// Enters the packets that have a backend and wish to be remembered, and counts what became of
/// their entries.
#[inline(never)]
pub(super) fn record<F>(
    batch: &mut Batch<F>,
    tables: &Tables,
    table: &ConnectionTable,
    now: Tick,
    limit: &mut InsertLimit,
    counters: &WorkerCounters,
) {
    let view = View { tables, now };
    let (mut v4, mut v6) = (Wishes::default(), Wishes::default());
    let (spent, mut denied) = (!limit.is_left(now), 0);
    for (index, packet) in (0..).zip(&batch.0) {
        let remembers = matches!(packet.tracking, Tracking::Remember(_) | Tracking::Migrate { .. });
        if !remembers || packet.outcome.is_some() {
            continue;
        }
        // The limit concerns keys without an entry: most of a flood ends here.
        if spent && is_new(packet, table) {
            denied += 1;
        } else {
            let _ = wish(packet, index, tables, &mut v4, &mut v6);
        }
    }
    counters.add(Event::EntryDenied, denied);
    if !v4.new.is_empty() {
        v4.write(&table.v4, batch, view, limit, counters);
    }
    if !v6.new.is_empty() {
        v6.write(&table.v6, batch, view, limit, counters);
    }
}

/// Whether the packet's key surely has no entry.
#[inline]
fn is_new<F>(packet: &Packet<F>, table: &ConnectionTable) -> bool {
    let Tracking::Remember(hash) = packet.tracking else { return false };
    match packet.parsed.flow.family() {
        Family::V4 => table.v4.lacks(hash),
        Family::V6 => table.v6.lacks(hash),
    }
}

/// Notes what the packet's entry is to say; `None` where these Tables lack what it takes.
#[inline]
fn wish<F>(
    packet: &Packet<F>,
    index: u8,
    tables: &Tables,
    v4: &mut Wishes<2>,
    v6: &mut Wishes<5>,
) -> Option<()> {
    let plan = tables.service(packet.service)?.plan.class(packet.parsed.class);
    let (hash, value, confirmed) = match packet.tracking {
        Tracking::Remember(hash) => {
            (hash, Value::stamped(packet.slot?, plan.lifetime, tables)?, false)
        }
        Tracking::Migrate { hash, value, confirmed } => (hash, value, confirmed),
        Tracking::No | Tracking::Found | Tracking::SelectOnly => return None,
    };
    // What is migrated is never a new connection: those are not looked up.
    let supersede = packet.parsed.syn && plan.syn_is_new;
    let (flow, fields, service) = (&packet.parsed.flow, plan.track?, packet.service);
    match flow.family() {
        Family::V4 => {
            let key = flow.v4_key_words(fields, service);
            v4.add(New { key, hash, value, confirmed, supersede }, index);
        }
        Family::V6 => {
            let key = flow.v6_key_words(fields, service);
            v6.add(New { key, hash, value, confirmed, supersede }, index);
        }
    }
    Some(())
}

/// A burst's entries of one family, and where in the batch each one's packet is.
struct Wishes<const W: usize> {
    new: ArrayVec<New<W>, BURST>,
    packets: ArrayVec<u8, BURST>,
}

impl<const W: usize> Default for Wishes<W> {
    fn default() -> Self {
        Self { new: ArrayVec::new(), packets: ArrayVec::new() }
    }
}

impl<const W: usize> Wishes<W>
where
    [u64; W]: KeyWords,
{
    #[inline]
    fn add(&mut self, new: New<W>, packet: u8) {
        // A batch holds no more packets than there is room for.
        let _ = (self.new.try_push(new), self.packets.try_push(packet));
    }

    /// Writes all, then settles all, so that a burst needs one fence.
    #[inline(never)]
    fn write<F>(
        &self,
        region: &Region<W>,
        batch: &mut Batch<F>,
        view: View<'_>,
        limit: &mut InsertLimit,
        counters: &WorkerCounters,
    ) {
        // A flood beyond the limit needs no lane.
        if limit.is_left(view.now) {
            self.new.iter().for_each(|new| region.prefetch_insert(new.hash));
        }
        let mut entered = ArrayVec::<Entered, BURST>::new();
        let mut pressed = false;
        for (index, new) in self.new.iter().enumerate() {
            // Where one key's buckets were full, those of the next ones will be.
            if pressed && let Some(next) = self.new.get(index + LOOK_AHEAD) {
                region.prefetch_victims(next.hash);
            }
            let one = region.enter(new, view, || limit.take(view.now));
            pressed = one.was_pressed() && limit.is_left(view.now);
            let _ = entered.try_push(one);
        }
        published();
        for ((new, entered), packet) in self.new.iter().zip(&entered).zip(&self.packets) {
            let written = region.settle(new, entered);
            if let Some(packet) = batch.0.get_mut(usize::from(*packet)) {
                conclude(packet, written, counters);
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
        Written::Kept(slot) => {
            // Another packet of this connection was entered since the look-up: one connection,
            // one backend.
            packet.slot = Some(slot);
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
