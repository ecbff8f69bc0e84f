//! Says which backends' tunnels routers complain about (S-7).

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use control::state::State;
use dataplane::icmp::PathMtus;
use tables::SlotId;

/// Workers count the errors of each backend; this is who reads them.
pub(crate) struct TunnelErrors {
    paths: Arc<PathMtus>,
    /// What was counted when it was last said.
    said: HashMap<SlotId, u32>,
    next: Duration,
}

impl TunnelErrors {
    /// How often it speaks, and of how many backends at a time: a network that has lost a rack is
    /// no reason to fill a disk. What is left out is said next time.
    const EVERY: Duration = Duration::from_secs(10);
    const MOST: usize = 8;

    /// Nothing said yet.
    pub(crate) fn new(paths: Arc<PathMtus>) -> Self {
        Self { paths, said: HashMap::new(), next: Duration::ZERO }
    }

    /// Logs what is new, if it is time.
    pub(crate) fn say(&mut self, state: &State, now: Duration) {
        if now < self.next {
            return;
        }
        self.next = now + Self::EVERY;
        let services = state.services();
        let backends = services.flat_map(|s| s.backends.iter().map(move |b| (s, b)));
        let counted = backends.map(|(s, b)| (b.slot, (s, b), self.paths.errors(b.slot)));
        for ((service, backend), errors) in news(&mut self.said, counted, Self::MOST) {
            tracing::warn!(
                service = %service.config.name,
                backend = %backend.path,
                errors,
                "ICMP errors about the tunnel to {}",
                backend.address
            );
        }
    }
}

/// Who has more errors than were said, and how many more; at most `most`.
fn news<T>(
    said: &mut HashMap<SlotId, u32>,
    counted: impl Iterator<Item = (SlotId, T, u32)>,
    most: usize,
) -> Vec<(T, u32)> {
    let more = counted.filter_map(|(slot, who, count)| {
        let before = said.get(&slot).copied().unwrap_or(0);
        (count != before).then(|| {
            said.insert(slot, count);
            (who, count.wrapping_sub(before))
        })
    });
    more.take(most).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_new_is_said_and_what_had_no_place_comes_next_time() {
        let mut said = HashMap::new();
        let counts = |counts: [u32; 3]| {
            let slots = (0..).filter_map(SlotId::new);
            slots.zip(counts).zip(["a", "b", "c"]).map(|((slot, count), who)| (slot, who, count))
        };
        assert_eq!(news(&mut said, counts([1, 0, 5]), 8), [("a", 1), ("c", 5)]);
        assert_eq!(news(&mut said, counts([1, 0, 5]), 8), []);
        assert_eq!(news(&mut said, counts([2, 3, 6]), 2), [("a", 1), ("b", 3)]);
        assert_eq!(news(&mut said, counts([2, 3, 6]), 2), [("c", 1)]);
    }
}
