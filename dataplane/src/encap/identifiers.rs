//! The identification of outer IPv4 headers.

/// One worker's counter. The outer header has DF set, so that its identification means nothing
/// (RFC 6864); it still must not be constant (N-1), since some receivers coalesce by it.
#[derive(Clone, Debug, Default)]
pub struct Identifiers(u16);

impl Identifiers {
    /// Starts at `first`; workers start apart.
    pub fn starting_at(first: u16) -> Self {
        Self(first)
    }

    /// The next one; wraps.
    #[inline]
    pub fn take(&mut self) -> u16 {
        let id = self.0;
        self.0 = id.wrapping_add(1);
        id
    }
}
