//! Maglev: a hash → the member of a set.

/// A Maglev lookup table (S-2 to S-5).
#[derive(Debug, Default)]
pub struct Maglev {
    slots: Box<[u16]>,
}

impl Maglev {
    /// The member that `hash` belongs to; `None` in the empty table.
    #[inline]
    pub fn lookup(&self, hash: u64) -> Option<usize> {
        let index = (u128::from(hash) * self.slots.len() as u128) >> 64;
        self.slots.get(index as usize).map(|m| usize::from(*m))
    }
}
