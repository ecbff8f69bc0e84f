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

use crate::state::Verb;

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

    /// How many of the events are packets.
    pub fn packets(&self) -> usize {
        self.events.iter().filter(|e| matches!(e.what, What::Packet(_))).count()
    }
}

#[cfg(test)]
mod tests;
