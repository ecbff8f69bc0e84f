//! Selection: what no entry decides, the Maglev table of the eligible set does (S-1, S-2).

use std::sync::Arc;

use tables::{Outcome, Pool, Service, Tables};

use crate::batch::{Batch, Packet, Why};

/// Gives every packet without a backend one, or ends it as `no_eligible_backend`.
#[inline(never)]
pub fn stage<F>(batch: &mut Batch<F>, tables: &Tables) {
    for packet in batch.live().filter(|p| p.slot.is_none()) {
        select(packet, tables);
    }
}

fn select<F>(packet: &mut Packet<F>, tables: &Tables) {
    let Some(service) = tables.service(packet.service) else {
        return packet.end(Outcome::NoEligibleBackend);
    };
    let fields = service.plan.class(packet.parsed.class).select;
    let hash = packet.parsed.flow.selection_hash(fields, &tables.seed);
    match pool_for(packet, service, tables).select(hash) {
        Some(slot) => {
            packet.slot = Some(slot);
            packet.why = if packet.parsed.quotes() { Why::Quoted } else { Why::Selected };
        }
        None => packet.end(Outcome::NoEligibleBackend),
    }
}

/// The zonal step (section 4): what it does was decided per zone when the Tables were built.
fn pool_for<'t, F>(packet: &Packet<F>, service: &'t Service, tables: &Tables) -> &'t Arc<Pool> {
    if service.zonal.is_empty() {
        return &service.pool;
    }
    let zone = tables.client_zones.longest(packet.parsed.flow.src());
    zone.and_then(|z| service.zonal.get(usize::from(z.0))).unwrap_or(&service.pool)
}
