//! Reading the file again, beside the control thread.
//!
//! One file is read at a time. Whoever asks while it is read, or looked at by the control thread,
//! waits for the next one, all of them for the same: a thousand askers in quick succession cost two
//! readings, and what the file says when the last one asked is what is in force in the end.
//!
//! A file may have to wait for what its new backends' checks find out. The newest wins: one
//! that comes meanwhile takes its place, and its askers are told what becomes of the newer one. If
//! that is refused, the older one goes on waiting: an invalid file changes nothing.

mod reloader;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc, oneshot};

use super::answer::{LastReload, Reloaded};
use super::picture::Pictures;
use super::request::{Asker, Unasked};

pub use reloader::Reloader;

/// So many askers may wait for the next reload.
const WAITING: usize = 64;

/// Who waits to hear what came of it.
type Waiter = oneshot::Sender<Arc<Reloaded>>;

/// What came of the last one, and when that was.
type Last = Arc<Mutex<Option<(LastReload, Instant)>>>;

/// Where reloads are asked for.
#[derive(Clone)]
pub struct Reloads {
    queue: mpsc::Sender<Waiter>,
    nudged: Arc<Notify>,
    last: Last,
}

impl Reloads {
    /// Asks without waiting for what comes of it: SIGHUP. Takes nobody's place in the queue:
    /// however many there are before the next reload begins, they are one.
    pub fn nudge(&self) {
        self.nudged.notify_one();
    }

    /// Asks and waits.
    ///
    /// # Errors
    /// Too many wait already, or the appliance is ending.
    pub async fn reload(&self) -> Result<Arc<Reloaded>, Unasked> {
        let (reply, answer) = oneshot::channel();
        self.queue.try_send(reply).map_err(|refused| match refused {
            mpsc::error::TrySendError::Full(_) => Unasked::Busy,
            mpsc::error::TrySendError::Closed(_) => Unasked::Stopping,
        })?;
        answer.await.map_err(|_| Unasked::Stopping)
    }

    /// What came of the last one.
    pub fn last(&self) -> Option<LastReload> {
        let (last, when) = self.last.lock().clone()?;
        Some(LastReload { seconds_ago: when.elapsed().as_secs(), ..last })
    }
}

/// A way to ask for reloads of `file`, and the task's other end.
pub fn reloads(file: &Path, asker: Asker, pictures: Pictures) -> (Reloads, Reloader) {
    let (sender, queue) = mpsc::channel(WAITING);
    let (nudged, last) = (Arc::new(Notify::new()), Arc::default());
    let reloads = Reloads { queue: sender, nudged: Arc::clone(&nudged), last: Arc::clone(&last) };
    let file = file.to_owned();
    (reloads, Reloader { file, asker, pictures, asked: reloader::Asked { queue, nudged }, last })
}
