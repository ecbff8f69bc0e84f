//! The end of a probe's time.

use std::future::Future;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use crate::health::report::{Reason, Step};

/// When a probe has to be over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadline {
    at: Instant,
    after: Duration,
}

impl Deadline {
    pub(super) fn after(timeout: Duration) -> Self {
        Self { at: Instant::now() + timeout, after: timeout }
    }

    /// What a step comes to, or that the time was up in it.
    pub(super) async fn within<T>(
        self,
        step: Step,
        work: impl Future<Output = T>,
    ) -> Result<T, Reason> {
        timeout_at(self.at, work).await.map_err(|_| Reason::Timeout { after: self.after, step })
    }
}
