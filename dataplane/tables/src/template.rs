//! Outer headers, prepared once per backend (D-8).

/// The outer header for one backend and one inner family.
#[derive(Clone, Debug)]
pub struct Template {}
