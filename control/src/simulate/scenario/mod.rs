//! A scenario file: a list of events, each at its time.
//!
//! Every fault names the event's number (the first is 0, as in the results), its line and its
//! column; all are shown together.

mod event;
mod fault;
mod packet;
mod time;

use std::path::PathBuf;
use std::time::Duration;

pub use fault::{Fault, Faults, Place};
pub use packet::{Flags, FragmentPart, Packet, PacketError, Tuple, protocol_name};
pub(crate) use packet::{protocol_by_name, tuple as packet_tuple};

use crate::state::{Refused, State, Verb};

/// The longest scenario: a tick of a simulation is a millisecond, and the connection table cannot
/// tell ages apart beyond 2^30 ticks.
pub const LONGEST: Duration = Duration::from_secs(12 * 24 * 3600);

/// A whole scenario.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// What the file is called in messages.
    pub name: String,
    /// The events; times never go back.
    pub events: Vec<Event>,
}

/// One event.
#[derive(Clone, Debug)]
pub struct Event {
    /// Its place in the list, from 0.
    pub number: usize,
    /// Where it is in the file.
    pub place: Place,
    /// Where each step of a change names its service and its backend.
    pub names: Vec<[Place; 2]>,
    /// When it happens.
    pub at: Duration,
    /// The same, as it was written.
    pub at_text: String,
    /// What happens.
    pub what: What,
}

/// What happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A packet arrives.
    Packet(Packet),
    /// One change, of one or several parts.
    Change(Vec<Step>),
    /// Time passes.
    Nothing,
}

/// A part of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Something about one backend.
    Backend {
        /// The service's name.
        service: String,
        /// `group/name`.
        backend: String,
        /// What.
        verb: Verb,
    },
    /// A new file, relative to the scenario's.
    Reload(PathBuf),
}

impl Scenario {
    /// Reads the text of a scenario; `name` is what messages call it.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn parse(name: &str, text: &str) -> Result<Self, Faults> {
        let mut faults = Vec::new();
        let mut events = event::read(text, &mut faults);
        time::check_order(&mut events, &mut faults);
        if faults.is_empty() {
            Ok(Self { name: name.to_owned(), events })
        } else {
            Err(Faults::new(name, faults))
        }
    }

    /// Looks whether there is what the events name, as long as no reload has changed that.
    ///
    /// # Errors
    /// Every name that there is not.
    pub fn check_names(&self, state: &State) -> Result<(), Faults> {
        let mut faults = Vec::new();
        for event in &self.events {
            let What::Change(steps) = &event.what else { continue };
            if steps.iter().any(|step| matches!(step, Step::Reload(_))) {
                break;
            }
            let unknown = |(step, places)| unknown(step, places, state);
            let found = steps.iter().zip(&event.names).filter_map(unknown);
            let event = Some(event.number);
            faults.extend(found.map(|(place, message)| Fault { place, event, message }));
        }
        if faults.is_empty() { Ok(()) } else { Err(Faults::new(&self.name, faults)) }
    }

    /// How many of the events are packets.
    pub fn packets(&self) -> usize {
        self.events.iter().filter(|e| matches!(e.what, What::Packet(_))).count()
    }
}

/// What a step names and there is not: where, and what to say.
fn unknown(
    step: &Step,
    [of_service, of_backend]: &[Place; 2],
    state: &State,
) -> Option<(Place, String)> {
    let Step::Backend { service, backend, .. } = step else { return None };
    let refused = state.has(service, backend).err()?;
    let place = if matches!(refused, Refused::NoService(_)) { of_service } else { of_backend };
    Some((*place, refused.to_string()))
}

#[cfg(test)]
mod tests;
