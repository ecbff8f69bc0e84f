//! A service as a worker sees it.

use std::sync::Arc;

use crate::{Maglev, Plan, SlotId};

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
    /// Whom a new connection may be given to (section 3).
    pub pool: Arc<Pool>,
    /// The pool after the zonal step for clients of each zone, by [`ZoneId`]; empty when zonal
    /// affinity never applies (Z-1), then the client's zone is not even looked up.
    pub zonal: Box<[Arc<Pool>]>,
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
