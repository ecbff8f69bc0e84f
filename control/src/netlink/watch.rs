//! Which next hops the backends have now, and what of it is news (pure).

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use tables::Mac;

use super::fact::{Neighbour, Whom};
use super::mirror::Mirror;
use super::network::Network;
use crate::model::Config;
use crate::plan::wiring::{self, Ways};

/// What the ways of are watched.
#[derive(Clone, Debug, Default)]
pub(super) struct Wanted {
    /// The file in force.
    pub config: Option<Arc<Config>>,
    /// The backends' addresses.
    pub addresses: Arc<[IpAddr]>,
    /// Another number: something else is wanted.
    pub version: u64,
}

/// What was found last.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// Of the picture, and of what was wanted.
    seen: (u64, u64),
    found: Arc<Found>,
}

/// The ways that were last found. Tables are made of these and not of the picture of the moment: a
/// route that is deleted and added again is no news, and would be missing for good in Tables that
/// were made between.
#[derive(Debug, Default)]
pub(super) struct Found {
    config: Option<Arc<Config>>,
    ways: BTreeMap<IpAddr, Ways>,
}

impl Found {
    /// The ways to an address, if they were found for this file.
    pub(super) fn ways(&self, config: &Config, address: IpAddr) -> Option<&Ways> {
        let own = self.config.as_deref()?;
        std::ptr::eq(own, config).then(|| self.ways.get(&address))?
    }
}

/// Something worth a line in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Notice {
    /// There is no way to this backend any more.
    Cut(IpAddr),
    /// A next hop has this Ethernet address now; it had none, or another one.
    Resolved(IpAddr, Mac, Option<Mac>),
    /// A next hop does not answer any more.
    Lost(IpAddr, Mac),
}

impl Watch {
    /// Finds the ways anew if there is something new in the picture or in what is wanted. `None`: they are as they were.
    pub(super) fn look(&mut self, wanted: &Wanted, mirror: &Mirror) -> Option<Vec<Notice>> {
        let seen = (mirror.version(), wanted.version);
        if std::mem::replace(&mut self.seen, seen) == seen {
            return None;
        }
        let config = wanted.config.as_ref()?;
        let network = mirror.network();
        let way = |address: &IpAddr| (*address, wiring::ways(config, network, *address));
        let ways: BTreeMap<_, _> = wanted.addresses.iter().map(way).collect();
        // Tables for another file were made of the picture of the moment.
        let same_file = self.found.config.as_ref().is_some_and(|own| Arc::ptr_eq(own, config));
        if same_file && ways == self.found.ways {
            return None;
        }
        let found = Arc::new(Found { config: Some(Arc::clone(config)), ways });
        let before = std::mem::replace(&mut self.found, found);
        Some(self.notices(&before.ways))
    }

    /// Whether the picture has changed since the last look.
    pub(super) fn is_behind(&self, mirror: &Mirror) -> bool {
        self.seen.0 != mirror.version()
    }

    /// What was found.
    pub(super) fn found(&self) -> Arc<Found> {
        Arc::clone(&self.found)
    }

    /// The next hops in use that the kernel is to find out, and what it knows of them.
    pub(super) fn hops(&self, network: &Network) -> BTreeMap<Whom, Option<Neighbour>> {
        let hops = self.found.ways.values().flat_map(|ways| &ways.hops).filter(|hop| hop.asked);
        let whom = hops.filter_map(|hop| {
            let port = usize::from(hop.port.0);
            let known = network.neighbour(port, hop.neighbour);
            Some(((network.index(port)?, hop.neighbour), known))
        });
        whom.collect()
    }

    fn notices(&self, before: &BTreeMap<IpAddr, Ways>) -> Vec<Notice> {
        let had = |address| before.get(address).is_some_and(|ways| !ways.hops.is_empty());
        let cut =
            self.found.ways.iter().filter(|(address, ways)| ways.hops.is_empty() && had(*address));
        let mut notices: Vec<_> = cut.map(|(address, _)| Notice::Cut(*address)).collect();
        let (was, is) = (macs(before), macs(&self.found.ways));
        for (whom, mac) in &is {
            match (was.get(whom).copied().flatten(), *mac) {
                (old, Some(new)) if old != Some(new) => {
                    notices.push(Notice::Resolved(whom.1, new, old));
                }
                (Some(old), None) => notices.push(Notice::Lost(whom.1, old)),
                _ => {}
            }
        }
        notices
    }
}

/// Each next hop's Ethernet address, once for all the backends behind it.
fn macs(ways: &BTreeMap<IpAddr, Ways>) -> BTreeMap<(u8, IpAddr), Option<Mac>> {
    let hops = ways.values().flat_map(|ways| &ways.hops);
    hops.map(|hop| ((hop.port.0, hop.neighbour), hop.mac)).collect()
}
