//! The connection table and the two stages that use it.
//!
//! In reading order: `look_up` and `record`, the stages; `quoted`, for errors about a connection;
//! `table`; `region` (finding) and `insert` (writing); `bucket`, `entry` and `value`, the layout;
//! `hash`; `walk`, `filter` and `upkeep`, from the side; `mem`, `memory`, `numa`, `simd` and `sync`,
//! the ground.
//!
//! # Layout
//!
//! ```text
//! region (one for IPv4, one for IPv6): buckets in one mapping
//!
//! bucket, IPv4: 17 lines             IPv6: 33 lines
//! ┌──────────────────────────────┐
//! │ 32 tags of 16 bits  (1 line) │   0 = free; else 16 bits of the key's hash
//! ├──────────────┬───────────────┤
//! │ entry 0      │ entry 1       │   IPv4: 32 bytes, two to a line
//! │ ...          │ entry 31      │   IPv6: 64 bytes, one to a line
//! └──────────────┴───────────────┘
//!
//! entry: │ key: 2 or 5 words │ value: 1 word         │ stamp: u32     │ sequence: u32   │
//!        │ (tables::Key)     │ slot:24 epoch:32      │ last seen:31   │ odd while       │
//!        │                   │ lifetime:8            │ confirmed:1    │ being written   │
//! ```
//!
//! A key has two candidate buckets, and in each a line of its own. An entry goes into the home
//! bucket until that is three quarters full, and there into its own line if that has a free lane. A
//! look-up asks for that line and for both lines of tags at once, and compares the tags: a hit is
//! then where nine in ten keys of a half full table are, and two in three of a full one. The others
//! wait a second time, for one line more. A miss reads the tags, and an insert one entry; only when
//! both buckets are full are others' read: the one in the own lane, and if that is not dead all (at
//! most 2 × 16 lines, or 2 × 32), for a dead one or the oldest that has seen one packet (D-4). An
//! eighth more slots than configured are mapped:
//! all configured entries then fit before placement first fails. Memory for each configured entry
//! is so 38.25 bytes (IPv4) or 74.25 (IPv6), of which 2 are tags.
//!
//! # Protocol
//!
//! Entries are sequence locks whose data are relaxed atomics.
//!
//! - **Read**: load the sequence (acquire), the words, fence (acquire), load the sequence again.
//!   Odd or changed: somebody writes; the reader selects and writes nothing. If a reader saw any
//!   word of a write, the writer's release fence synchronizes with the reader's acquire fence, so
//!   the second load sees that writer's odd sequence or a later one: torn reads are always caught.
//! - **Write**: compare-and-swap the sequence from the even value that was read to odd (acquire),
//!   fence (release), store the words, then the tag, store the next even sequence (release). The
//!   swap succeeds only if nobody has written since the read, so a decision made on a snapshot
//!   (same key, dead, free lane) still holds; a refresh does not take the sequence, so the stamp is
//!   compared again. Sequences would have to wrap (2^31 writes) within one read to be mistaken.
//! - **Tags** are hints for readers: a stale one costs a compare of full keys, or an entry that was
//!   published a moment ago, never a wrong answer. A lane is written only by who holds its entry's
//!   sequence.
//! - **Refresh** is a compare-and-swap of the stamp alone, and only if it changes. A refresher that
//!   was held up meanwhile finds another stamp and leaves it; if the lane has gone to another key
//!   with the very same stamp, that entry was seen in the same tick, and at worst counts as
//!   confirmed too early.
//! - **One entry for a key**: two workers may miss and insert one key at the same time, into
//!   different lanes. Each, after publishing, passes a sequentially consistent fence (one for all that
//!   a burst has published) and looks at both buckets again. Of two such fences one is first, and the later worker's look sees the
//!   earlier one's entry. Whoever sees both kills the one at the higher position (itself, perhaps),
//!   under its sequence; so both agree, and the lowest stays. A look that meets an odd sequence
//!   passes on: its holder publishes and looks later, and then sees ours; one that gives up a write
//!   looks too. If a kill finds the sequence changed, the same holds for who changed it.
//! - **Epochs** (D-2): an entry older than its slot's epoch, or idle for the whole timeout, is a
//!   miss and is overwritten in place; one that is newer, or of an unknown slot, was made by a
//!   worker on newer Tables: select, write nothing.
//!
//! Nobody ever waits: a writer that was interrupted costs the others an entry (counted as
//! `entry_contended`), never time.
//!
//! Not covered: a moment further than 2^30 ticks back (four years) looks like the future
//! ([`Tick::since`]); the control side's rounds ([`Upkeep`]) free an entry long before.

mod bucket;
mod entry;
mod filter;
mod hash;
mod insert;
mod limit;
mod look_up;
mod mem;
mod memory;
mod numa;
mod quoted;
mod record;
mod region;
mod simd;
pub(crate) mod sync;
mod table;
mod upkeep;
mod value;
mod walk;

#[cfg(all(test, loom))]
mod model;
#[cfg(all(test, not(loom)))]
mod tests;

use std::sync::Arc;

use tables::{Tables, Tick, WorkerCounters};

pub use filter::Filter;
pub use hash::TableKey;
pub use limit::InsertLimit;
pub use mem::Pages;
pub use memory::Memory;
pub use numa::Interleaved;
pub use table::ConnectionTable;
pub use upkeep::{Census, Upkeep};
pub use value::Value;
pub use walk::{Cursor, EntryView};

use crate::batch::Batch;

/// One worker's access to the connection table.
#[derive(Clone)]
pub struct Tracker {
    table: Arc<ConnectionTable>,
    limit: InsertLimit,
}

impl Tracker {
    /// Access with an allowance of new entries (D-4).
    pub fn new(table: Arc<ConnectionTable>, limit: InsertLimit) -> Self {
        Self { table, limit }
    }

    /// The table.
    pub fn table(&self) -> &Arc<ConnectionTable> {
        &self.table
    }

    /// Decides the packets of known connections (T-1 to T-3, R-3).
    pub fn look_up<F>(
        &self,
        batch: &mut Batch<F>,
        tables: &Tables,
        now: Tick,
        counters: &WorkerCounters,
    ) {
        look_up::look_up(batch, tables, &self.table, now, counters);
    }

    /// Enters the packets that selection decided, and counts (T-1, T-3, T-19).
    pub fn record<F>(
        &mut self,
        batch: &mut Batch<F>,
        tables: &Tables,
        now: Tick,
        counters: &WorkerCounters,
    ) {
        record::record(batch, tables, &self.table, now, &mut self.limit, counters);
    }
}
