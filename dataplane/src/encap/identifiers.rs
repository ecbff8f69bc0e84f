//! The identification of outer IPv4 headers.

/// One worker's counter. Most outer headers have DF set, so that their identification means nothing
/// (RFC 6864); it still must not be constant (N-1), since some receivers coalesce by it. Where it
/// is clear (`fragment_oversize`), a backend that has to put fragments together tells 65,536
/// packets apart, fewer with several workers: what RFC 6864 says of IPv4 at such rates holds.
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
