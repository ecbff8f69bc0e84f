//! What the control thread publishes for whoever asks: whole, immutable, and cheap to replace.

use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;
use parking_lot::Mutex;
use tables::{Key, ServiceId, SlotId, Tables, Tick};

use super::answer::BondStatus;
use crate::state::State;

/// One moment's picture.
#[derive(Clone)]
pub struct Picture {
    /// What is known of the backends.
    pub state: Arc<State>,
    /// The newest Tables.
    pub tables: Arc<Tables>,
    /// The ports, in the order of the file.
    pub links: Vec<Link>,
    /// Workers that still use old Tables.
    pub lagging: Vec<Arc<str>>,
    /// Live connections.
    pub census: Option<Arc<dyn Census>>,
}

/// What a port reports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// Whether its link is up; `None`: not asked yet.
    pub up: Option<bool>,
    /// What it lost before or behind the workers, by name.
    pub losses: Vec<(&'static str, u64)>,
    /// Its bond, if its device is one.
    pub bond: Option<BondStatus>,
}

/// Live connections, as the last round through the table counted them.
pub trait Census: Send + Sync {
    /// IPv4, IPv6, and of both those that have seen more than one packet.
    fn totals(&self) -> (u64, u64, u64);
    /// Of one service.
    fn of_service(&self, service: ServiceId) -> u64;
    /// On one backend.
    fn of_slot(&self, slot: SlotId) -> u64;
    /// When the round began: the figures are that old at most.
    fn began(&self) -> Tick;
}

/// The connection table, for whoever lists it.
pub trait Connections: Send + Sync {
    /// Calls `visit` for each live entry that meets the conditions, a slice at a time with pauses;
    /// takes as long as it takes. Stops when `visit` says so.
    fn walk(
        &self,
        wanted: &Wanted,
        view: (&Tables, Tick),
        visit: &mut dyn FnMut(&Entry) -> std::ops::ControlFlow<()>,
    );
}

/// Which entries; what is not given does not matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Of this service.
    pub service: Option<ServiceId>,
    /// On this backend.
    pub slot: Option<SlotId>,
    /// Of clients in this prefix.
    pub clients: Option<IpNet>,
    /// To an address in this prefix.
    pub vips: Option<IpNet>,
}

/// One live entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its tracking key.
    pub key: Key,
    /// Its backend.
    pub slot: SlotId,
    /// The tick of its last packet.
    pub last_seen: Tick,
    /// Whether more than its first packet was seen.
    pub confirmed: bool,
}

impl Entry {
    /// Where it sends to, if its key has that.
    pub fn vip(&self) -> Option<IpAddr> {
        self.key.fields().contains(tables::FieldSet::DST).then(|| self.key.flow().dst())
    }
}

/// Where the newest picture is to be had. Nobody holds the lock for longer than it takes to copy a
/// pointer.
#[derive(Clone)]
pub struct Pictures(Arc<Mutex<Arc<Picture>>>);

impl Pictures {
    /// Starts with one.
    pub fn new(first: Picture) -> Self {
        Self(Arc::new(Mutex::new(Arc::new(first))))
    }

    /// The newest.
    pub fn newest(&self) -> Arc<Picture> {
        Arc::clone(&self.0.lock())
    }

    /// Replaces it.
    pub fn publish(&self, picture: Picture) {
        let before = std::mem::replace(&mut *self.0.lock(), Arc::new(picture));
        // May be the last owner of old Tables: outside the lock.
        drop(before);
    }
}
