//! A service's eligible set → the pools that its clients choose from.

use std::sync::Arc;

use tables::maglev::{MaglevCache, Member as Candidate};
use tables::{HashSeed, Pool};

use super::unbuildable::Unbuildable;
use super::zones::Zones;
use crate::model::ZonalAffinity;
use crate::policy::zonal;
use crate::state::{Backend, Service};

/// Builds one service's pools; equal ones share their Maglev table.
pub(super) struct PoolBuilder<'a> {
    pub cache: &'a mut MaglevCache,
    pub seed: &'a HashSeed,
    pub zones: &'a Zones,
}

impl PoolBuilder<'_> {
    /// The pool before the zonal step.
    pub(super) fn whole(&mut self, service: &Service) -> Result<Arc<Pool>, Unbuildable> {
        self.pool(service, &service.eligible().members)
    }

    /// The pools after it, by client zone; empty where it never applies.
    pub(super) fn zonal(&mut self, service: &Service) -> Result<Box<[Arc<Pool>]>, Unbuildable> {
        let affinity = service.config.zonal_affinity;
        if affinity == ZonalAffinity::Disabled {
            return Ok(Box::default());
        }
        let members = service.members(|name| self.zones.id(name));
        let of_zone = |zone| zonal::step(affinity, Some(zone), &members, service.eligible());
        let sets: Vec<_> = self.zones.ids().map(of_zone).collect();
        sets.iter().map(|set| self.pool(service, set)).collect()
    }

    fn pool(&mut self, service: &Service, set: &[usize]) -> Result<Arc<Pool>, Unbuildable> {
        let current = service.current();
        let mut chosen: Vec<&Backend> = set.iter().map(|index| current[*index]).collect();
        // Maglev numbers its members in the order of their names (S-5).
        chosen.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        let candidates: Vec<_> =
            chosen.iter().map(|b| candidate(b, service.config.weighted)).collect();
        let size = service.config.maglev_table_size;
        let maglev = self.cache.get(&candidates, size, self.seed).map_err(|error| {
            Unbuildable::Maglev { service: Arc::clone(&service.config.name), error }
        })?;
        Ok(Arc::new(Pool { maglev, members: chosen.iter().map(|b| b.slot).collect() }))
    }
}

fn candidate(backend: &Backend, weighted: bool) -> Candidate<'_> {
    let weight = if weighted { u32::from(backend.weight()) } else { 1 };
    Candidate { name: &backend.path, weight }
}
