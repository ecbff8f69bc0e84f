//! The task beside a control thread that does as it is told: what a file's askers hear.

use std::collections::VecDeque;
use std::sync::mpsc::Receiver;

use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use super::*;
use crate::admin::picture::Picture;
use crate::admin::request::{self, File, Inbox, Stage};
use crate::plan::wiring::Wiring;
use crate::reload::{Controller, Kept};
use crate::state::Clock;

const CONFIG: &str = r#"
[encapsulation]
source = ["10.0.0.2"]
[[service]]
name = "web"
connection_draining_timeout = "1s"
[[service.group]]
name = "g"
backends = [{ name = "1", address = "10.1.0.1" }]
"#;

/// The draining timeout tells files apart.
fn draining(seconds: u64) -> String {
    CONFIG.replace("\"1s\"", &format!("\"{seconds}s\""))
}

/// A control thread by hand.
struct Hand {
    folder: TempDir,
    runtime: Runtime,
    reloads: Reloads,
    inbox: Inbox,
    rung: Receiver<()>,
    controller: Controller,
    /// Files that nobody has looked at yet.
    came: VecDeque<File>,
    stages: Vec<&'static str>,
}

impl Hand {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("w.toml");
        std::fs::write(&path, draining(1)).expect("writes");
        let loaded = crate::config::load(&path).unwrap_or_else(|e| panic!("{e}"));
        let clock = Clock { tick_length: tables::Tick::LENGTH };
        let (wiring, now) = (Wiring::default(), std::time::Duration::ZERO);
        let made = Controller::new(Arc::new(loaded.config), wiring, clock, now);
        let (controller, tables) = made.expect("Tables");
        let pictures = Pictures::new(Picture {
            state: Arc::clone(controller.state()),
            tables: Arc::new(tables),
            links: Vec::new(),
            lagging: Vec::new(),
            census: None,
        });
        let (bell, rung) = std::sync::mpsc::channel();
        let (asker, inbox) = request::queue(move || bell.send(()).unwrap_or_default());
        let (reloads, reloader) = reloads(&path, asker, pictures);
        let runtime = Runtime::new().expect("a runtime");
        runtime.spawn(reloader.run());
        let (came, stages) = (VecDeque::new(), Vec::new());
        Self { folder, runtime, reloads, inbox, rung, controller, came, stages }
    }

    /// Somebody asks for this content.
    fn ask(&self, text: &str) -> JoinHandle<Arc<Reloaded>> {
        std::fs::write(self.folder.path().join("w.toml"), text).expect("writes");
        let reloads = self.reloads.clone();
        self.runtime.spawn(async move { reloads.reload().await.expect("asked") })
    }

    /// Takes the next thing that comes to the control thread.
    fn hear(&mut self) {
        self.rung.recv().expect("something comes");
        let mut answered = self.inbox.answer(&mut self.controller, std::time::Duration::ZERO);
        self.came.extend(answered.files.drain(..));
        self.stages.extend(answered.reloads.iter().map(|stage| match stage {
            Stage::Begins => "begins",
            Stage::Ends(reloaded) if reloaded.applied => "applied",
            Stage::Ends(_) => "refused",
        }));
    }

    /// The next file that comes.
    fn file(&mut self) -> File {
        while self.came.is_empty() {
            self.hear();
        }
        self.came.pop_front().expect("one")
    }

    /// Puts a file into force.
    fn apply(&mut self, file: File) {
        let before = Arc::clone(self.controller.state());
        let tables = self.controller.reload(&file.config, std::time::Duration::ZERO);
        file.end(before, tables.map(|tables| tables.generation));
    }

    fn end(&self, file: File, why: Kept) {
        file.end(Arc::clone(self.controller.state()), Err(why));
    }

    /// What somebody hears who asked.
    fn heard(&self, asked: JoinHandle<Arc<Reloaded>>) -> Arc<Reloaded> {
        self.runtime.block_on(asked).expect("no panic")
    }
}

fn seconds(file: &File) -> u64 {
    file.config.services[0].draining_timeout.as_secs()
}

#[test]
fn a_newer_file_takes_the_place_of_one_that_waits_and_both_askers_hear_of_the_newer() {
    let mut hand = Hand::new();
    let first = hand.ask(&draining(2));
    let mut older = hand.file();
    drop(older.look());
    let second = hand.ask(&draining(3));
    let mut newer = hand.file();
    assert_eq!((seconds(&older), seconds(&newer)), (2, 3));
    let looking = newer.look();
    hand.end(older, Kept::Superseded);
    drop(looking);
    hand.apply(newer);
    let heard = [first, second].map(|asked| hand.heard(asked));
    assert!(heard[0].applied && heard[0].generation == 2, "{:?}", heard[0]);
    assert!(heard[0].changes.contains("\"1s\" → \"3s\""), "{}", heard[0].changes);
    assert!(Arc::ptr_eq(&heard[0], &heard[1]), "one reload");
    while hand.stages.len() < 3 {
        hand.hear();
    }
    assert_eq!(hand.stages, ["begins", "begins", "applied"]);
}

#[test]
fn a_newer_file_that_is_invalid_or_refused_leaves_the_older_one_waiting() {
    let mut hand = Hand::new();
    let first = hand.ask(&draining(2));
    let mut older = hand.file();
    drop(older.look());
    let invalid = hand.ask("[[");
    assert!(hand.heard(invalid).error.as_ref().is_some_and(|why| why.contains("not TOML")));
    let refused = hand.ask(&draining(3));
    let mut newer = hand.file();
    let looking = newer.look();
    hand.end(newer, Kept::NeedsRestart(vec!["dataplane.workers: [1] → [2]".into()]));
    drop(looking);
    let said = hand.heard(refused);
    assert_eq!(said.restart_needed, ["dataplane.workers: [1] → [2]"]);
    hand.apply(older);
    let said = hand.heard(first);
    assert!(said.applied && said.changes.contains("\"1s\" → \"2s\""), "{said:?}");
    assert!(hand.reloads.last().is_some_and(|last| last.applied));
}

#[test]
fn askers_who_come_while_the_control_thread_is_busy_with_a_file_cost_one_more_reading() {
    let mut hand = Hand::new();
    let first = hand.ask(&draining(2));
    let older = hand.file();
    // Nobody has looked at it: those who ask now wait together.
    let more: Vec<_> = (0..40).map(|n| hand.ask(&draining(10 + n))).collect();
    while hand.reloads.queue.capacity() > WAITING - more.len() {
        std::thread::yield_now();
    }
    hand.apply(older);
    assert!(hand.heard(first).applied);
    let newest = hand.file();
    assert_eq!(seconds(&newest), 49);
    hand.apply(newest);
    let generations: Vec<_> = more.into_iter().map(|asked| hand.heard(asked).generation).collect();
    assert_eq!(generations, [3; 40]);
}
