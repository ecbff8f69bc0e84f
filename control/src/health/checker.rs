//! The board, run: probes as tasks, news as they come.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tables::SlotId;
use tokio::sync::Notify;

use super::board::{Board, Start};
use super::probe::Prober;
use super::subject::{News, Row};
use super::wanted::Wanted;

/// Runs checks on the runtime that [`Checker::run`] is spawned on, and tells what they change.
pub struct Checker {
    board: Mutex<Board>,
    prober: Arc<Prober>,
    /// Something is wanted, or a probe has ended.
    changed: Notify,
    /// Where the appliance's clock begins.
    start: Instant,
    tell: Box<dyn Fn(Vec<News>) + Send + Sync>,
}

impl fmt::Debug for Checker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checker").field("board", &self.board).finish_non_exhaustive()
    }
}

impl Checker {
    /// At most `most` probes at a time; `tell` takes what has changed, from any thread.
    pub fn new(
        prober: Prober,
        most: usize,
        start: Instant,
        tell: impl Fn(Vec<News>) + Send + Sync + 'static,
    ) -> Self {
        // Where the jitter begins need not be a secret, only another one on every appliance.
        let seed = u64::from(std::process::id()) ^ start.elapsed().as_nanos() as u64;
        Self {
            board: Mutex::new(Board::new(most, seed)),
            prober: Arc::new(prober),
            changed: Notify::new(),
            start,
            tell: Box::new(tell),
        }
    }

    /// From now on this is wanted.
    pub fn watch(&self, wanted: Vec<Wanted>) {
        self.board.lock().watch(wanted, self.now());
        self.changed.notify_one();
    }

    /// Something hints that these backends may have failed.
    pub fn hurry(&self, slots: &[SlotId]) {
        self.board.lock().hurry(slots, self.now());
        self.changed.notify_one();
    }

    /// What is known, for people.
    pub fn rows(&self) -> Vec<Row> {
        self.board.lock().rows()
    }

    /// Makes probes when they are due; never ends by itself.
    pub async fn run(self: Arc<Self>) {
        loop {
            let (starts, next) = self.begin();
            starts.into_iter().for_each(|start| self.spawn(start));
            tokio::select! {
                () = self.changed.notified() => {}
                () = until(next, self.now()) => {}
            }
        }
    }

    fn begin(&self) -> (Vec<Start>, Option<Duration>) {
        let mut board = self.board.lock();
        (board.start(self.now()), board.next())
    }

    fn spawn(self: &Arc<Self>, start: Start) {
        let checker = Arc::clone(self);
        tokio::spawn(async move {
            let report = checker.prober.ask(&start.question, start.slot).await;
            let news = checker.board.lock().finish(start.id, &report, checker.now());
            checker.changed.notify_one();
            if !news.is_empty() {
                (checker.tell)(news);
            }
        });
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }
}

/// Until the next probe is due; for ever if that takes one to end, or something new to be wanted.
async fn until(next: Option<Duration>, now: Duration) {
    match next {
        Some(at) => tokio::time::sleep(at.saturating_sub(now)).await,
        None => std::future::pending().await,
    }
}
