//! All checks together: what to ask now, and what the answers change.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tables::SlotId;

use super::question::Question;
use super::report::Report;
use super::schedule::{ProbeId, Schedule};
use super::subject::{News, Row, Subject};
use super::wanted::Wanted;
use crate::state::Who;

/// A probe to be made.
#[derive(Clone, Debug)]
pub struct Start {
    /// What [`Board::finish`] is told.
    pub id: ProbeId,
    /// What to ask.
    pub question: Arc<Question>,
    /// The backend's slot, through which a VIP is reached on it; of several, any.
    pub slot: SlotId,
}

/// Every question, and every backend of every service that wants its answer.
#[derive(Debug)]
pub struct Board {
    schedule: Schedule,
    ids: HashMap<Arc<Question>, ProbeId>,
    entries: HashMap<ProbeId, Entry>,
    next_id: u64,
}

#[derive(Debug)]
struct Entry {
    question: Arc<Question>,
    slots: Vec<SlotId>,
    subjects: Vec<Subject>,
}

impl Board {
    /// Nothing asked; at most `most` probes at a time, their times spread from `seed` on.
    pub fn new(most: usize, seed: u64) -> Self {
        Self {
            schedule: Schedule::new(most, seed),
            ids: HashMap::new(),
            entries: HashMap::new(),
            next_id: 0,
        }
    }

    /// From now on this is wanted. What stays keeps its answers and its times; what is new, or asks
    /// another question, is asked at once.
    pub fn watch(&mut self, wanted: Vec<Wanted>, now: Duration) {
        let mut known = self.take_subjects();
        for one in wanted {
            let id = self.id_of(&one.question, now);
            let before = known.remove(&one.who);
            if before.as_ref().is_none_or(|(asked, _)| *asked != id) {
                self.schedule.hurry(id, now);
            }
            let Some(entry) = self.entries.get_mut(&id) else { continue };
            entry.slots.push(one.slot);
            entry.subjects.push(subject(before.map(|(_, subject)| subject), one));
        }
        self.drop_unwanted();
    }

    /// Probes to be made now; each ends with [`Board::finish`].
    pub fn start(&mut self, now: Duration) -> Vec<Start> {
        let begun = self.schedule.begin(now);
        begun.into_iter().filter_map(|id| self.entries.get(&id).and_then(|e| e.start(id))).collect()
    }

    /// When [`Board::start`] has something to do; `None`: not before a probe ends.
    pub fn next(&self) -> Option<Duration> {
        self.schedule.next()
    }

    /// Takes what a probe found out. One that nobody wants any more changes nothing.
    pub fn finish(&mut self, id: ProbeId, report: &Report, now: Duration) -> Vec<News> {
        self.schedule.end(id);
        let subjects = self.entries.get_mut(&id).into_iter().flat_map(|e| &mut e.subjects);
        subjects.flat_map(|subject| subject.hear(report, now)).collect()
    }

    /// Something hints that these backends may have failed: they are asked at once, unless they
    /// just were.
    pub fn hurry(&mut self, slots: &[SlotId], now: Duration) {
        let hinted = |entry: &Entry| entry.slots.iter().any(|slot| slots.contains(slot));
        let ids: Vec<_> =
            self.entries.iter().filter(|(_, e)| hinted(e)).map(|(id, _)| *id).collect();
        ids.into_iter().for_each(|id| self.schedule.hurry(id, now));
    }

    /// How many questions there are.
    pub fn questions(&self) -> usize {
        self.entries.len()
    }

    /// For people: by service and backend.
    pub fn rows(&self) -> Vec<Row> {
        let row = |e: &Entry, s: &Subject| s.row(e.question.to_string());
        let entries = self.entries.values();
        let mut rows: Vec<_> =
            entries.flat_map(|e| e.subjects.iter().map(move |s| row(e, s))).collect();
        rows.sort_by(|a, b| a.who.cmp(&b.who));
        rows
    }

    fn take_subjects(&mut self) -> HashMap<Who, (ProbeId, Subject)> {
        let mut known = HashMap::new();
        for (id, entry) in &mut self.entries {
            entry.slots.clear();
            known.extend(entry.subjects.drain(..).map(|s| (s.who().clone(), (*id, s))));
        }
        known
    }

    fn id_of(&mut self, question: &Question, now: Duration) -> ProbeId {
        if let Some(id) = self.ids.get(question) {
            return *id;
        }
        let id = ProbeId(self.next_id);
        self.next_id += 1;
        let question = Arc::new(question.clone());
        self.schedule.add(id, question.interval, now);
        self.ids.insert(Arc::clone(&question), id);
        self.entries.insert(id, Entry { question, slots: Vec::new(), subjects: Vec::new() });
        id
    }

    fn drop_unwanted(&mut self) {
        let (schedule, ids) = (&mut self.schedule, &mut self.ids);
        self.entries.retain(|id, entry| {
            let wanted = !entry.subjects.is_empty();
            if !wanted {
                schedule.remove(*id);
                ids.remove(&entry.question);
            }
            wanted
        });
    }
}

impl Entry {
    fn start(&self, id: ProbeId) -> Option<Start> {
        let slot = *self.slots.first()?;
        Some(Start { id, question: Arc::clone(&self.question), slot })
    }
}

fn subject(known: Option<Subject>, wanted: Wanted) -> Subject {
    match known {
        Some(mut subject) => {
            subject.configure(wanted.thresholds, wanted.weighted);
            subject
        }
        None => Subject::new(wanted.who, wanted.healthy, wanted.thresholds, wanted.weighted),
    }
}

#[cfg(test)]
mod tests;
