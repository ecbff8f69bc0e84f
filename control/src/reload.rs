//! A change → new Tables, published; or nothing at all (R-1, R-2, D-12).

use std::sync::Arc;
use std::time::Duration;

use tables::Tables;

use crate::config::{self, Diagnostics};
use crate::model::Config;
use crate::news;
use crate::plan::Unbuildable;
use crate::plan::builder::Planner;
use crate::plan::wiring::Wiring;
use crate::state::{Change, Clock, Refused, State};

/// Why a change was not applied; what was in force goes on.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Kept {
    /// The file is not valid.
    #[error("{}", .0.render(false))]
    Invalid(Diagnostics),
    /// It changes what needs a restart.
    #[error("a restart is needed for: {}", .0.join("; "))]
    NeedsRestart(Vec<String>),
    /// A newer file came while it waited for first results.
    #[error("a newer file has taken its place")]
    Superseded,
    /// It names what is not there, or there is too much of it.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// No Tables can be built from it.
    #[error(transparent)]
    Unbuildable(#[from] Unbuildable),
}

/// State, and the Tables that say it. Pure but for the log, which hears of every change here.
#[derive(Debug)]
pub struct Controller {
    state: Arc<State>,
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
        Self::begin(State::new(config, clock, now)?, wiring)
    }

    /// The same, where what is checked serves from its first result on, or from
    /// [`Change::Release`] on: until then nobody is given to it, and new connections are dropped.
    pub fn awaiting(
        config: Arc<Config>,
        wiring: Wiring,
        clock: Clock,
        now: Duration,
    ) -> Result<(Self, Tables), Kept> {
        Self::begin(State::awaiting(config, clock, now)?, wiring)
    }

    /// The first state, said in the log.
    fn begin(state: State, wiring: Wiring) -> Result<(Self, Tables), Kept> {
        let (controller, tables) = Self::resume(state, wiring)?;
        news::log(&news::first(&controller.state), tables.generation);
        Ok((controller, tables))
    }

    /// Goes on from a state.
    ///
    /// # Errors
    /// No Tables can be built from it.
    pub fn resume(state: State, wiring: Wiring) -> Result<(Self, Tables), Kept> {
        let mut planner = Planner::default();
        let tables = planner.tables(&state, &wiring)?;
        Ok((Self { state: Arc::new(state), planner, wiring }, tables))
    }

    /// What has to be applied before a new file's configuration, so that what is new in it is
    /// checked first, if anything is.
    ///
    /// # Errors
    /// It needs a restart, or there is too much of it.
    pub fn announcement(&self, config: &Config, now: Duration) -> Result<Option<Change>, Kept> {
        let restart = config::restart_needed(self.state.config(), config);
        if !restart.is_empty() {
            return Err(Kept::NeedsRestart(restart));
        }
        let announce = Change::Announce(Arc::new(config.clone()));
        let next = self.state.after(std::slice::from_ref(&announce), now)?;
        Ok((next.is_awaiting() || self.state.is_awaiting()).then_some(announce))
    }

    /// Takes a new file's configuration, if nothing in it needs a restart.
    pub fn reload(&mut self, config: &Config, now: Duration) -> Result<Tables, Kept> {
        let restart = config::restart_needed(self.state.config(), config);
        if !restart.is_empty() {
            return Err(Kept::NeedsRestart(restart));
        }
        self.apply(&[Change::Reload(Arc::new(config.clone()))], now)
    }

    /// Applies changes as one; the state moves on only if there are Tables for it.
    pub fn apply(&mut self, changes: &[Change], now: Duration) -> Result<Tables, Kept> {
        let next = self.state.after(changes, now)?;
        let tables = self.planner.tables(&next, &self.wiring)?;
        news::log(&news::between(&self.state, &next), tables.generation);
        self.state = Arc::new(next);
        Ok(tables)
    }

    /// Takes what is known of the ways to backends now; Tables if they are others than those that
    /// the last Tables were made of.
    pub fn reroute(&mut self, now: Duration) -> Result<Option<Tables>, Kept> {
        match self.planner.is_routed(&self.state, &self.wiring) {
            true => Ok(None),
            false => self.apply(&[], now).map(Some),
        }
    }

    /// Lets time pass; Tables if a drain's deadline has come.
    pub fn advance(&mut self, now: Duration) -> Result<Option<Tables>, Kept> {
        match self.state.next_deadline() {
            Some(deadline) if deadline <= now => self.apply(&[], now).map(Some),
            _ => Ok(None),
        }
    }

    /// What is known.
    pub fn state(&self) -> &Arc<State> {
        &self.state
    }
}
