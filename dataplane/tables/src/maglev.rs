//! Maglev: a hash → the member of a set (S-2 to S-5).
//!
//! Every member walks the slots in a pseudo-random order of its own, made of nothing but its name
//! and the seed, and takes the first free one whenever it is its turn. The parts:
//!
//! - `apportion`: how many slots each member gets, exactly (S-4);
//! - `turns`: the order in which members take them;
//! - `walk`: each member's order of slots, and the filling;
//! - `cache`: equal sets share one table (D-5).

mod apportion;
mod cache;
mod turns;
mod walk;

pub use cache::MaglevCache;

use crate::HashSeed;

/// One member of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member<'a> {
    /// "group/backend": what tells it from the others, on every appliance.
    pub name: &'a str,
    /// Its weight. Only the ratios count; equal weights are no weights.
    pub weight: u32,
}

/// Why there is no table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The walks visit every slot only if the size is prime.
    #[error("a Maglev table of {0} slots: the size must be a prime number")]
    NotPrime(u32),
    /// Members are numbered in 16 bits.
    #[error("{0} members are more than {max}", max = Maglev::MAX_MEMBERS)]
    TooManyMembers(usize),
    /// Every member of non-zero weight has at least one slot.
    #[error("{members} members do not fit into {size} slots")]
    TooFewSlots {
        /// Members that need a slot.
        members: usize,
        /// Slots.
        size: u32,
    },
    /// Two members of one name would want the same slots.
    #[error("two members are named {0:?}")]
    DuplicateName(String),
}

/// A Maglev lookup table. The default is that of the empty set.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Maglev {
    slots: Box<[u16]>,
}

impl Maglev {
    /// The most members of a table, those of weight zero included.
    pub const MAX_MEMBERS: usize = u16::MAX as usize;

    /// The table of `size` slots for these members.
    ///
    /// The result depends on nothing but the arguments, and not on the order of `members` (S-5).
    /// Members are numbered **by name, in byte order**: [`Maglev::lookup`] gives the index into
    /// `members` sorted so. One of weight zero is numbered but gets no slot (W-2); when all are
    /// zero they share equally (S-4).
    pub fn build(members: &[Member<'_>], size: u32, seed: &HashSeed) -> Result<Self, Error> {
        if !is_prime(size) {
            return Err(Error::NotPrime(size));
        }
        if members.len() > Self::MAX_MEMBERS {
            return Err(Error::TooManyMembers(members.len()));
        }
        let members = sorted(members)?;
        let weights = normal_weights(&members);
        let counts = apportion::apportion(&weights, size)?;
        let turns = turns::turns(&weights, &counts);
        let names = members.iter().map(|m| m.name);
        Ok(Self { slots: walk::fill(names, &turns, size, seed) })
    }

    /// The member that `hash` belongs to; `None` in the table of the empty set.
    ///
    /// The slot is `hash × size ÷ 2^64`: the high bits of the hash decide, at the price of one
    /// multiplication where a remainder costs a division. Whoever needs hash bits that are
    /// independent of the member takes low ones.
    #[inline]
    pub fn lookup(&self, hash: u64) -> Option<usize> {
        let index = (u128::from(hash) * self.slots.len() as u128) >> 64;
        self.slots.get(index as usize).map(|m| usize::from(*m))
    }

    /// Slots: the size asked for, 0 for the empty set.
    pub fn size(&self) -> usize {
        self.slots.len()
    }

    /// How many slots each of the first `members` members has; for answers and tests.
    pub fn shares(&self, members: usize) -> Vec<u32> {
        let mut shares = vec![0; members];
        for slot in &self.slots {
            if let Some(share) = shares.get_mut(usize::from(*slot)) {
                *share += 1;
            }
        }
        shares
    }
}

/// The members by name, which numbers them.
fn sorted<'a>(members: &[Member<'a>]) -> Result<Vec<Member<'a>>, Error> {
    let mut members = members.to_vec();
    members.sort_unstable_by_key(|m| m.name);
    match members.windows(2).find(|pair| pair[0].name == pair[1].name) {
        Some(pair) => Err(Error::DuplicateName(pair[0].name.into())),
        None => Ok(members),
    }
}

/// The weights in lowest terms, all zero being all equal: equal ratios make equal tables.
fn normal_weights(members: &[Member<'_>]) -> Vec<u32> {
    let divisor = members.iter().fold(0, |divisor, m| gcd(divisor, m.weight));
    members.iter().map(|m| m.weight.checked_div(divisor).unwrap_or(1)).collect()
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn is_prime(n: u32) -> bool {
    let divisors = || (2..).take_while(|d| u64::from(*d) * u64::from(*d) <= u64::from(n));
    n >= 2 && divisors().all(|d| !n.is_multiple_of(d))
}

#[cfg(test)]
mod tests;
