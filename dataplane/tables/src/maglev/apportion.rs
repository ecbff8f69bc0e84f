//! How many slots each member gets (S-4).

use std::cmp::Reverse;

use super::Error;

/// Divides `size` slots in proportion to `weights`: by largest remainder, the first of equals
/// first, so that nobody is off by as much as one slot. Whose share is less than one slot gets one
/// all the same, and the others divide the rest.
pub(super) fn apportion(weights: &[u32], size: u32) -> Result<Vec<u32>, Error> {
    let members = weights.iter().filter(|w| **w > 0).count();
    if members > size as usize {
        return Err(Error::TooFewSlots { members, size });
    }
    let pot = above_minimum(weights, size);
    let mut counts: Vec<u32> = weights.iter().map(|w| pot.whole(*w)).collect();
    let left = if members == 0 { 0 } else { size - counts.iter().sum::<u32>() };
    for member in pot.largest_remainders(weights).into_iter().take(left as usize) {
        counts[member] += 1;
    }
    Ok(counts)
}

/// What is divided once the smallest have their one slot.
struct Pot {
    slots: u64,
    weight: u64,
}

/// Takes members out of the division, smallest first, for as long as one's share is below a slot.
fn above_minimum(weights: &[u32], size: u32) -> Pot {
    let weight = weights.iter().map(|w| u64::from(*w)).sum();
    let mut pot = Pot { slots: size.into(), weight };
    let smallest = weights.iter().copied().filter(|w| *w > 0).min();
    if smallest.is_none_or(|w| !pot.is_below_one(w)) {
        return pot;
    }
    let mut ascending: Vec<u32> = weights.iter().copied().filter(|w| *w > 0).collect();
    ascending.sort_unstable();
    for weight in ascending {
        if !pot.is_below_one(weight) {
            break;
        }
        pot.slots -= 1;
        pot.weight -= u64::from(weight);
    }
    pot
}

impl Pot {
    fn is_below_one(&self, weight: u32) -> bool {
        u128::from(weight) * u128::from(self.slots) < u128::from(self.weight)
    }

    /// Whole slots of a share, at least one for a non-zero weight.
    fn whole(&self, weight: u32) -> u32 {
        if weight == 0 {
            return 0;
        }
        if self.is_below_one(weight) {
            return 1;
        }
        // At most `slots`, which came from a u32.
        (u128::from(weight) * u128::from(self.slots) / u128::from(self.weight)) as u32
    }

    /// The members that `whole` cut something off, most first.
    fn largest_remainders(&self, weights: &[u32]) -> Vec<usize> {
        let remainder = |member: &usize| {
            u128::from(weights[*member]) * u128::from(self.slots) % u128::from(self.weight)
        };
        let mut members: Vec<usize> = (0..weights.len())
            .filter(|member| weights[*member] > 0 && !self.is_below_one(weights[*member]))
            .collect();
        members.sort_by_cached_key(|member| Reverse(remainder(member)));
        members
    }
}
