//! Client zones, numbered (Z-4).

use std::collections::BTreeSet;
use std::sync::Arc;

use ipnet::IpNet;
use tables::ZoneId;

use crate::model::Config;

/// The zones that clients can be in; a zone without clients makes no difference to anybody.
#[derive(Clone, Debug, Default)]
pub struct Zones(Vec<Arc<str>>);

impl Zones {
    /// The zones of the file's `[[client_zone]]`.
    pub fn of(config: &Config) -> Self {
        let names: BTreeSet<_> = config.client_zones.iter().map(|z| Arc::clone(&z.zone)).collect();
        Self(names.into_iter().collect())
    }

    /// Every zone's number.
    pub fn ids(&self) -> impl Iterator<Item = ZoneId> {
        (0..self.0.len() as u16).map(ZoneId)
    }

    /// A zone's number.
    pub fn id(&self, name: &str) -> Option<ZoneId> {
        let index = self.0.binary_search_by(|known| (**known).cmp(name)).ok()?;
        Some(ZoneId(index as u16))
    }

    /// The source prefixes of each zone.
    pub fn prefixes<'c>(
        &'c self,
        config: &'c Config,
    ) -> impl Iterator<Item = (IpNet, ZoneId)> + 'c {
        config.client_zones.iter().filter_map(|z| Some((z.prefix, self.id(&z.zone)?)))
    }
}
