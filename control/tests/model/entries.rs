//! The connection table of the model: a list.

use std::time::Duration;

use tables::FieldSet;

use crate::fields::Packet;

/// A key: which fields, and their values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    fields: FieldSet,
    client: u8,
    sport: Option<u16>,
    protocol: Option<u8>,
    vip: Option<u8>,
}

impl Key {
    pub(crate) fn of(packet: Packet, fields: FieldSet) -> Self {
        let has = |field| fields.contains(field);
        Self {
            fields,
            client: packet.client,
            sport: has(FieldSet::SPORT).then_some(packet.sport),
            protocol: has(FieldSet::PROTO).then_some(packet.protocol),
            vip: has(FieldSet::DST).then_some(packet.vip),
        }
    }
}

/// One entry.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: Key,
    pub(crate) backend: String,
    /// Whether it outlives its backend's health; fixed when it is made.
    pub(crate) persists: bool,
    pub(crate) seen: Duration,
}

/// One service's entries (T-16).
#[derive(Debug, Default)]
pub(crate) struct Entries(Vec<Entry>);

impl Entries {
    /// T-8: an age equal to the timeout has expired.
    pub(crate) fn expire(&mut self, now: Duration, idle: Duration) {
        self.0.retain(|entry| now - entry.seen < idle);
    }

    pub(crate) fn find(&mut self, key: Key) -> Option<&mut Entry> {
        self.0.iter_mut().find(|entry| entry.key == key)
    }

    /// Enters; says whether a live one was overwritten.
    pub(crate) fn enter(&mut self, entry: Entry) -> bool {
        let before = self.0.len();
        self.0.retain(|other| other.key != entry.key);
        let replaced = self.0.len() < before;
        self.0.push(entry);
        replaced
    }

    /// Removes; says how many.
    pub(crate) fn remove(&mut self, which: impl Fn(&Entry) -> bool) -> usize {
        let before = self.0.len();
        self.0.retain(|entry| !which(entry));
        before - self.0.len()
    }
}
