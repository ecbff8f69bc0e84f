//! What a table takes, and how to say it.

use std::fmt;

use super::region::Region;

/// What a table takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Bytes mapped for IPv4 entries, whole huge pages.
    pub v4_bytes: usize,
    /// Bytes mapped for IPv6 entries, whole huge pages.
    pub v6_bytes: usize,
    /// Bytes for each configured IPv4 entry, tags and spare slots included, rounded up.
    pub per_v4_entry: usize,
    /// Bytes for each configured IPv6 entry, the same.
    pub per_v6_entry: usize,
}

impl Memory {
    /// What a table for this many entries of each family would take; maps nothing.
    pub fn of(v4_entries: u32, v6_entries: u32) -> Self {
        let configured = (v4_entries, v6_entries);
        Self::new(
            configured,
            Region::<2>::bytes_for(v4_entries),
            Region::<5>::bytes_for(v6_entries),
        )
    }

    pub(super) fn new((v4, v6): (u32, u32), v4_bytes: usize, v6_bytes: usize) -> Self {
        Self {
            v4_bytes,
            v6_bytes,
            per_v4_entry: Region::<2>::bytes_of(v4).div_ceil(v4.max(1) as usize),
            per_v6_entry: Region::<5>::bytes_of(v6).div_ceil(v6.max(1) as usize),
        }
    }

    /// Bytes in all.
    pub fn bytes(&self) -> usize {
        self.v4_bytes.saturating_add(self.v6_bytes)
    }
}

/// For logs and `windrose check`.
impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} MB ({} bytes an IPv4 entry, {} an IPv6 entry, tags and spare slots included)",
            self.bytes() >> 20,
            self.per_v4_entry,
            self.per_v6_entry
        )
    }
}
