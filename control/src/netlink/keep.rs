//! Which neighbours the kernel is asked for: the next hops in use, kept resolved (pure).
//!
//! Asking marks an entry as managed, and the kernel (Linux 5.16) confirms it again and again by
//! itself. An older one passes over the mark; so whatever is stale, unanswered or gone is asked for
//! again, which does no harm where the kernel does the same.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::fact::{Neighbour, Whom};

/// What to tell the kernel about a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Find it out, and keep it.
    Keep(Whom),
    /// Nobody needs it any more.
    Release(Whom),
}

/// Remembers whom the kernel was asked for.
#[derive(Debug, Default)]
pub struct Keeper {
    /// And when last.
    asked: BTreeMap<Whom, Duration>,
}

impl Keeper {
    /// A neighbour that does not answer is asked for so often; the kernel itself sends a request a
    /// second.
    const AGAIN: Duration = Duration::from_secs(1);
    /// So many requests at a time; the others come next time.
    pub const MOST: usize = 256;

    /// What to ask for at the moment `now`, of the next hops in use and what is known of each.
    /// `fixed` says whether an entry, in use or not, is the operator's by now.
    pub fn asks(
        &mut self,
        wanted: &BTreeMap<Whom, Option<Neighbour>>,
        fixed: impl Fn(&Whom) -> bool,
        now: Duration,
    ) -> Vec<Ask> {
        // To release it would take its Ethernet address away.
        self.asked.retain(|whom, _| !fixed(whom));
        let unused: BTreeSet<_> =
            self.asked.keys().filter(|whom| !wanted.contains_key(whom)).copied().collect();
        let releases = unused.into_iter().take(Self::MOST).map(Ask::Release);
        let due = wanted.iter().filter(|(whom, known)| self.is_due(whom, **known, now));
        let keeps = due.map(|(whom, _)| Ask::Keep(*whom));
        let asks: Vec<_> = releases.chain(keeps).take(Self::MOST).collect();
        for ask in &asks {
            match ask {
                Ask::Keep(whom) => self.asked.insert(*whom, now),
                Ask::Release(whom) => self.asked.remove(whom),
            };
        }
        asks
    }

    fn is_due(&self, whom: &Whom, known: Option<Neighbour>, now: Duration) -> bool {
        let last = self.asked.get(whom);
        match known {
            // Asking would make the operator's entry an ordinary one.
            Some(Neighbour::Fixed(_)) => false,
            Some(Neighbour::Known(_)) => last.is_none(),
            Some(Neighbour::Stale(_) | Neighbour::Unresolved) | None => {
                last.is_none_or(|last| now.saturating_sub(*last) >= Self::AGAIN)
            }
        }
    }
}
