//! What every handler shares.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tables::{Counters, Tick};
use tokio::sync::{Mutex, Semaphore};

use super::answer::Question;
use super::picture::{Connections, Picture, Pictures};
use super::rates::Speed;
use super::reloads::Reloads;
use super::request::Asker;
use crate::explain::Explanation;
use crate::health::Row;

/// Sends one packet through the code that decides, with a picture's state; says what becomes of it,
/// or why the question makes no sense.
pub type Explain =
    dyn Fn(&Picture, &Question, Duration) -> Result<Explanation, String> + Send + Sync;

/// What every handler shares.
pub struct Desk {
    /// When the process started: the zero of its clock.
    pub start: Instant,
    /// The configuration file.
    pub file: PathBuf,
    /// What the control thread publishes.
    pub pictures: Pictures,
    /// What only the control thread can do.
    pub asker: Asker,
    /// Reading the file again.
    pub reloads: Reloads,
    /// What the workers count.
    pub counters: Arc<Counters>,
    /// What is counted a second.
    pub speed: Speed,
    /// What the health checks know.
    pub checks: Box<dyn Fn() -> Vec<Row> + Send + Sync>,
    /// The connection table.
    pub connections: Arc<dyn Connections>,
    /// The code that decides, for one packet.
    pub explain: Box<Explain>,
    /// Answers that cost processor time: a few at once, whoever asks for more is told so.
    pub heavy: Arc<Semaphore>,
    /// Held while the operator's orders are written.
    pub orders: Mutex<()>,
}

impl Desk {
    /// So many answers that cost processor time are made at once.
    pub const HEAVY: usize = 2;

    /// The tick of the connection table now.
    pub fn tick(&self) -> Tick {
        Tick::after(self.start.elapsed(), Tick::LENGTH)
    }
}
