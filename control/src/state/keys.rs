//! What a reload that changes the tracking key leaves behind: for one idle timeout a miss is looked
//! up once more under the old key.

use tables::{EarlierKeys, Plan, Tick};

/// The plan `new`, which follows `old`: rows whose key changed remember the old one until `until`,
/// and all go on remembering what they did.
pub(super) fn follow(old: &Plan, mut new: Plan, now: Tick, until: Tick) -> Plan {
    for (row, before) in new.0.iter_mut().zip(&old.0) {
        let earlier = before.track_before;
        row.track_before = match (before.track, row.track) {
            (_, None) => EarlierKeys::NONE,
            (Some(old), Some(key)) if old != key => earlier.with(old, until).lasting(key, now),
            (_, Some(key)) => earlier.lasting(key, now),
        };
    }
    new
}
