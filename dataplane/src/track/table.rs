//! The connection table: one region for each address family.

use std::io;

use tables::{Family, Key, Tables, Tick};

use super::hash::TableKey;
use super::insert::{New, Written};
use super::mem::Pages;
use super::memory::Memory;
use super::region::{About, Found, KeyWords, Region, Touch};
use super::value::{Value, View};

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
        let view = View { tables, now };
        match key.family() {
            Family::V4 => self.v4.peek(key, view),
            Family::V6 => self.v6.peek(key, view),
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

    fn peek(&self, key: &Key, view: View<'_>) -> Option<Value> {
        let idle_ticks = view.tables.service(key.service())?.idle_limit(view.now);
        let about = About { idle_ticks, touch: Touch::Not, packet: 0 };
        let mut probe = [self.probe(<[u64; W]>::of(key), about)];
        self.find(&mut probe, view);
        match probe {
            [probe] => match probe.found {
                Found::Hit(value, _) => Some(value),
                Found::Miss | Found::Contended => None,
            },
        }
    }
}
