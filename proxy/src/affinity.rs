//! What a connection's affinity hash is over.

use tables::FieldSet;

/// `session_affinity` of a proxy service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Affinity {
    /// Five-tuple.
    #[default]
    None,
    /// Source and destination address.
    ClientIp,
}

impl Affinity {
    /// The fields of the hash.
    pub fn fields(self) -> FieldSet {
        match self {
            Self::None => FieldSet::FIVE_TUPLE,
            Self::ClientIp => FieldSet::TWO_TUPLE,
        }
    }
}
