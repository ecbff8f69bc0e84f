//! The stage that asks the table: is this packet part of a known connection (1.1)?

use arrayvec::ArrayVec;
use tables::counters::Event;
use tables::{
    ClassPlan, EarlierKeys, Family, FieldSet, PacketClass, Service, Tables, Tick, WorkerCounters,
};

use super::ConnectionTable;
use super::quoted;
use super::region::{About, Found, Probe, Region, Touch};
use super::value::View;
use crate::batch::{BURST, Batch, Entry, Packet, Tracking, Why};

/// Decides the packets that have a live entry, and tells the others what to do after selection.
/// All of a burst's cache misses are on their way at once (D-3).
#[inline(never)]
pub(super) fn look_up<F>(
    batch: &mut Batch<F>,
    tables: &Tables,
    table: &ConnectionTable,
    now: Tick,
    counters: &WorkerCounters,
) {
    let view = View { tables, now };
    let mut burst = Burst::default();
    let mut hits = 0;
    for (index, packet) in (0..).zip(&mut batch.0) {
        match packet.outcome {
            None if packet.parsed.quotes() => {
                hits += u64::from(quoted::follow(packet, table, view));
            }
            None => burst.aim(packet, index, table, view),
            Some(_) => {}
        }
    }
    burst.find(table, view);
    let told = burst.tell(batch);
    hits += told.hits;
    if told.misses > 0 {
        hits += look_up_before(batch, table, view);
    }
    counters.add(Event::EntryHit, hits);
    counters.add(Event::EntryContended, told.contended);
}

/// A burst's probes, by family.
#[derive(Default)]
struct Burst {
    v4: ArrayVec<Probe<2>, BURST>,
    v6: ArrayVec<Probe<5>, BURST>,
}

impl Burst {
    /// Decides how a packet is tracked, and probes its key unless it is a new connection.
    #[inline]
    fn aim<F>(
        &mut self,
        packet: &mut Packet<F>,
        index: u8,
        table: &ConnectionTable,
        view: View<'_>,
    ) {
        let Some((service, plan)) = planned(packet, view.tables) else { return };
        let Some(fields) = plan.track else { return };
        if packet.parsed.syn && plan.syn_is_new {
            packet.tracking = Tracking::Remember(table.hash_ahead(packet, fields));
        } else {
            let touch = touch(packet.parsed.class, packet.parsed.syn);
            let about = About { idle_ticks: service.idle_limit(view.now), touch, packet: index };
            self.probe(packet, fields, about, table);
        }
    }

    #[inline(always)]
    fn probe<F>(
        &mut self,
        packet: &Packet<F>,
        fields: FieldSet,
        about: About,
        table: &ConnectionTable,
    ) {
        let (flow, service) = (&packet.parsed.flow, packet.service);
        // A batch holds no more packets than there is room for probes.
        let _ = match flow.family() {
            Family::V4 => {
                let probe = table.v4.probe(flow.v4_key_words(fields, service), about);
                self.v4.try_push(probe).is_ok()
            }
            Family::V6 => {
                let probe = table.v6.probe(flow.v6_key_words(fields, service), about);
                self.v6.try_push(probe).is_ok()
            }
        };
    }

    fn find(&mut self, table: &ConnectionTable, view: View<'_>) {
        table.v4.find(&mut self.v4, view);
        table.v6.find(&mut self.v6, view);
    }

    /// Leaves the answers in the packets, and counts them.
    fn tell<F>(&self, batch: &mut Batch<F>) -> Told {
        let mut told = Told::default();
        self.v4.iter().for_each(|probe| told.tell(probe, batch));
        self.v6.iter().for_each(|probe| told.tell(probe, batch));
        told
    }

    fn hits(&self) -> u64 {
        let v4 = self.v4.iter().map(|p| p.found);
        v4.chain(self.v6.iter().map(|p| p.found))
            .map(|f| u64::from(matches!(f, Found::Hit(..))))
            .sum()
    }
}

/// How many answers of each kind there were.
#[derive(Default)]
struct Told {
    hits: u64,
    misses: u64,
    contended: u64,
}

