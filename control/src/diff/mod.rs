//! `windrose diff`: what a reload would change. Nothing is applied.
//!
//! - `settings`, `of_service`: which keys differ;
//! - `backends`: which backends come, go and change;
//! - `moved`: what share of new connections would go to another backend;
//! - `cut`: what share of the established ones would end, when and why;
//! - `traffic`, `points`, `effect`: what rules no longer bring to their service, and why;
//! - `words`: the answer as text.
//!
//! The old file's state is made, every backend healthy, and the new file is applied to it as a
//! reload is; epochs and Maglev tables are then compared. So the figures are those of the code that
//! decides, for the case that every check passes.

mod backends;
mod cut;
mod effect;
mod moved;
mod of_service;
mod points;
mod settings;
mod traffic;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tables::{PacketClass, Tables};

use crate::config::restart_needed;
use crate::model::Config;
use crate::plan::builder::Planner;
use crate::plan::zones::Zones;
use crate::reload::Kept;
use crate::simulate::setting::{self, CLOCK};
use crate::state::{Change, Service, State, Verb};

pub use cut::Cut;
pub use settings::{Setting, Told};
pub use traffic::{Becomes, Traffic};
pub(crate) use words::ports;

/// What a reload would change.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Diff {
    /// Settings that need a restart: with one of them a reload is refused.
    pub restart_needed: Vec<String>,
    /// Settings outside services and rules.
    pub settings: Vec<Setting>,
    /// Rules that come, go or change, by name.
    pub rules: BTreeMap<String, Vec<Setting>>,
    /// Services that come, go or change, by name.
    pub services: BTreeMap<String, ServiceDiff>,
}

/// What a reload would change of one service.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ServiceDiff {
    /// Its settings, and whether it comes or goes.
    pub settings: Vec<Setting>,
    /// Its backends.
    pub backends: Vec<Setting>,
    /// What the rules no longer bring to it. The shares below are of what they still do.
    pub traffic: Vec<Traffic>,
    /// The share of new connections that would go to another backend, above 0 to 1; null: none.
    pub new_connections_moved: Option<f64>,
    /// The same for clients of each zone, where there is zonal affinity.
    pub moved_by_zone: BTreeMap<String, f64>,
    /// Whether the hash itself changes, so that the share is the expected one, not exact by slot.
    pub hash_changes: bool,
    /// Established connections that would end.
    pub established_cut: Vec<Cut>,
}

impl Diff {
    /// Whether the two files say the same.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// As text, for people.
    pub fn words(&self) -> String {
        words::words(self)
    }
}

/// Compares two files.
///
/// # Errors
/// One of them is too large for the Tables.
pub fn diff(old: &Config, new: &Config) -> Result<Diff, Kept> {
    let before = Side::old(old)?;
    let after = before.reloaded(new)?;
    let names: BTreeSet<_> =
        old.services.iter().chain(&new.services).map(|s| Arc::clone(&s.name)).collect();
    let mut lost = traffic::lost(&before, &after);
    let compared = names.iter().map(|name| {
        let traffic = lost.remove(&**name).unwrap_or_default();
        (name.to_string(), ServiceDiff { traffic, ..service(name, &before, &after) })
    });
    Ok(Diff {
        restart_needed: restart_needed(old, new),
        settings: settings::global(old, new),
        rules: settings::rules(old, new),
        services: compared.filter(|(_, s)| *s != ServiceDiff::default()).collect(),
    })
}

/// One file's state, every backend healthy, and its Tables.
struct Side {
    config: Config,
    state: State,
    tables: Tables,
}

impl Side {
    fn old(config: &Config) -> Result<Self, Kept> {
        let completed = Arc::new(setting::completed(config));
        let mut state = State::new(Arc::clone(&completed), CLOCK, Duration::ZERO)?;
        state.apply(&all_healthy(config), Duration::ZERO)?;
        Self::of(config, state)
    }

    fn reloaded(&self, config: &Config) -> Result<Self, Kept> {
        let mut changes = vec![Change::Reload(Arc::new(setting::completed(config)))];
        changes.extend(all_healthy(config));
        Self::of(config, self.state.after(&changes, Duration::ZERO)?)
    }

    fn of(config: &Config, state: State) -> Result<Self, Kept> {
        let wiring = setting::wiring(state.config());
        let tables = Planner::default().tables(&state, &wiring)?;
        Ok(Self { config: config.clone(), state, tables })
    }

    fn service(&self, name: &str) -> Option<(&Service, &tables::Service)> {
        let known = self.state.service(name).filter(|s| s.is_in_file())?;
        Some((known, self.tables.service(known.id)?))
    }
}

fn all_healthy(config: &Config) -> Vec<Change> {
    let services = config.services.iter();
    let backends = services.flat_map(|s| s.groups.iter().map(move |g| (s, g)));
    let named = backends.flat_map(|(s, g)| g.backends.iter().map(move |b| (s, g, b)));
    let healthy = named.map(|(service, group, backend)| Change::Backend {
        service: service.name.to_string(),
        backend: format!("{}/{}", group.name, backend.name),
        verb: Verb::Health(true),
    });
    healthy.collect()
}

fn service(name: &str, before: &Side, after: &Side) -> ServiceDiff {
    let settings = of_service::compare(name, &before.config, &after.config);
    let (Some((old, old_pools)), new) = (before.service(name), after.service(name)) else {
        return ServiceDiff { settings, ..ServiceDiff::default() };
    };
    let mut diff = ServiceDiff {
        settings,
        backends: backends::compare(old, new.map(|(s, _)| s)),
        established_cut: cut::cut(old, old_pools, &before.tables, after),
        ..ServiceDiff::default()
    };
    if let Some((_, new_pools)) = new {
        let tcp = |s: &tables::Service| s.plan.class(PacketClass::Tcp).select;
        diff.hash_changes =
            tcp(old_pools) != tcp(new_pools) || before.tables.seed != after.tables.seed;
        let moved = |old, new| moved::share(old, new, diff.hash_changes);
        diff.new_connections_moved = moved(&old_pools.pool, &new_pools.pool);
        diff.moved_by_zone = zones(before, after)
            .into_iter()
            .filter(|_| !old_pools.zonal.is_empty() || !new_pools.zonal.is_empty())
            .filter_map(|zone| {
                let old = pool(before, old_pools, &zone);
                Some((zone.to_string(), moved(old, pool(after, new_pools, &zone))?))
            })
            .collect();
        diff.settle();
    }
    diff
}

impl ServiceDiff {
    /// Where nothing moves, nothing is said.
    fn settle(&mut self) {
        self.new_connections_moved = self.new_connections_moved.filter(|share| *share > 0.0);
        self.moved_by_zone.retain(|_, share| *share > 0.0);
        self.hash_changes &= self.new_connections_moved.is_some() || !self.moved_by_zone.is_empty();
    }
}

fn zones(before: &Side, after: &Side) -> BTreeSet<Arc<str>> {
    let zones = before.config.client_zones.iter().chain(&after.config.client_zones);
    zones.map(|z| Arc::clone(&z.zone)).collect()
}

/// Whom clients of a zone choose from.
fn pool<'s>(side: &Side, service: &'s tables::Service, zone: &str) -> &'s tables::Pool {
    let id = Zones::of(&side.config).id(zone);
    id.and_then(|id| service.zonal.get(usize::from(id.0))).unwrap_or(&service.pool)
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod traffic_tests;
