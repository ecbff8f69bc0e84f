//! The atomics that [`crate::publish`] is made of, in one place, so that loom can stand in for
//! them (`--cfg loom`) and try every interleaving.
//!
//! What the model does not see: `Arc` of the published values themselves (the standard library's),
//! and the counters, which order nothing.

#[cfg(loom)]
pub(crate) use loom::sync::{
    Arc, Mutex, MutexGuard,
    atomic::{AtomicPtr, AtomicU64, Ordering, fence},
};
#[cfg(not(loom))]
pub(crate) use std::sync::{
    Arc, Mutex, MutexGuard,
    atomic::{AtomicPtr, AtomicU64, Ordering, fence},
};
