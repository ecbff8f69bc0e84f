//! Model and state → [`tables::Tables`].
//!
//! - [`matrix`]: profile × affinity × tracking mode × persistence → a service's [`tables::Plan`].

pub mod matrix;
