//! What share of new connections would go to another backend.

use std::collections::BTreeMap;

use tables::{Pool, SlotId};

/// The share, 0 to 1; `None` where nobody is eligible on one side.
///
/// Exact over the slots of both Maglev tables: a hash is a point of one line, and each table cuts
/// it into equal parts. Where the hash itself changes, old and new choice are independent.
pub(super) fn share(old: &Pool, new: &Pool, hash_changes: bool) -> Option<f64> {
    let (old_size, new_size) = (old.maglev.size(), new.maglev.size());
    if old_size == 0 || new_size == 0 {
        return None;
    }
    if hash_changes {
        let (old, new) = (shares(old), shares(new));
        let same = old.iter().map(|(slot, p)| p * new.get(slot).copied().unwrap_or(0.0));
        return Some(1.0 - same.sum::<f64>());
    }
    let (a, b) = (old_size as u64, new_size as u64);
    // The line is a × b units long, so that every edge of either table is a whole number.
    let (mut at, mut moved) = (0, 0);
    while at < a * b {
        let (i, j) = (at / b, at / a);
        let end = ((i + 1) * b).min((j + 1) * a);
        if choice(old, i, a) != choice(new, j, b) {
            moved += end - at;
        }
        at = end;
    }
    Some(moved as f64 / (a * b) as f64)
}

/// The share of new connections that each backend gets.
pub(super) fn shares(pool: &Pool) -> BTreeMap<SlotId, f64> {
    let size = pool.maglev.size();
    let counts = pool.maglev.shares(pool.members.len());
    let share = |count: u32| f64::from(count) / size.max(1) as f64;
    pool.members.iter().zip(counts).map(|(slot, count)| (*slot, share(count))).collect()
}

/// Whom the `slot`th of `size` slots belongs to.
fn choice(pool: &Pool, slot: u64, size: u64) -> Option<SlotId> {
    let first_hash = (u128::from(slot) << 64).div_ceil(u128::from(size));
    pool.select(first_hash as u64)
}
