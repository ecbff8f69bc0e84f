//! The connection table: one region for each address family.

use std::io;

use tables::{Family, Key, Tables, Tick};

use super::hash::TableKey;
use super::mem::Pages;
use super::region::{Found, KeyWords, Region, Touch};
use super::value::{Value, View};

/// The connection table, shared by all workers (D-3). Its size is fixed and its memory mapped
/// once; nothing in it ever waits.
pub struct ConnectionTable {
    pub(super) v4: Region<2>,
    pub(super) v6: Region<5>,
    configured: (u32, u32),
}

/// What a table takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Bytes mapped for IPv4 entries.
    pub v4_bytes: usize,
    /// Bytes mapped for IPv6 entries.
    pub v6_bytes: usize,
    /// Bytes for each configured IPv4 entry, tags and over-provisioning included, rounded up.
    pub per_v4_entry: usize,
    /// Bytes for each configured IPv6 entry, the same.
    pub per_v6_entry: usize,
}

impl Memory {
    /// Bytes in all.
    pub fn bytes(&self) -> usize {
        self.v4_bytes + self.v6_bytes
    }
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
        let (v4_bytes, v6_bytes) = (self.v4.bytes(), self.v6.bytes());
        let (v4, v6) = self.configured;
        Memory {
            v4_bytes,
            v6_bytes,
            per_v4_entry: v4_bytes.div_ceil(v4.max(1) as usize),
            per_v6_entry: v6_bytes.div_ceil(v6.max(1) as usize),
        }
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

impl<const W: usize> Region<W>
where
    [u64; W]: KeyWords,
{
    fn peek(&self, key: &Key, view: View<'_>) -> Option<Value> {
        let idle_ticks = view.tables.service(key.service())?.idle_ticks;
        let mut probe = [self.probe(<[u64; W]>::of(key), idle_ticks, Touch::Not, 0)];
        self.find(&mut probe, view);
        match probe {
            [probe] => match probe.found {
                Found::Hit(value, _) => Some(value),
                Found::Miss | Found::Contended => None,
            },
        }
    }
}
