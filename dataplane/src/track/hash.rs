//! Where a key belongs: the table's own hash, keyed per process.

use std::hash::{BuildHasher, Hasher};

use ahash::RandomState;

use super::bucket::LANES;

/// Keys the table's hash, so that a client cannot aim at one bucket. In-process only: selection
/// has a hash of its own (D-6).
#[derive(Clone)]
pub struct TableKey(RandomState);

impl TableKey {
    /// Another one for each process.
    pub fn random() -> Self {
        Self(RandomState::new())
    }

    /// The same one again: for simulations and tests.
    pub fn fixed(seed: u64) -> Self {
        Self(RandomState::with_seeds(seed, !seed, seed.rotate_left(32), seed ^ 0x5555_5555))
    }

    #[inline]
    pub(crate) fn hash<const W: usize>(&self, words: &[u64; W]) -> u64 {
        let mut hasher = self.0.build_hasher();
        let (pairs, rest) = words.as_chunks::<2>();
        for [a, b] in pairs {
            hasher.write_u128(u128::from(*a) << 64 | u128::from(*b));
        }
        for word in rest {
            hasher.write_u64(*word);
        }
        hasher.finish()
    }
}

impl std::fmt::Debug for TableKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TableKey(secret)")
    }
}

/// The two buckets that may hold a key, and its tag in both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) home: u32,
    pub(super) other: u32,
    /// Never 0: that marks a free lane.
    pub(super) tag: u16,
    /// The lane that it is to have if that is free, in either bucket: then a look-up needs no tags.
    pub(super) lane: u8,
}

impl Place {
    /// The place of a hash among `buckets`, at least 2. The second bucket comes from a remix of
    /// all bits, so that keys that share the first one and the tag rarely share the second.
    #[inline]
    pub(super) fn of(hash: u64, buckets: u32) -> Self {
        let scale = |bits: u64| (((bits >> 32) * u64::from(buckets)) >> 32) as u32;
        let home = scale(hash);
        let other = scale(hash.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let next = if home + 1 == buckets { 0 } else { home + 1 };
        let tag = hash as u16;
        let lane = (hash >> 16) as u8 % LANES as u8;
        Self { home, other: if other == home { next } else { other }, tag: tag.max(1), lane }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_two_different_buckets_in_range_and_a_tag() {
        let key = TableKey::fixed(1);
        for buckets in [2, 3, 36, 1 << 20] {
            for i in 0..10_000 {
                let place = Place::of(key.hash(&[i, 7]), buckets);
                assert!(place.home < buckets && place.other < buckets);
                assert!(place.home != place.other && place.tag != 0);
            }
        }
    }

    #[test]
    fn another_key_scatters_another_way() {
        let (a, b) = (TableKey::fixed(1), TableKey::fixed(2));
        assert_ne!(a.hash(&[1, 2, 3, 4, 5]), b.hash(&[1, 2, 3, 4, 5]));
        assert_eq!(a.hash(&[1, 2]), TableKey::fixed(1).hash(&[1, 2]));
    }
}
