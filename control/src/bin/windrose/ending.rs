//! How serving ends, and the workers with it.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use dpdk::Launched;

use crate::exit;
use crate::logging::Log;
use crate::service::Stalled;

/// Why it ends.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Ending {
    /// Somebody said so.
    #[error("stopping")]
    Asked,
    /// A worker is not there any more.
    #[error("worker {0} ended by itself")]
    WorkerEnded(usize),
    /// A worker is there, and does nothing.
    #[error(transparent)]
    Stalled(#[from] Stalled),
    /// A worker was asked to stop, and does not.
    #[error("worker {0} does not stop: its driver blocks it")]
    Stuck(usize),
}

impl Ending {
    /// The exit code. What went wrong is said.
    pub(crate) fn code(&self, log: &Log) -> ExitCode {
        match self {
            Self::Asked => ExitCode::SUCCESS,
            why => log.end(exit::INTERNAL, why),
        }
    }
}

/// How long workers have to end: a step, unless a driver blocks one.
const PATIENCE: Duration = Duration::from_secs(2);

/// Waits for the workers to end, but for none that is stuck. Where one is, this is the process's
/// end: nothing that a worker may still use is taken from under it.
pub(crate) fn join(workers: Vec<Launched<()>>, ending: Ending, log: &Log) -> Ending {
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until && !workers.iter().all(Launched::is_finished) {
        std::thread::sleep(Duration::from_millis(1));
    }
    if let Some(worker) = workers.iter().position(|w| !w.is_finished()) {
        let ending = if let Ending::Asked = ending { Ending::Stuck(worker) } else { ending };
        let _ = ending.code(log);
        std::process::exit(exit::INTERNAL.into());
    }
    for error in workers.into_iter().filter_map(|worker| worker.join().err()) {
        tracing::error!(reason = %error, "a worker failed");
    }
    ending
}
