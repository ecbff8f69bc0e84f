//! Which entries somebody asks for.

use ipnet::IpNet;
use tables::{ServiceId, SlotId};

use super::walk::EntryView;

/// Takes the entries that meet every condition that is given; the default takes all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Of this service.
    pub service: Option<ServiceId>,
    /// On this backend (of one service: D-2).
    pub slot: Option<SlotId>,
    /// Of clients in this prefix. Every kind of key has the client's address.
    pub clients: Option<IpNet>,
}

impl Filter {
    /// Whether an entry meets the conditions.
    pub fn takes(&self, entry: &EntryView) -> bool {
        self.service.is_none_or(|service| service == entry.key.service())
            && self.slot.is_none_or(|slot| slot == entry.value.slot())
            && self.clients.is_none_or(|prefix| prefix.contains(&entry.key.flow().src()))
    }
}
