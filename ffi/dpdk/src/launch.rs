//! Closures on worker threads.

use std::any::Any;
use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::error::text;
use crate::{Eal, Error};

type Outcome<T> = Arc<Mutex<Option<std::thread::Result<T>>>>;
type Job = Box<dyn FnOnce() + Send>;

/// A closure that runs on a worker; like a `JoinHandle`.
#[derive(Debug)]
#[must_use = "join it, or its panic goes unseen"]
pub struct Launched<T> {
    worker: usize,
    outcome: Outcome<T>,
}

impl Eal {
    /// Runs a closure on worker `worker`, 0 to [`Eal::workers`] - 1, whose thread is pinned to that
    /// worker's CPU.
    ///
    /// # Errors
    /// [`Error::Failed`] if there is no such worker or it is busy.
    pub fn launch<T, F>(&self, worker: usize, body: F) -> Result<Launched<T>, Error>
    where
        T: Send + 'static,
        F: FnOnce() -> T + Send + 'static,
    {
        let outcome: Outcome<T> = Arc::default();
        let result = outcome.clone();
        // A panic must not unwind into C: it ends here and is reported by `join`.
        let job: Job =
            Box::new(move || *result.lock() = Some(catch_unwind(AssertUnwindSafe(body))));
        self.launch_job(worker, job)?;
        Ok(Launched { worker, outcome })
    }

    fn launch_job(&self, worker: usize, job: Job) -> Result<(), Error> {
        let failed = |reason| {
            let action = format!("start worker {worker} of {}", self.workers());
            Error::Failed { action, reason, log: Default::default() }
        };
        if worker >= self.workers() {
            return Err(failed("there is no such worker".into()));
        }
        let job = Box::into_raw(Box::new(job));
        // SAFETY: the lcore exists (checked above; see `lcores`); `run` takes exactly what `job`
        // points to and runs once if, and only if, this returns 0.
        let rc = unsafe { dpdk_sys::rte_eal_remote_launch(Some(run), job.cast(), lcore(worker)) };
        if rc == 0 {
            return Ok(());
        }
        // SAFETY: not launched, so the box is still ours alone.
        drop(unsafe { Box::from_raw(job) });
        Err(failed(text(rc)))
    }
}

impl<T> Launched<T> {
    /// Waits for the closure and returns its value.
    ///
    /// # Errors
    /// [`Error::Panicked`].
    pub fn join(self) -> Result<T, Error> {
        // SAFETY: the lcore exists; waiting has no other precondition.
        unsafe { dpdk_sys::rte_eal_wait_lcore(lcore(self.worker)) };
        let outcome = self.outcome.lock().take();
        let outcome = outcome.expect("the closure ended: that is what was waited for");
        outcome.map_err(|panic| Error::Panicked { worker: self.worker, message: message(&*panic) })
    }

    /// Whether the closure has ended.
    pub fn is_finished(&self) -> bool {
        self.outcome.try_lock().is_some_and(|outcome| outcome.is_some())
    }
}

/// Lcore 0 is the main one.
fn lcore(worker: usize) -> u32 {
    worker as u32 + 1
}

unsafe extern "C" fn run(job: *mut c_void) -> c_int {
    // SAFETY: `launch_job` made it with Box::into_raw and gave it away.
    let job = unsafe { Box::from_raw(job.cast::<Job>()) };
    job();
    0
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".into())
}
