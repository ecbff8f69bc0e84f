//! New backends serve from their first result on, or when that has been waited for long enough
//! at the start, and at a reload.

use std::time::Duration;

use control::admin::request::File;
use control::state::State;

/// What has waited long enough.
pub(crate) enum Due {
    /// The appliance serves.
    Start,
    /// A file comes into force.
    File(Box<File>),
}

/// What waits for first results.
#[derive(Default)]
pub(crate) enum FirstResults {
    /// Nothing.
    #[default]
    Here,
    /// The appliance, which has just started.
    Start {
        /// Until when.
        until: Duration,
    },
    /// A file that is valid, and not in force yet.
    Reload {
        /// The file.
        file: Box<File>,
        /// Until when.
        until: Duration,
    },
}

impl FirstResults {
    /// At the start clients wait: long enough for a first packet that is lost to a neighbour not
    /// yet found and comes again after a second.
    const START: Duration = Duration::from_millis(1300);
    /// At a reload the old configuration serves meanwhile.
    const RELOAD: Duration = Duration::from_secs(5);

    /// The appliance starts.
    pub(crate) fn of_start(state: &State, now: Duration) -> Self {
        if state.is_awaiting() { Self::Start { until: now + Self::START } } else { Self::Here }
    }

    /// A valid file has come. The newest one counts.
    pub(crate) fn of_reload(file: File, now: Duration) -> Self {
        Self::Reload { file: Box::new(file), until: now + Self::RELOAD }
    }

    /// What has waited long enough, if it has.
    pub(crate) fn take(&mut self, state: &State, now: Duration) -> Option<Due> {
        if self.until()? > now && state.is_awaiting() {
            return None;
        }
        self.end()
    }

    /// What waits: it waits no longer.
    pub(crate) fn end(&mut self) -> Option<Due> {
        match std::mem::take(self) {
            Self::Here => None,
            Self::Start { .. } => Some(Due::Start),
            Self::Reload { file, .. } => Some(Due::File(file)),
        }
    }

    /// Until when it is waited, if it is.
    pub(crate) fn until(&self) -> Option<Duration> {
        match self {
            Self::Here => None,
            Self::Start { until } | Self::Reload { until, .. } => Some(*until),
        }
    }
}
