//! Each member's own order of the slots, and filling them.
//!
//! A member's order is `start + k × skip` modulo the size, both taken from the keyed hash of its
//! name; the size is prime, so it visits every slot once. Finding the next free slot is the cost
//! of a table: `size × ln(size)` steps if each is walked, half of them for the last `√size` slots.
//! So there the walk is turned round: which of the few free slots comes first in this member's
//! order? The result is the same.

use siphasher::sip128::{Hasher128, SipHasher13};
use std::hash::Hasher;

use crate::HashSeed;

/// Gives the slots away, one a turn.
pub(super) fn fill<'a>(
    names: impl Iterator<Item = &'a str>,
    turns: &[u16],
    size: u32,
    seed: &HashSeed,
) -> Box<[u16]> {
    let mut walks: Vec<Walk> = names.map(|name| Walk::of(name, size, seed)).collect();
    let mut slots = vec![0; turns.len()].into_boxed_slice();
    let mut taken = Taken::none(size);
    let (early, late) = turns.split_at(turns.len() - turns.len().isqrt());
    for member in early {
        let walk = &mut walks[usize::from(*member)];
        let slot = walk.take_free(&mut taken, size);
        slots[slot as usize] = *member;
    }
    let mut free = taken.free(turns.len());
    for member in late {
        let walk = &walks[usize::from(*member)];
        if let Some(first) = walk.first_of(&free, size) {
            slots[free.swap_remove(first) as usize] = *member;
        }
    }
    slots
}

/// Where a member is on its way.
struct Walk {
    /// The next slot in its order.
    at: u32,
    /// From each slot to the next, 1 to `size - 1`.
    skip: u32,
}

impl Walk {
    fn of(name: &str, size: u32, seed: &HashSeed) -> Self {
        let mut hasher = SipHasher13::new_with_key(&seed.0);
        hasher.write(name.as_bytes());
        let hash = hasher.finish128();
        let (size, steps) = (u64::from(size), u64::from(size) - 1);
        Self { at: (hash.h1 % size) as u32, skip: (hash.h2 % steps + 1) as u32 }
    }

    /// Takes the next free slot. There must be one.
    fn take_free(&mut self, taken: &mut Taken, size: u32) -> u32 {
        let mut at = self.at;
        // Where a walk ends cannot be predicted, and a wrong guess costs more than a few steps:
        // most walks end within these, which are taken without a branch.
        for _ in 0..4 {
            let next = step(at, self.skip, size);
            at = std::hint::select_unpredictable(taken.has(at), next, at);
        }
        while taken.has(at) {
            at = step(at, self.skip, size);
        }
        taken.add(at);
        self.at = step(at, self.skip, size);
        at
    }

    /// Which of the free slots comes first, as an index into `free`.
    fn first_of(&self, free: &[u32], size: u32) -> Option<usize> {
        // A slot at distance d comes after d ÷ skip (modulo the size) steps. That, as a fraction
        // of the size, is the fractional part of d × (1/skip) ÷ size: in units of 2^-64 it is one
        // wrapping multiplication. The rounding of `per_slot` adds up to less than `size` units,
        // and neighbouring values are 2^64 ÷ size apart, so the order is exact for any u32 size.
        let per_slot = fraction(inverse(self.skip, size), size);
        let steps = |slot: u32| {
            let distance = if slot >= self.at { slot - self.at } else { slot + (size - self.at) };
            per_slot.wrapping_mul(distance.into())
        };
        (0..free.len()).min_by_key(|i| steps(free[*i]))
    }
}

/// One step on. `at` and `skip` are below `size`.
#[inline]
fn step(at: u32, skip: u32, size: u32) -> u32 {
    // Without a branch and without overflow, also for sizes beyond 2^31.
    let back = size - skip;
    if at >= back { at - back } else { at + skip }
}

/// `part ÷ size` in units of 2^-64, rounded down.
fn fraction(part: u32, size: u32) -> u64 {
    ((u128::from(part) << 64) / u128::from(size)) as u64
}

/// The number whose product with `number` is 1 modulo the prime `size`.
fn inverse(number: u32, size: u32) -> u32 {
    // Euclid's algorithm: `a` and `b` are `x` and `y` times `number`, modulo `size`.
    let (mut a, mut b) = (size, number);
    let (mut x, mut y) = (0, 1);
    while b != 0 {
        let quotient = a / b;
        (a, b) = (b, a - quotient * b);
        (x, y) = (y, x - i64::from(quotient) * y);
    }
    x.rem_euclid(size.into()) as u32
}

/// Which slots are taken, a bit each: 65,537 of them fit the first-level cache.
struct Taken(Vec<u64>);

impl Taken {
    fn none(size: u32) -> Self {
        Self(vec![0; size.div_ceil(64) as usize])
    }

    #[inline]
    fn has(&self, slot: u32) -> bool {
        self.0[slot as usize / 64] >> (slot % 64) & 1 != 0
    }

    #[inline]
    fn add(&mut self, slot: u32) {
        self.0[slot as usize / 64] |= 1 << (slot % 64);
    }

    /// The free ones among the first `size`.
    fn free(&self, size: usize) -> Vec<u32> {
        (0..size as u32).filter(|slot| !self.has(*slot)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inverse_undoes_the_multiplication() {
        for size in [2, 3, 13, 65_537, 4_294_967_291] {
            for number in [1, 2, 3, 12, 65_536, size - 1].into_iter().filter(|n| *n < size) {
                let product = u64::from(inverse(number, size)) * u64::from(number);
                assert_eq!(product % u64::from(size), 1, "{number} modulo {size}");
            }
        }
    }

    #[test]
    fn the_first_free_slot_is_the_one_that_walking_finds() {
        for (at, skip, size) in
            [(0, 1, 13), (5, 12, 13), (7, 3, 4_294_967_291u32), (2, 65_000, 65_537)]
        {
            let walk = Walk { at, skip };
            let order: Vec<u32> = std::iter::successors(Some(at), |at| Some(step(*at, skip, size)))
                .take(13)
                .collect();
            for earlier in 0..order.len() {
                let free: Vec<u32> = order[earlier..].iter().rev().copied().collect();
                assert_eq!(walk.first_of(&free, size).map(|i| free[i]), Some(order[earlier]));
            }
        }
    }
}
