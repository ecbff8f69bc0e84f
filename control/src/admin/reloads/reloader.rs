//! What does the reloads: one task.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::oneshot::error::TryRecvError;
use tokio::sync::{Notify, mpsc};

use super::{Last, Waiter};
use crate::admin::answer::{LastReload, Reloaded};
use crate::admin::picture::Pictures;
use crate::admin::request::{Answer, Asker, Done, Stage, Submitted, Unasked};
use crate::config::{self, Loaded};
use crate::diff;
use crate::model::Config;
use crate::reload::Kept;

/// For so long a reload tries to reach the control thread.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(20);

/// The task.
pub struct Reloader {
    pub(super) file: PathBuf,
    pub(super) asker: Asker,
    pub(super) pictures: Pictures,
    pub(super) asked: Asked,
    pub(super) last: Last,
}

/// Where those arrive who ask.
pub(super) struct Asked {
    pub(super) queue: mpsc::Receiver<Waiter>,
    pub(super) nudged: Arc<Notify>,
}

/// A file that the control thread has, and who waits to hear what comes of it.
struct Waits {
    askers: Vec<Waiter>,
    loaded: Loaded,
    answer: Answer,
}

/// What became of a file.
type Ended = Result<Result<Done, Kept>, Unasked>;

impl Reloader {
    /// Reloads whenever somebody asks, until nobody can any more.
    pub async fn run(mut self) {
        let mut waits = None;
        loop {
            tokio::select! {
                // What has its answer does not wait for the next file.
                biased;
                ended = end_of(&mut waits) => if let Some(waits) = waits.take() {
                    self.end(waits, ended).await;
                },
                askers = self.asked.next() => match askers {
                    Some(askers) => waits = self.begin(askers, waits).await,
                    None => return,
                },
            }
        }
    }

    /// Reads the file and hands it on; what waits from then on.
    async fn begin(&self, askers: Vec<Waiter>, before: Option<Waits>) -> Option<Waits> {
        self.tell(Stage::Begins).await;
        let loaded = match self.read().await {
            Ok(loaded) => loaded,
            Err(refused) => {
                self.conclude(askers, refused).await;
                return before;
            }
        };
        match patiently(|| self.asker.reload(loaded.config.clone())).await {
            Ok(Submitted { answer, seen }) => {
                // An error says the same: nobody looks at it any longer.
                let _ = seen.await;
                self.succeed(before, Waits { askers, loaded, answer }).await
            }
            Err(unasked) => {
                self.conclude(askers, self.not_done(unasked.to_string())).await;
                before
            }
        }
    }

    async fn read(&self) -> Result<Loaded, Reloaded> {
        let file = self.file.clone();
        match tokio::task::spawn_blocking(move || config::load_regular(&file)).await {
            Ok(loaded) => loaded.map_err(|errors| self.refused(&Kept::Invalid(errors))),
            Err(broken) => Err(self.not_done(format!("the file was not read: {broken}"))),
        }
    }

    /// A newer file was looked at, so the older one has its answer: the newer one took its place, or
    /// it came into force before. If it still waits, the newer one was refused.
    async fn succeed(&self, older: Option<Waits>, mut newer: Waits) -> Option<Waits> {
        let Some(mut older) = older else { return Some(newer) };
        match older.answer.try_recv() {
            Ok(Err(Kept::Superseded)) => {
                newer.askers.append(&mut older.askers);
                Some(newer)
            }
            Ok(ended) => {
                self.end(older, Ok(ended)).await;
                Some(newer)
            }
            Err(TryRecvError::Closed) => {
                self.end(older, Err(Unasked::Stopping)).await;
                Some(newer)
            }
            Err(TryRecvError::Empty) => {
                let ended = (&mut newer.answer).await.map_err(|_| Unasked::Stopping);
                self.end(newer, ended).await;
                Some(older)
            }
        }
    }

    /// The control thread is done with a file.
    async fn end(&self, Waits { askers, loaded, .. }: Waits, ended: Ended) {
        let Loaded { config, warnings } = loaded;
        let warnings = warnings.render(false);
        let reloaded = match ended {
            Ok(Ok(done)) => self.applied(&done, config, warnings).await,
            Ok(Err(kept)) => Reloaded { warnings, ..self.refused(&kept) },
            Err(unasked) => self.not_done(unasked.to_string()),
        };
        self.conclude(askers, reloaded).await;
    }

    /// Says what came of it.
    async fn conclude(&self, askers: Vec<Waiter>, reloaded: Reloaded) {
        let reloaded = Arc::new(reloaded);
        self.note(&reloaded);
        self.tell(Stage::Ends(Arc::clone(&reloaded))).await;
        for asker in askers {
            // Who has gone does not want to know.
            let _ = asker.send(Arc::clone(&reloaded));
        }
    }

    async fn tell(&self, stage: Stage) {
        // Where the control thread has no time for this it has other worries; the reload goes on.
        let _ = patiently(|| self.asker.tell(stage.clone())).await;
    }

    /// The diff takes a while with a thousand services: when it is made the file is in force.
    async fn applied(&self, done: &Done, new: Config, warnings: String) -> Reloaded {
        let old = Arc::clone(done.before.config());
        let changes = tokio::task::spawn_blocking(move || match diff::diff(&old, &new) {
            Ok(diff) => diff.words(),
            Err(kept) => format!("what has changed cannot be told: {kept}\n"),
        });
        let changes = changes.await.unwrap_or_default();
        Reloaded {
            applied: true,
            generation: done.generation,
            changes,
            warnings,
            error: None,
            restart_needed: Vec::new(),
        }
    }

    fn refused(&self, kept: &Kept) -> Reloaded {
        let restart_needed = match kept {
            Kept::NeedsRestart(settings) => settings.clone(),
            _ => Vec::new(),
        };
        Reloaded { restart_needed, ..self.not_done(kept.to_string()) }
    }

    fn not_done(&self, why: String) -> Reloaded {
        Reloaded {
            applied: false,
            generation: self.pictures.newest().tables.generation,
            changes: String::new(),
            warnings: String::new(),
            error: Some(why),
            restart_needed: Vec::new(),
        }
    }

    fn note(&self, reloaded: &Reloaded) {
        let first = |error: &String| error.lines().next().unwrap_or_default().to_owned();
        let error = reloaded.error.as_ref().map(first);
        let last = LastReload { applied: reloaded.applied, seconds_ago: 0, error };
        *self.last.lock() = Some((last, Instant::now()));
    }
}

impl Asked {
    /// Waits until somebody asks; all who have asked by then, nobody of them if it was a nudge.
    async fn next(&mut self) -> Option<Vec<Waiter>> {
        let mut askers = Vec::new();
        tokio::select! {
            first = self.queue.recv() => askers.push(first?),
            () = self.nudged.notified() => {}
        }
        while let Ok(more) = self.queue.try_recv() {
            askers.push(more);
        }
        Some(askers)
    }
}

/// What becomes of what waits; never, where nothing does.
async fn end_of(waits: &mut Option<Waits>) -> Ended {
    match waits {
        Some(waits) => (&mut waits.answer).await.map_err(|_| Unasked::Stopping),
        None => std::future::pending().await,
    }
}

/// Others may be quicker for a while: a reload may wait.
async fn patiently<T>(mut ask: impl FnMut() -> Result<T, Unasked>) -> Result<T, Unasked> {
    let until = Instant::now() + PATIENCE;
    loop {
        match ask() {
            Err(Unasked::Busy) if Instant::now() < until => tokio::time::sleep(PAUSE).await,
            asked => return asked,
        }
    }
}
