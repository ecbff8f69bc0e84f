//! Model and state → [`tables::Tables`]. Pure: the same input gives the same Tables.
//!
//! - [`matrix`]: profile × affinity × tracking mode × persistence → a service's [`tables::Plan`];
//! - `pools`: an eligible set → whom each hash belongs to, before and after the zonal step;
//! - [`wiring`]: which port and next hop lead to a backend;
//! - `templates`: a backend → its outer headers; `loop_guard`: how they are known again;
//! - `loads`: the counters of each backend, from one snapshot to the next;
//! - [`zones`]: client zones, numbered;
//! - [`builder`]: all of it → one snapshot.

pub mod builder;
mod loads;
mod loop_guard;
pub mod matrix;
mod pools;
pub(crate) mod templates;
mod unbuildable;
pub mod wiring;
pub mod zones;

pub use unbuildable::Unbuildable;
