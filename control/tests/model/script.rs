//! Numbers → events, given to both; and whether they agree.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::time::Duration;

use control::model::Config;
use control::simulate::scenario::{Event, Place, Step, What};
use control::simulate::{EventResult, Simulator};
use control::state::Verb;
use proptest::test_runner::TestCaseError;

use crate::desk::WorkerDesk;
use crate::oracle::{Answer, Oracle, Part};
use crate::world::{self, BACKENDS};

struct Script {
    now: Duration,
    config: Config,
    simulator: Simulator<WorkerDesk>,
    service: Oracle,
    other: Oracle,
    /// Files by number, as reload steps name them.
    files: RefCell<Vec<Config>>,
}

/// Plays a script to its end, or to the first disagreement.
pub(crate) fn play(setup: &[u8], events: &[[u8; 5]]) -> Result<(), TestCaseError> {
    let mut config = world::base();
    world::profile(&mut config, setup[0]);
    for pair in setup[1..].chunks(2) {
        world::mutate(&mut config, pair[0], *pair.last().unwrap_or(&0));
    }
    let desk = WorkerDesk::new(&config, 1).expect("memory");
    let mut script = Script {
        now: Duration::ZERO,
        service: Oracle::new(&config.services[0]),
        other: Oracle::new(&config.services[1]),
        simulator: Simulator::new(config.clone(), desk).unwrap_or_else(|e| panic!("{e}")),
        config,
        files: RefCell::default(),
    };
    for event in events {
        script.event(*event)?;
    }
    Ok(())
}

impl Script {
    fn event(&mut self, [kind, a, b, c, time]: [u8; 5]) -> Result<(), TestCaseError> {
        let steps = [0, 0, 0, 1, 1, 7, 29, 30, 31, 59, 60, 61, 90, 100, 599, 600];
        self.now += world::seconds(steps[usize::from(time) % steps.len()]);
        match kind % 10 {
            0..=5 => self.packet(a, b, c),
            6 | 7 => self.change(&[(a, b)]),
            8 => self.change(&[(a, b), (b, c)]),
            _ => self.reload(a, b, c),
        }
    }

    fn run(&mut self, what: What) -> EventResult {
        let place = Place { line: 1, column: 1 };
        let event = Event {
            number: 0,
            place,
            names: Vec::new(),
            at: self.now,
            at_text: String::new(),
            what,
        };
        let files = self.files.borrow();
        let load = |path: &Path| {
            let number: usize = path.to_str().and_then(|p| p.parse().ok()).expect("a number");
            Ok(files[number].clone())
        };
        self.simulator.run(&event, &load).unwrap_or_else(|e| panic!("{e}"))
    }

    fn packet(&mut self, what: u8, number: u8, other: u8) -> Result<(), TestCaseError> {
        let packet = world::packet(what, number);
        let other = other.is_multiple_of(8) && packet.protocol == 6 && packet.vip == 2;
        let ended = self.let_time_pass();
        let seed = self.config.dataplane.hash_seed;
        let service = if other { &mut self.other } else { &mut self.service };
        let answer = service.packet(packet, other, self.now, &seed);
        let EventResult::Packet(result) = self.run(What::Packet(packet.written(other))) else {
            return Err(TestCaseError::fail("no packet"));
        };
        let entry = serde_json::to_value(result.entry).expect("JSON");
        let entry = ["none", "hit", "created", "replaced"].into_iter().find(|e| entry == *e);
        let found = Answer {
            backend: result.backend.clone(),
            why: result.why,
            entry: entry.expect("a known word"),
        };
        let shown = format!("{packet:?} at {:?}: {result:?}", self.now);
        if found != answer || result.entries_removed != ended {
            return Err(TestCaseError::fail(format!("model: {answer:?}, {ended}\n{shown}")));
        }
        Ok(())
    }

    /// The operator's and the checker's verbs; those about a backend that is gone are left out.
    fn change(&mut self, what: &[(u8, u8)]) -> Result<(), TestCaseError> {
        let ended = self.let_time_pass();
        let known = what.iter().filter_map(|(verb, number)| self.verb(*verb, *number));
        let (parts, steps): (Vec<_>, Vec<_>) = known.unzip();
        self.both(ended, &parts, steps)
    }

    fn verb(&self, verb: u8, number: u8) -> Option<(Part, Step)> {
        let path = BACKENDS[usize::from(number) % BACKENDS.len()];
        let index = self.service.backends.iter().position(|b| b.path == path)?;
        let verb = match verb % 12 {
            0..=3 => Verb::Health(true),
            4..=6 => Verb::Health(false),
            7 | 8 => Verb::Weight([0, 1, 3][usize::from(number) / 7 % 3]),
            9 => Verb::Drain,
            10 => Verb::Disable,
            _ => Verb::Enable,
        };
        let step = Step::Backend { service: "s".into(), backend: path.into(), verb };
        Some((Part::Verb(index, verb), step))
    }

    fn reload(&mut self, what: u8, number: u8, more: u8) -> Result<(), TestCaseError> {
        let ended = self.let_time_pass();
        world::mutate(&mut self.config, what, number);
        world::mutate(&mut self.config, more, number.rotate_left(3));
        let file = PathBuf::from(self.files.borrow().len().to_string());
        self.files.borrow_mut().push(self.config.clone());
        let part = Part::Reload(Box::new(self.config.services[0].clone()));
        self.both(ended, &[part], vec![Step::Reload(file)])
    }

    fn let_time_pass(&mut self) -> usize {
        self.service.let_time_pass(self.now) + self.other.let_time_pass(self.now)
    }

    fn both(
        &mut self,
        ended: usize,
        parts: &[Part],
        steps: Vec<Step>,
    ) -> Result<(), TestCaseError> {
        let ended = ended + self.service.change(parts, self.now);
        let shown = format!("{parts:?} at {:?}", self.now);
        let EventResult::Change(result) = self.run(What::Change(steps)) else {
            return Err(TestCaseError::fail("no change"));
        };
        let mut eligible: Vec<_> = self.service.eligible().iter().map(|b| b.path.clone()).collect();
        eligible.sort();
        if result.eligible["s"] != eligible || result.entries_removed != ended {
            return Err(TestCaseError::fail(format!(
                "model: {eligible:?}, {ended} ended\n{result:?}\n{shown}"
            )));
        }
        Ok(())
    }
}