impl Told {
    #[inline]
    fn tell<const W: usize, F>(&mut self, probe: &Probe<W>, batch: &mut Batch<F>) {
        let Some(packet) = batch.0.get_mut(usize::from(probe.about.packet)) else { return };
        match probe.found {
            Found::Hit(value, _) => {
                packet.slot = Some(value.slot());
                packet.why = Why::Tracked;
                packet.entry = Entry::Hit;
                packet.tracking = Tracking::Found;
                self.hits += 1;
            }
            Found::Contended => {
                packet.tracking = Tracking::SelectOnly;
                self.contended += 1;
            }
            Found::Miss => {
                packet.tracking = Tracking::Remember(probe.hash);
                self.misses += 1;
            }
        }
    }
}

fn planned<'t, F>(packet: &Packet<F>, tables: &'t Tables) -> Option<(&'t Service, &'t ClassPlan)> {
    let service = tables.service(packet.service)?;
    Some((service, service.plan.class(packet.parsed.class)))
}

/// TCP is confirmed by a packet without SYN, the others by a second packet (D-4).
fn touch(class: PacketClass, syn: bool) -> Touch {
    if class == PacketClass::Tcp && syn { Touch::Seen } else { Touch::Confirm }
}

/// Looks misses up once more under the keys that their class had before, the latest first:
/// rare, so the burst only pays for it while a change is fresh. Says how many were found.
#[cold]
#[inline(never)]
fn look_up_before<F>(batch: &mut Batch<F>, table: &ConnectionTable, view: View<'_>) -> u64 {
    (0..EarlierKeys::MOST).map(|nth| look_up_nth_before(nth, batch, table, view)).sum()
}

fn look_up_nth_before<F>(
    nth: usize,
    batch: &mut Batch<F>,
    table: &ConnectionTable,
    view: View<'_>,
) -> u64 {
    let mut burst = Burst::default();
    for (index, packet) in (0..).zip(&batch.0) {
        let Some((service, plan)) = planned(packet, view.tables) else { continue };
        if let Some(fields) = plan.track_before.at(view.now).nth(nth)
            && still_missed(packet, plan)
        {
            let idle_ticks = service.idle_limit(view.now);
            let about = About { idle_ticks, touch: Touch::Not, packet: index };
            burst.probe(packet, fields, about, table);
        }
    }
    burst.find(table, view);
    migrate(&burst.v4, batch);
    migrate(&burst.v6, batch);
    burst.hits()
}

fn still_missed<F>(packet: &Packet<F>, plan: &ClassPlan) -> bool {
    let starts_anew = packet.parsed.syn && plan.syn_is_new;
    packet.outcome.is_none() && matches!(packet.tracking, Tracking::Remember(..)) && !starts_anew
}

fn migrate<const W: usize, F>(probes: &[Probe<W>], batch: &mut Batch<F>) {
    for probe in probes {
        let Some(packet) = batch.0.get_mut(usize::from(probe.about.packet)) else { continue };
        let (Found::Hit(value, confirmed), Tracking::Remember(hash)) =
            (probe.found, packet.tracking)
        else {
            continue;
        };
        packet.slot = Some(value.slot());
        packet.why = Why::Tracked;
        packet.entry = Entry::Hit;
        packet.tracking = Tracking::Migrate { hash, value, confirmed };
    }
}

impl ConnectionTable {
    /// The hash of a key that will be written without a look-up; asks for the lines of its tags.
    #[inline]
    fn hash_ahead<F>(&self, packet: &Packet<F>, fields: FieldSet) -> u64 {
        let (flow, service) = (&packet.parsed.flow, packet.service);
        match flow.family() {
            Family::V4 => hash_ahead(&self.v4, &flow.v4_key_words(fields, service)),
            Family::V6 => hash_ahead(&self.v6, &flow.v6_key_words(fields, service)),
        }
    }
}

#[inline]
fn hash_ahead<const W: usize>(region: &Region<W>, key: &[u64; W]) -> u64 {
    let hash = region.hash(key);
    region.prefetch_tags(hash);
    hash
}
