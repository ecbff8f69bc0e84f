//! A change → new Tables, published; or nothing at all (R-1, R-2, D-12).

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tables::Tables;

use crate::config::{self, Diagnostics, Loaded};
use crate::model::Config;
use crate::news;
use crate::plan::Unbuildable;
use crate::plan::builder::Planner;
use crate::plan::wiring::Wiring;
use crate::state::{Change, Clock, Refused, State};

/// Why a change was not applied; what was in force goes on.
#[derive(Debug, thiserror::Error)]
pub enum Kept {
    /// The file is not valid.
    #[error("{}", .0.render(false))]
    Invalid(Diagnostics),
    /// It changes what needs a restart.
    #[error("a restart is needed for: {}", .0.join("; "))]
    NeedsRestart(Vec<String>),
    /// It names what is not there, or there is too much of it.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// No Tables can be built from it.
    #[error(transparent)]
    Unbuildable(#[from] Unbuildable),
}

/// State, and the Tables that say it. Pure but for the file that [`Controller::reload`] reads, and
/// for the log, which hears of every change here.
#[derive(Debug)]
pub struct Controller {
    state: State,
    planner: Planner,
    wiring: Wiring,
}

impl Controller {
    /// The first state and its Tables.
    pub fn new(
        config: Arc<Config>,
        wiring: Wiring,
        clock: Clock,
        now: Duration,
    ) -> Result<(Self, Tables), Kept> {
        let state = State::new(config, clock, now)?;
        let mut planner = Planner::default();
        let tables = planner.tables(&state, &wiring)?;
        news::log(&news::first(&state), tables.generation);
        Ok((Self { state, planner, wiring }, tables))
    }

    /// Reads the file again.
    pub fn reload(&mut self, file: &Path, now: Duration) -> Result<(Loaded, Tables), Kept> {
        let loaded = config::load(file).map_err(Kept::Invalid)?;
        let restart = config::restart_needed(self.state.config(), &loaded.config);
        if !restart.is_empty() {
            return Err(Kept::NeedsRestart(restart));
        }
        let change = Change::Reload(Arc::new(loaded.config.clone()));
        let tables = self.apply(&[change], now)?;
        Ok((loaded, tables))
    }

    /// Applies changes as one; the state moves on only if there are Tables for it.
    pub fn apply(&mut self, changes: &[Change], now: Duration) -> Result<Tables, Kept> {
        let next = self.state.after(changes, now)?;
        let tables = self.planner.tables(&next, &self.wiring)?;
        news::log(&news::between(&self.state, &next), tables.generation);
        self.state = next;
        Ok(tables)
    }

    /// Lets time pass; Tables if a drain's deadline has come.
    pub fn advance(&mut self, now: Duration) -> Result<Option<Tables>, Kept> {
        match self.state.next_deadline() {
            Some(deadline) if deadline <= now => self.apply(&[], now).map(Some),
            _ => Ok(None),
        }
    }

    /// What is known.
    pub fn state(&self) -> &State {
        &self.state
    }
}
