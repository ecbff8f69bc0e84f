//! What is looked after beside the workers: that they advance and keep up, dead entries, tunnels.

use std::sync::Arc;
use std::time::Duration;

use super::publication::Publication;
use super::shared::Shared;
use crate::beats::Beats;
use crate::lag::Lag;
use crate::rounds::Rounds;
use crate::tunnel_errors::TunnelErrors;

/// All of it.
pub(super) struct Tended {
    lag: Lag,
    pub(super) rounds: Rounds,
    pub(super) beats: Beats,
    tunnels: TunnelErrors,
}

impl Tended {
    /// Nothing looked at yet.
    pub(super) fn new(shared: &Shared) -> Self {
        Self {
            lag: Lag::default(),
            rounds: Rounds::new(Arc::clone(&shared.connections)),
            beats: Beats::default(),
            tunnels: TunnelErrors::new(Arc::clone(&shared.paths)),
        }
    }

    /// Looks after it.
    pub(super) fn look(&mut self, shared: &Shared, publication: &Publication, now: Duration) {
        self.beats.look(shared.counters.steps(), now);
        if let Some(notice) = self.lag.observe(publication.publisher.held_back(), now) {
            notice.log();
        }
        self.rounds.advance(&publication.publisher.current(), now);
        self.tunnels.say(publication.state(), now);
    }
}
