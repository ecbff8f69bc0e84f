//! A service as a worker sees it.

use std::sync::Arc;

use crate::{Maglev, Plan, SlotId, Tick};

/// A service's id, stable for as long as any of its backends has a slot; part of every tracking
/// key (T-16).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ServiceId(pub u16);

/// A client zone's id: an index into [`Service::zonal`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ZoneId(pub u16);

/// One service.
#[derive(Clone, Debug)]
pub struct Service {
    /// Its name, for logs and answers; a worker never reads it.
    pub name: Arc<str>,
    /// What to do with each class of packet.
    pub plan: Plan,
    /// An entry that no packet has matched for this many ticks has expired (T-8); at least 1.
    pub idle_ticks: u32,
    /// What was last seen at this moment or before has expired, although the timeout in force now
    /// would let it live: a longer timeout does not bring back what a shorter one has ended.
    pub idle_floor: Option<Tick>,
    /// Whom a new connection may be given to (section 3).
    pub pool: Arc<Pool>,
    /// The pool after the zonal step for clients of each zone, by [`ZoneId`]; empty when zonal
    /// affinity never applies (Z-1), then the client's zone is not even looked up.
    pub zonal: Box<[Arc<Pool>]>,
}

impl Service {
    /// The age, in ticks, at which an entry has expired by `now` (T-8).
    #[inline]
    pub fn idle_limit(&self, now: Tick) -> u32 {
        match self.idle_floor {
            None => self.idle_ticks,
            Some(floor) => self.idle_limit_above(floor, now),
        }
    }

    #[cold]
    fn idle_limit_above(&self, floor: Tick, now: Tick) -> u32 {
        match now.since(floor) {
            // So long ago that the clock has gone round.
            0 => self.idle_ticks,
            since_floor => self.idle_ticks.min(since_floor),
        }
    }
}

/// An eligible set, ready to choose from.
#[derive(Clone, Debug, Default)]
pub struct Pool {
    /// Which member a hash belongs to. Pools of equal names and weights share one (D-5).
    pub maglev: Arc<Maglev>,
    /// The members' slots, in the order that `maglev` numbers them; empty: new connections are
    /// dropped.
    pub members: Box<[SlotId]>,
}

impl Pool {
    /// The slot that `hash` selects (S-2), or `None` when nobody is eligible.
    #[inline]
    pub fn select(&self, hash: u64) -> Option<SlotId> {
        self.members.get(self.maglev.lookup(hash)?).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ClassPlan, EarlierKeys, FieldSet, Lifetime};

    fn service(idle_ticks: u32, idle_floor: Option<Tick>) -> Service {
        let row = ClassPlan {
            select: FieldSet::FIVE_TUPLE,
            track: None,
            track_before: EarlierKeys::NONE,
            syn_is_new: true,
            lifetime: Lifetime::WhileHealthy,
        };
        let pool = Arc::default();
        let plan = Plan([row; 7]);
        Service { name: "web".into(), plan, idle_ticks, idle_floor, pool, zonal: [].into() }
    }

    #[test]
    fn t8_what_a_shorter_timeout_has_ended_a_longer_one_does_not_bring_back() {
        // From 60 ticks to 600 at tick 1000: what was last seen at 940 or before is gone.
        let service = service(600, Some(Tick(940)));
        assert_eq!(service.idle_limit(Tick(1000)), 60);
        assert_eq!(service.idle_limit(Tick(1300)), 360);
        assert_eq!(service.idle_limit(Tick(5000)), 600);
        assert_eq!(super::Service { idle_floor: None, ..service }.idle_limit(Tick(1000)), 600);
    }
}
