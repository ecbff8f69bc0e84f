//! Errors about a connection: whose entry they follow (S-7).

use tables::{ClassPlan, FieldSet, Key, PacketClass, Service, Tick};

use super::ConnectionTable;
use super::value::View;
use crate::batch::{Entry, Packet, Why};

/// Gives an error its connection's backend, if that has an entry: the one that a whole packet of
/// the connection would have, else the one that a fragment would have. It is only looked at:
/// nothing is made, replaced or refreshed. False: it has none, and selection decides by its flow.
#[cold]
#[inline(never)]
pub(super) fn follow<F>(packet: &mut Packet<F>, table: &ConnectionTable, view: View<'_>) -> bool {
    let Some(service) = view.tables.service(packet.service) else { return false };
    let found =
        keys(packet, service, view.now).find_map(|key| table.peek(&key, view.tables, view.now));
    if let Some(value) = found {
        packet.slot = Some(value.slot());
        packet.why = Why::Quoted;
        packet.entry = Entry::Hit;
    }
    found.is_some()
}

/// The keys under which the connection may have been entered, the likeliest first.
fn keys<'t, F>(
    packet: &'t Packet<F>,
    service: &'t Service,
    now: Tick,
) -> impl Iterator<Item = Key> + 't {
    let parsed = &packet.parsed;
    let as_fragment = (parsed.class == PacketClass::Udp).then_some(PacketClass::UdpFragment);
    let plans = [Some(parsed.class), as_fragment].into_iter().flatten();
    let fields = plans.flat_map(move |class| tracked(service.plan.class(class), now));
    let no_ports = parsed.flow.sport() | parsed.flow.dport() == 0;
    // A quoted later fragment has no ports: no entry has them as zero but by chance.
    let fits = move |set: &FieldSet| !(no_ports && parsed.class.has_ports() && has_ports(*set));
    fields.filter(fits).map(|set| parsed.flow.key(set, packet.service))
}

/// The tracking key of a class, and the earlier ones while they count.
fn tracked(plan: &ClassPlan, now: Tick) -> impl Iterator<Item = FieldSet> + use<> {
    plan.track.into_iter().chain(plan.track_before.at(now))
}

fn has_ports(set: FieldSet) -> bool {
    set.contains(FieldSet::SPORT)
}
