//! What a reload that changes the tracking key leaves behind: for one idle timeout a miss is looked
//! up once more under the old key.

use tables::{Plan, Tick};

/// The plan `new`, which follows `old`: rows whose key changed remember the old one until `until`,
/// the others go on remembering what they did.
pub(super) fn follow(old: &Plan, mut new: Plan, now: Tick, until: Tick) -> Plan {
    for (row, before) in new.0.iter_mut().zip(&old.0) {
        row.track_before = match (before.track, row.track) {
            (Some(old_key), Some(key)) if old_key != key => Some((old_key, until)),
            (_, None) => None,
            _ => before.track_before.filter(|(_, deadline)| deadline.since(now) > 0),
        };
    }
    new
}
