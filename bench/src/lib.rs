//! What Windrose costs, measured beside DPDK's own parts in the same run. `make bench` runs all of
//! it; `docs/measurements.md` says what the figures mean and quotes a run.
//!
//! In reading order:
//!
//! - [`clock`], [`report`], [`alloc`]: time, tables of figures, counted allocations;
//! - [`traffic`] and [`recycle`]: the packets, and ports in memory that make them;
//! - [`rig`]: a worker with ports, Tables and a connection table;
//! - [`mod@unit`]: testpmd, whose time a packet is the unit of everything;
//! - [`path`]: the worker's whole way, with [`floor`], what memory alone costs;
//! - [`ports`]: the same over DPDK's ports;
//! - [`lookup`]: the connection table beside [`rte_hash`];
//! - [`scaling`], [`publication`], [`maglev`], [`instructions`], [`allocations`];
//! - [`compare`]: two revisions, from interleaved runs.
//!
//! Times are a thread's own processor time, so that others' turns on a busy machine are left out
//! (what they do to the caches is not); figures are medians of interleaved rounds.
//!
//! This crate must not know configuration, and nothing else may depend on it.

pub mod alloc;
pub mod allocations;
pub mod clock;
pub mod compare;
pub mod floor;
pub mod hugepages;
pub mod instructions;
pub mod lookup;
pub mod maglev;
pub mod path;
pub mod ports;
pub mod publication;
pub mod recycle;
pub mod report;
pub mod rig;
pub mod rte_hash;
pub mod scaling;
pub mod traffic;
pub mod unit;

/// What went wrong, in words: a bench has nobody to handle it.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;
