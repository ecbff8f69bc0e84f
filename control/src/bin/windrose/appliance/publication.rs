//! What is decided, and the Tables that bring it to the workers (D-5).

use std::sync::Arc;
use std::time::Duration;

use control::model::Config;
use control::plan::wiring::Wiring;
use control::reload::{Controller, Kept};
use control::state::{Clock, State};
use tables::publish::Publisher;
use tables::{Tables, Tick};

use crate::admin;

/// The state, its newest Tables, and those that the workers have.
pub(super) struct Publication {
    pub(super) controller: Controller,
    pub(super) publisher: Publisher<Tables>,
    /// The Tables that say what the state is, published or not.
    newest: Arc<Tables>,
    /// Tables that the publisher could not take yet: the newest ones only.
    waiting: Option<Arc<Tables>>,
}

impl Publication {
    /// So many old Tables may wait for their last reader.
    const RETIRED: usize = 16;

    /// The first Tables, under the operator's orders of before the restart: nobody serves before
    /// first results.
    pub(super) fn first(config: &Arc<Config>, wiring: Wiring) -> Result<Self, Kept> {
        let clock = Clock { tick_length: Tick::LENGTH };
        let begun = Controller::awaiting(Arc::clone(config), wiring, clock, Duration::ZERO);
        let (mut controller, tables) = begun?;
        let newest = Arc::new(admin::restore_orders(&mut controller).unwrap_or(Ok(tables))?);
        tracing::info!(from = 0, generation = newest.generation, "tables published");
        let publisher = Publisher::new(Arc::clone(&newest), Self::RETIRED);
        Ok(Self { controller, publisher, newest, waiting: None })
    }

    /// What is known.
    pub(super) fn state(&self) -> &Arc<State> {
        self.controller.state()
    }

    /// The Tables that say so.
    pub(super) fn newest(&self) -> &Arc<Tables> {
        &self.newest
    }

    /// Newer Tables replace those that still wait: changes merge (D-5).
    pub(super) fn publish(&mut self, tables: Arc<Tables>) {
        self.newest = Arc::clone(&tables);
        self.waiting = Some(tables);
        self.publish_waiting();
    }

    /// Tries again what had to wait.
    pub(super) fn publish_waiting(&mut self) {
        if let Some(tables) = self.waiting.take() {
            let (from, generation) = (self.publisher.current().generation, tables.generation);
            match self.publisher.try_publish(tables) {
                Ok(()) => tracing::info!(from, generation, "tables published"),
                Err(refused) => self.waiting = Some(refused.value),
            }
        }
    }

    /// Whether Tables wait for a worker that has not let go of old ones.
    pub(super) fn is_waiting(&self) -> bool {
        self.waiting.is_some()
    }

    /// The workers that still use old Tables.
    pub(super) fn lagging(&self) -> Vec<Arc<str>> {
        self.publisher.held_back().map(|held| held.readers).unwrap_or_default()
    }
}
