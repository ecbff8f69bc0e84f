//! Why there are no Tables for a state.

use std::sync::Arc;

use tables::template::MixedFamilies;
use tables::{maglev, rules};

/// Why no Tables can be built. A configuration that was loaded does not lead here; the last good
/// Tables go on (D-12).
#[derive(Clone, Debug, thiserror::Error)]
pub enum Unbuildable {
    /// No Maglev table.
    #[error("service \"{service}\": {error}")]
    Maglev {
        /// Whose.
        service: Arc<str>,
        /// Why.
        error: maglev::Error,
    },
    /// No outer header.
    #[error("{backend}: {error}")]
    Template {
        /// Whose.
        backend: String,
        /// Why.
        error: MixedFamilies,
    },
    /// No outer source of the backend's family.
    #[error("{backend}: [encapsulation] source has no address of its family")]
    NoSource {
        /// Whose.
        backend: String,
    },
    /// Rules that contradict each other.
    #[error(transparent)]
    Rules(#[from] rules::Error),
}
