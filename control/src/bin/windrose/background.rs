//! The control side's own I/O: one small tokio runtime beside the control thread. Health checks,
//! netlink and the control socket live on it; what they find out reaches the control thread by an
//! inbox and a [`Bell`](crate::events::Bell).

use std::time::Duration;

use tokio::runtime::{Builder, Handle, Runtime};

use crate::failure::Failure;

/// The runtime.
pub(crate) struct Background(Runtime);

impl Background {
    const THREADS: usize = 2;
    /// How long tasks have to end when the appliance stops.
    const PATIENCE: Duration = Duration::from_secs(1);

    /// Starts its threads. To be called before DPDK starts: the EAL pins its caller, and what
    /// the caller spawns afterwards.
    pub(crate) fn start() -> Result<Self, Failure> {
        let mut builder = Builder::new_multi_thread();
        let runtime = builder.worker_threads(Self::THREADS).thread_name("background").enable_all();
        runtime.build().map(Self).map_err(Failure::Background)
    }

    /// Where tasks are spawned.
    pub(crate) fn handle(&self) -> &Handle {
        self.0.handle()
    }

    /// Ends its tasks.
    pub(crate) fn end(self) {
        self.0.shutdown_timeout(Self::PATIENCE);
    }
}
