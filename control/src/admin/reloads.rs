//! Reading the file again, beside the control thread.
//!
//! One reload runs at a time. Whoever asks while it runs waits for the next one, all of them for
//! the same: a thousand askers in quick succession cost two readings, and what the file says when
//! the last one asked is what is in force in the end.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc, oneshot};

use super::answer::{LastReload, Reloaded};
use super::picture::Pictures;
use super::request::{Asker, Done, Stage, Unasked};
use crate::config::{self, Loaded};
use crate::diff;
use crate::model::Config;
use crate::reload::Kept;

/// So many askers may wait for the next reload.
const WAITING: usize = 64;

/// For so long a reload tries to reach the control thread.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(20);

/// Where reloads are asked for.
#[derive(Clone)]
pub struct Reloads {
    queue: mpsc::Sender<oneshot::Sender<Arc<Reloaded>>>,
    nudged: Arc<Notify>,
    last: Arc<Mutex<Option<(LastReload, Instant)>>>,
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

/// What does them: one task.
pub struct Reloader {
    file: PathBuf,
    asker: Asker,
    pictures: Pictures,
    queue: mpsc::Receiver<oneshot::Sender<Arc<Reloaded>>>,
    nudged: Arc<Notify>,
    last: Arc<Mutex<Option<(LastReload, Instant)>>>,
}

/// A way to ask for reloads of `file`, and the task's other end.
pub fn reloads(file: &Path, asker: Asker, pictures: Pictures) -> (Reloads, Reloader) {
    let (sender, queue) = mpsc::channel(WAITING);
    let (nudged, last) = (Arc::new(Notify::new()), Arc::default());
    let reloads = Reloads { queue: sender, nudged: Arc::clone(&nudged), last: Arc::clone(&last) };
    (reloads, Reloader { file: file.to_owned(), asker, pictures, queue, nudged, last })
}

impl Reloader {
    /// Reloads whenever somebody asks, until nobody can any more.
    pub async fn run(mut self) {
        while let Some(askers) = self.askers().await {
            self.tell(Stage::Begins).await;
            let reloaded = Arc::new(self.once().await);
            self.note(&reloaded);
            self.tell(Stage::Ends(Arc::clone(&reloaded))).await;
            for asker in askers {
                // Who has gone does not want to know.
                let _ = asker.send(Arc::clone(&reloaded));
            }
        }
    }

    /// Waits until somebody asks; all who have asked by then, nobody of them if it was a nudge.
    async fn askers(&mut self) -> Option<Vec<oneshot::Sender<Arc<Reloaded>>>> {
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

    async fn once(&self) -> Reloaded {
        let file = self.file.clone();
        let loaded = tokio::task::spawn_blocking(move || config::load_regular(&file)).await;
        let loaded = match loaded {
            Ok(Ok(loaded)) => loaded,
            Ok(Err(errors)) => return self.refused(&Kept::Invalid(errors)),
            Err(broken) => return self.not_done(format!("the file was not read: {broken}")),
        };
        let Loaded { config, warnings } = loaded;
        let warnings = warnings.render(false);
        match self.apply(config.clone()).await {
            Ok(Ok(done)) => self.applied(&done, config, warnings).await,
            Ok(Err(kept)) => Reloaded { warnings, ..self.refused(&kept) },
            Err(unasked) => self.not_done(unasked.to_string()),
        }
    }

    async fn apply(&self, config: Config) -> Result<Result<Done, Kept>, Unasked> {
        let answer = patiently(|| self.asker.reload(config.clone())).await?;
        answer.await.map_err(|_| Unasked::Stopping)
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
