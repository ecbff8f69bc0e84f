//! What changes the state, and the Tables that follow (D-5, R-2).

use std::path::Path;
use std::sync::Arc;

use control::admin::request::{File, Stage};
use control::model::Config;
use control::reload::Kept;
use control::state::Change;
use tables::Tables;

use super::Appliance;
use crate::first_results::Due;
use crate::logging::Log;

impl Appliance {
    /// Carries out what the control socket has brought.
    pub(super) fn answer(&mut self, file: &Path, log: &Log) {
        let mut answered = self.admin.answer(&mut self.publication.controller, self.shared.now());
        if let Some(tables) = answered.tables.take() {
            self.publish(tables);
            self.ask();
        }
        for stage in answered.reloads.drain(..) {
            match stage {
                Stage::Begins => self.manager.reloading(),
                Stage::Ends(reloaded) => {
                    log.reloaded(&reloaded, file);
                    self.manager.reloaded(reloaded.error.as_ref().map(|why| why as _));
                }
            }
        }
        for new in answered.files.drain(..) {
            self.take_file(new);
        }
        answered.tell();
    }

    /// Lets a valid file wait until what is new in it has been checked; the newest one takes
    /// the place of one that waits.
    fn take_file(&mut self, mut new: File) {
        // Goes when all is said, so that whoever asks for the next finds it.
        let _looking = new.look();
        let now = self.shared.now();
        let prepared = self.prepare(&new.config);
        let state = Arc::clone(self.publication.state());
        match prepared {
            Err(kept) => new.end(state, Err(kept)),
            Ok(()) => {
                if let Some(older) = self.first_results.wait_for(new, now) {
                    older.end(state, Err(Kept::Superseded));
                }
            }
        }
    }

    /// Has what is new in a valid file checked, if anything is; at the start that comes later.
    fn prepare(&mut self, config: &Config) -> Result<(), Kept> {
        let announcement = self.publication.controller.announcement(config, self.shared.now())?;
        match announcement.filter(|_| !self.first_results.is_start()) {
            Some(change) => self.change(&[change]).map(drop),
            None => Ok(()),
        }
    }

    /// What the ways to backends have waited for, if it is time.
    pub(super) fn begin_checks(&mut self) {
        let (routes, state) = (&self.routes, self.publication.state());
        if self.opening.is_due(|| routes.know_ways(state), self.shared.now()) {
            self.ask();
        }
    }

    /// Brings into force what has waited long enough.
    pub(super) fn serve_first_results(&mut self) {
        let awaiting = self.publication.state().is_awaiting();
        match self.first_results.take(awaiting, self.shared.now()) {
            None => {}
            Some(Due::Start(next)) => {
                let released = self.change(&[Change::Release]);
                released.map(drop).unwrap_or_else(say);
                if let Some(file) = next {
                    self.take_file(file);
                }
            }
            Some(Due::File(new)) => {
                let before = Arc::clone(self.publication.state());
                let done = self.apply(&[Change::Reload(Arc::new(new.config.clone()))]);
                // Before backends are asked: probes leave from these addresses.
                self.hosts.set_addresses(self.publication.state().config());
                self.ask();
                new.end(before, done);
            }
        }
    }

    /// New Tables with the next hops that there are now, if they are others.
    pub(super) fn reroute(&mut self) {
        self.checks.renew_ways();
        match self.publication.controller.reroute(self.shared.now()) {
            Ok(None) => {}
            Ok(Some(tables)) => {
                self.publish(tables);
            }
            Err(kept) => say(kept),
        }
    }

    /// What checks have found out.
    pub(super) fn hear(&mut self) {
        let changes = self.checks.take();
        if !changes.is_empty() {
            self.apply(&changes).map(drop).unwrap_or_else(say);
        }
    }

    /// What time brings: deadlines of drains.
    pub(super) fn let_time_pass(&mut self) {
        match self.publication.controller.advance(self.shared.now()) {
            Ok(Some(tables)) => {
                self.publish(tables);
            }
            Ok(None) => self.publication.publish_waiting(),
            Err(kept) => say(kept),
        }
    }

    /// Applies changes as one, publishes what follows, and asks what is to be asked then.
    fn change(&mut self, changes: &[Change]) -> Result<u64, Kept> {
        let generation = self.apply(changes)?;
        self.ask();
        Ok(generation)
    }

    /// The same for changes after which nobody else is to be asked.
    fn apply(&mut self, changes: &[Change]) -> Result<u64, Kept> {
        let tables = self.publication.controller.apply(changes, self.shared.now())?;
        Ok(self.publish(tables))
    }

    /// Publishes Tables, and follows what they need.
    fn publish(&mut self, tables: Tables) -> u64 {
        let generation = tables.generation;
        self.routes.want(self.publication.state());
        self.publication.publish(Arc::new(tables));
        self.show();
        generation
    }

    /// Asks what this state wants to know of the backends.
    fn ask(&mut self) {
        self.checks.watch(self.publication.state());
    }
}

fn say(kept: Kept) {
    tracing::error!(reason = %kept, "the old Tables go on");
}
