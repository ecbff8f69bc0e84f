//! The connection table: one region for each address family.

use std::io;

use arrayvec::ArrayVec;
use tables::{Family, Key, Tables, Tick};

use super::hash::TableKey;
use super::insert::{New, Written};
use super::mem::Pages;
use super::memory::Memory;
use super::region::{About, Found, KeyWords, Region, Touch};
use super::value::{Value, View};
use crate::batch::BURST;

/// The connection table, shared by all workers (D-3). Its size is fixed and its memory mapped
/// once; nothing in it ever waits.
pub struct ConnectionTable {
    pub(super) v4: Region<2>,
    pub(super) v6: Region<5>,
    configured: (u32, u32),
}

impl ConnectionTable {
    /// A table for this many entries of each family. The error is the kernel's: not enough memory,
    /// or not enough huge pages where those are required.
    pub fn new(v4_entries: u32, v6_entries: u32, pages: Pages, key: TableKey) -> io::Result<Self> {
        Ok(Self {
            v4: Region::new(v4_entries, pages, key.clone())?,
            v6: Region::new(v6_entries, pages, key)?,
            configured: (v4_entries, v6_entries),
        })
    }

    /// The memory that it takes.
    pub fn memory(&self) -> Memory {
        Memory::new(self.configured, self.v4.bytes(), self.v6.bytes())
    }

    /// The live entry of one key; refreshes nothing (S-7).
    pub fn peek(&self, key: &Key, tables: &Tables, now: Tick) -> Option<Value> {
        let mut found = None;
        self.peek_all(std::slice::from_ref(key), tables, now, |_, value| found = Some(value));
        found
    }

    /// Calls `found` for each of these keys that has a live entry, with the key's place; refreshes
    /// nothing. A burst's lines are on their way together, as for packets (D-3).
    pub fn peek_all(
        &self,
        keys: &[Key],
        tables: &Tables,
        now: Tick,
        mut found: impl FnMut(usize, Value),
    ) {
        let view = View { tables, now };
        for (start, keys) in (0..).step_by(BURST).zip(keys.chunks(BURST)) {
            let mut found = |place: u8, value| found(start + usize::from(place), value);
            self.v4.peek_all(keys, Family::V4, view, &mut found);
            self.v6.peek_all(keys, Family::V6, view, &mut found);
        }
    }
}

impl ConnectionTable {
    /// Takes over a connection that another table knows, as one that has been seen now. Says whether
    /// there was room.
    pub fn adopt(&self, key: &Key, value: Value, tables: &Tables, now: Tick) -> bool {
        let view = View { tables, now };
        match key.family() {
            Family::V4 => self.v4.adopt(key, value, view),
            Family::V6 => self.v6.adopt(key, value, view),
        }
    }
}

impl<const W: usize> Region<W>
where
    [u64; W]: KeyWords,
{
    fn adopt(&self, key: &Key, value: Value, view: View<'_>) -> bool {
        let key = <[u64; W]>::of(key);
        let new = New { key, hash: self.hash(&key), value, confirmed: true, supersede: true };
        matches!(self.insert(&new, view, || true), Written::Created | Written::Replaced)
    }

    /// For the keys of its family, at most a burst.
    fn peek_all(
        &self,
        keys: &[Key],
        family: Family,
        view: View<'_>,
        found: &mut impl FnMut(u8, Value),
    ) {
        let mut probes = ArrayVec::<_, BURST>::new();
        for (place, key) in (0..).zip(keys) {
            let Some(service) = view.tables.service(key.service()) else { continue };
            if key.family() == family {
                let idle_ticks = service.idle_limit(view.now);
                let about = About { idle_ticks, touch: Touch::Not, packet: place };
                let _ = probes.try_push(self.probe(<[u64; W]>::of(key), about));
            }
        }
        self.find(&mut probes, view);
        for probe in &probes {
            if let Found::Hit(value, _) = probe.found {
                found(probe.about.packet, value);
            }
        }
    }
}
