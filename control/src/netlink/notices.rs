//! What is logged of next hops, and no more than a person can read.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

use netlink_packet_core::NetlinkPayload;

use super::mirror::Message;
use super::request::RESOLVE;
use super::watch::Notice;

/// Says what has changed; notices a next hop whose Ethernet address goes to and fro, as it does when
/// two machines have its address.
#[derive(Debug, Default)]
pub(super) struct Notices {
    changes: HashMap<IpAddr, Changes>,
    refused: bool,
}

#[derive(Debug)]
struct Changes {
    since: Duration,
    count: u32,
}

impl Notices {
    /// Lines for each look.
    const MOST: usize = 8;
    /// So many changes of an address
    const MANY: u32 = 3;
    /// within so long are said to be suspicious, once for as long as that.
    const WHILE: Duration = Duration::from_secs(60);

    /// Logs what was found at the moment `now`.
    pub(super) fn say(&mut self, notices: &[Notice], now: Duration) {
        for notice in notices.iter().take(Self::MOST) {
            log(notice);
        }
        if let Some(more) = notices.len().checked_sub(Self::MOST).filter(|more| *more > 0) {
            tracing::info!("{more} more next hops or backends have changed");
        }
        for neighbour in self.suspicious(notices, now) {
            tracing::warn!(
                %neighbour,
                "next hop {neighbour} changes its Ethernet address again and again: two machines may have its address"
            );
        }
    }

    /// Says, once, that the kernel does not take a request for a neighbour.
    pub(super) fn refusal(&mut self, message: &Message) {
        let NetlinkPayload::Error(error) = &message.payload else { return };
        let ours = message.header.sequence_number == RESOLVE && error.code.is_some();
        if ours && !std::mem::replace(&mut self.refused, true) {
            tracing::warn!(
                "the kernel refuses to resolve a next hop ({error}); with more than 1,000 backends on link raise net.ipv4.neigh.default.gc_thresh3 and net.ipv6.neigh.default.gc_thresh3"
            );
        }
    }

    /// The next hops that have changed their Ethernet address too often.
    fn suspicious(&mut self, notices: &[Notice], now: Duration) -> Vec<IpAddr> {
        self.changes.retain(|_, changes| now.saturating_sub(changes.since) < Self::WHILE);
        let changed = notices.iter().filter_map(|notice| match notice {
            Notice::Resolved(neighbour, _, Some(_)) => Some(*neighbour),
            _ => None,
        });
        let mut suspicious = Vec::new();
        for neighbour in changed {
            let first = Changes { since: now, count: 0 };
            let changes = self.changes.entry(neighbour).or_insert(first);
            changes.count += 1;
            if changes.count == Self::MANY {
                suspicious.push(neighbour);
            }
        }
        suspicious
    }
}

fn log(notice: &Notice) {
    match notice {
        Notice::Cut(backend) => {
            tracing::warn!(address = %backend, "no route leads to backend {backend} any more");
        }
        Notice::Resolved(neighbour, mac, None) => {
            let (from, to) = ("unknown", mac);
            tracing::info!(%neighbour, from, %to, "next hop {neighbour} is at {to}");
        }
        Notice::Resolved(neighbour, to, Some(from)) => {
            tracing::info!(%neighbour, %from, %to, "next hop {neighbour} is at {to} now, no longer at {from}");
        }
        Notice::Lost(neighbour, from) => {
            let to = "unknown";
            tracing::warn!(%neighbour, %from, to, "next hop {neighbour}, last at {from}, does not answer any more");
        }
    }
}

#[cfg(test)]
mod tests {
    use tables::Mac;

    use super::*;

    #[test]
    fn an_address_that_goes_to_and_fro_is_said_once_a_minute() {
        let mut notices = Notices::default();
        let mac = |last| Mac([2, 0, 0, 0, 0, last]);
        let change = [Notice::Resolved(IpAddr::from([10, 0, 0, 1]), mac(1), Some(mac(2)))];
        let mut said = Vec::new();
        for second in 0..120 {
            let suspicious = notices.suspicious(&change, Duration::from_secs(second));
            said.extend((!suspicious.is_empty()).then_some(second));
        }
        assert_eq!(said, [2, 62]);
        let found = [Notice::Resolved(IpAddr::from([10, 0, 0, 2]), mac(1), None)];
        assert!((0..9).all(|s| notices.suspicious(&found, Duration::from_secs(s)).is_empty()));
    }
}
