//! `windrose simulate`: the real decision code over a list of events, with a virtual clock.
//!
//! - [`scenario`]: the file with the events;
//! - [`frame`]: a packet event → a real frame;
//! - [`desk`]: the worker that frames go through; the binary brings the real one;
//! - [`setting`]: what a desk has where a machine has cables;
//! - [`simulator`]: state, planner and desk under the virtual clock, one event after the other;
//! - [`result`]: what is printed of each event.
//!
//! Health, drains, epochs, eligible sets, plans and Maglev tables are those of the control thread
//! ([`crate::state`], [`crate::plan`]); parsing, classification, tracking and selection are the
//! worker's, behind [`desk::Desk`].

pub mod desk;
pub mod frame;
pub mod result;
pub mod scenario;
pub mod setting;
pub mod simulator;

pub use desk::Desk;
pub use result::EventResult;
pub use scenario::Scenario;
pub use simulator::{Simulator, Stop};
