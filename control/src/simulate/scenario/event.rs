//! The `[[event]]` tables as they are written → [`Event`]s.

use std::ops::Range;
use std::path::PathBuf;

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use super::fault::{Fault, Place};
use super::packet::PacketTable;
use super::{Event, Step, What, time};
use crate::state::Verb;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EventTable {
    at: String,
    packet: Option<PacketTable>,
    health: Option<HealthTable>,
    weight: Option<WeightTable>,
    drain: Option<BackendTable>,
    disable: Option<BackendTable>,
    enable: Option<BackendTable>,
    reload: Option<PathBuf>,
    batch: Option<Vec<StepTable>>,
}

/// One element of `batch`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StepTable {
    health: Option<HealthTable>,
    weight: Option<WeightTable>,
    drain: Option<BackendTable>,
    disable: Option<BackendTable>,
    enable: Option<BackendTable>,
    reload: Option<PathBuf>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HealthTable {
    service: Spanned<String>,
    backend: Spanned<String>,
    healthy: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WeightTable {
    service: Spanned<String>,
    backend: Spanned<String>,
    weight: u16,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BackendTable {
    service: Spanned<String>,
    backend: Spanned<String>,
}

/// A step, and where it names its service and its backend.
type Placed = (Step, Names);
type Names = [Range<usize>; 2];

fn step(service: Spanned<String>, backend: Spanned<String>, verb: Verb) -> Placed {
    let places = [service.span(), backend.span()];
    let (service, backend) = (service.into_inner(), backend.into_inner());
    (Step::Backend { service, backend, verb }, places)
}

impl HealthTable {
    fn step(self) -> Placed {
        step(self.service, self.backend, Verb::Health(self.healthy))
    }
}

impl WeightTable {
    /// W-1: a header's weight is 0 to 1000.
    fn step(self) -> Result<Placed, String> {
        if self.weight > crate::policy::weights::MAX {
            return Err(format!("weight = {} is not within 0 to 1000", self.weight));
        }
        Ok(step(self.service, self.backend, Verb::Weight(self.weight)))
    }
}

impl BackendTable {
    fn step(self, verb: Verb) -> Placed {
        step(self.service, self.backend, verb)
    }
}

impl StepTable {
    /// What the table asks for, each with its key.
    fn steps(self) -> Result<Vec<(&'static str, Placed)>, String> {
        let weight = self.weight.map(WeightTable::step).transpose()?;
        let steps = [
            ("health", self.health.map(HealthTable::step)),
            ("weight", weight),
            ("drain", self.drain.map(|b| b.step(Verb::Drain))),
            ("disable", self.disable.map(|b| b.step(Verb::Disable))),
            ("enable", self.enable.map(|b| b.step(Verb::Enable))),
            ("reload", self.reload.map(|file| (Step::Reload(file), [0..0, 0..0]))),
        ];
        Ok(steps.into_iter().filter_map(|(key, step)| Some((key, step?))).collect())
    }

    fn only_step(self) -> Result<Placed, String> {
        let steps = self.steps()?;
        match <[_; 1]>::try_from(steps) {
            Ok([(_, step)]) => Ok(step),
            Err(steps) => Err(format!(
                "each element of batch has exactly one of health, weight, drain, disable, enable \
                 and reload; found {}",
                listed(steps.iter().map(|(key, _)| *key))
            )),
        }
    }
}

impl EventTable {
    fn what(self) -> Result<(What, Vec<Names>), String> {
        let Self { packet, health, weight, drain, disable, enable, reload, batch, .. } = self;
        let single = StepTable { health, weight, drain, disable, enable, reload }.steps()?;
        let mut found: Vec<_> = single.iter().map(|(key, _)| *key).collect();
        found.extend(packet.is_some().then_some("packet"));
        found.extend(batch.is_some().then_some("batch"));
        if found.len() > 1 {
            return Err(format!(
                "an event is one thing, but this one has {}; several changes at once are \
                 batch = [ … ]",
                listed(found.into_iter())
            ));
        }
        if let Some(packet) = packet {
            let packet = packet.packet().map_err(|e| e.to_string())?;
            return Ok((What::Packet(packet), Vec::new()));
        }
        let mut steps: Vec<_> = single.into_iter().map(|(_, step)| step).collect();
        for step in batch.into_iter().flatten() {
            steps.push(step.only_step()?);
        }
        let (steps, places): (Vec<_>, Vec<_>) = steps.into_iter().unzip();
        Ok((if steps.is_empty() { What::Nothing } else { What::Change(steps) }, places))
    }
}

fn listed<'a>(keys: impl Iterator<Item = &'a str>) -> String {
    let keys: Vec<_> = keys.collect();
    if keys.is_empty() { "none".into() } else { keys.join(" and ") }
}

/// The events of a file; what is wrong with it is added to `faults`.
pub(super) fn read(text: &str, faults: &mut Vec<Fault>) -> Vec<Event> {
    let mut fault = |place, event, message| faults.push(Fault { place, event, message });
    let whole = 0..0;
    let document = match DeTable::parse(text) {
        Ok(document) => document.into_inner(),
        Err(error) => {
            let place = Place::of(text, &error.span().unwrap_or(whole));
            fault(place, None, format!("not TOML: {}", error.message()));
            return Vec::new();
        }
    };
    let mut tables = Vec::new();
    for (key, value) in document {
        let place = Place::of(text, &key.span());
        match (key.get_ref().as_ref(), value.into_inner()) {
            ("event", DeValue::Array(events)) => tables.extend(events),
            ("event", _) => fault(place, None, "event: write each as [[event]]".into()),
            (other, _) => {
                fault(place, None, format!("unknown key {other:?}; a scenario has only [[event]]"));
            }
        }
    }
    let mut events = Vec::new();
    for (number, table) in tables.into_iter().enumerate() {
        let mut place = Place::of(text, &table.span());
        match event(number, &mut place, table, text) {
            Ok(event) => events.push(event),
            Err(message) => fault(place, Some(number), message),
        }
    }
    events
}

/// One event. Where the fault is known more exactly than the table, `place` becomes that.
fn event(
    number: usize,
    place: &mut Place,
    table: Spanned<DeValue<'_>>,
    text: &str,
) -> Result<Event, String> {
    let table = EventTable::deserialize(ValueDeserializer::from(table)).map_err(|error| {
        if let Some(span) = error.span().filter(|span| !span.is_empty()) {
            *place = Place::of(text, &span);
        }
        one_line(error.message())
    })?;
    let at_text = table.at.clone();
    let at = time::parse(&at_text)?;
    let (what, names) = table.what()?;
    let names = names.iter().map(|spans| spans.each_ref().map(|span| Place::of(text, span)));
    Ok(Event { number, place: *place, names: names.collect(), at, at_text, what })
}

fn one_line(message: &str) -> String {
    message.lines().map(str::trim).collect::<Vec<_>>().join(" ")
}
