//! VIPs inside a port's prefix: who asks the segment for one is answered with the port's Ethernet
//! address (docs/decisions/0010-vips-are-answered-by-us.md). VIPs that are routed to us need none
//! of it.
//!
//! Pure: frames and the time go in, frames come out. [`arp`] and [`nd`] know the two protocols,
//! [`who`] which VIPs it is about.

pub mod arp;
pub mod nd;
pub mod who;

use std::collections::{BTreeSet, VecDeque};
use std::net::IpAddr;
use std::time::Duration;

use tables::Mac;

pub use nd::solicited_node;

/// What is to be done with a frame for the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is the kernel's.
    Host,
    /// It asked for a VIP: this goes back, and the kernel does not see the question, which it would
    /// have nothing to say to.
    Answer(Vec<u8>),
}

/// What a frame says about addresses of the segment.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Said {
    /// Somebody asks who has this address; what the answer would be.
    Asks(IpAddr, Vec<u8>),
    /// Somebody says that he has it.
    Has(IpAddr, [u8; 6]),
}

/// Answers for VIPs, and tells the segment of them and of the port's own IPv4 addresses.
#[derive(Clone, Debug)]
pub struct Announcer {
    mac: [u8; 6],
    /// The port's own addresses, which the kernel answers for.
    own: Vec<IpAddr>,
    vips: BTreeSet<IpAddr>,
    /// What is to be told when.
    calls: VecDeque<Call>,
    /// New since [`Announcer::due`] was asked.
    fresh: BTreeSet<IpAddr>,
    /// When a conflict was last logged.
    complained: Option<Duration>,
}

#[derive(Clone, Debug)]
struct Call {
    at: Duration,
    address: IpAddr,
    left: u32,
}

impl Announcer {
    /// A single frame may be lost,
    const TIMES: u32 = 3;
    /// so it is said again.
    const BETWEEN: Duration = Duration::from_secs(1);
    /// A conflict goes on until somebody ends it; the log need not be full of it.
    const COMPLAINTS: Duration = Duration::from_secs(10);

    /// For a port with this Ethernet address and these addresses of its own.
    pub fn new(mac: [u8; 6], own: Vec<IpAddr>) -> Self {
        let fresh = own.iter().copied().collect();
        let (vips, calls) = Default::default();
        Self { mac, own, vips, calls, fresh, complained: None }
    }

    /// The port has these addresses now.
    pub fn set_own(&mut self, own: Vec<IpAddr>) {
        self.fresh.extend(own.iter().filter(|address| !self.own.contains(address)));
        self.own = own;
    }

    /// Answers for these from now on, and no others.
    pub fn set_vips(&mut self, vips: BTreeSet<IpAddr>) {
        self.fresh.extend(vips.difference(&self.vips));
        self.vips = vips;
    }

    /// Tells of everything again.
    pub fn again(&mut self) {
        self.fresh.extend(self.own.iter().chain(&self.vips));
    }

    /// What to do with a frame (without a VLAN tag) that a worker had for the host.
    pub fn judge(&mut self, frame: &[u8], now: Duration) -> Verdict {
        match arp::said(frame, self.mac).or_else(|| nd::said(frame, self.mac)) {
            Some(Said::Asks(address, answer)) if self.vips.contains(&address) => {
                Verdict::Answer(answer)
            }
            Some(Said::Has(address, mac)) if self.is_ours(address) && mac != self.mac => {
                self.complain(address, mac, now);
                Verdict::Host
            }
            _ => Verdict::Host,
        }
    }

    fn is_ours(&self, address: IpAddr) -> bool {
        self.vips.contains(&address) || self.own.contains(&address)
    }

    fn complain(&mut self, address: IpAddr, mac: [u8; 6], now: Duration) {
        let last = self.complained.replace(now);
        if last.is_some_and(|last| now.saturating_sub(last) < Self::COMPLAINTS) {
            self.complained = last;
            return;
        }
        let mac = Mac(mac);
        tracing::warn!(%address, %mac, "{address} is also claimed by {mac}: one of the two must not have it");
    }

    /// What is to be told at the moment `now`, at most `most` frames.
    pub fn due(&mut self, now: Duration, most: usize) -> Vec<Vec<u8>> {
        let fresh = std::mem::take(&mut self.fresh);
        self.calls.retain(|call| !fresh.contains(&call.address));
        for address in fresh {
            self.calls.push_front(Call { at: now, address, left: Self::TIMES });
        }
        let mut frames = Vec::new();
        while frames.len() < most
            && let Some(call) = self.calls.front().filter(|call| call.at <= now).cloned()
        {
            self.calls.pop_front();
            if self.is_ours(call.address) {
                frames.extend(self.frame(call.address));
                self.later(call, now);
            }
        }
        frames
    }

    /// IPv6 addresses of the port's own are left to the kernel, which knows whether it is a router.
    fn frame(&self, address: IpAddr) -> Option<Vec<u8>> {
        match address {
            IpAddr::V4(address) => arp::gratuitous(self.mac, address),
            IpAddr::V6(vip) if self.vips.contains(&address) => nd::unsolicited(self.mac, vip),
            IpAddr::V6(_) => None,
        }
    }

    /// They all come after the same time, so that the last is always the latest.
    fn later(&mut self, call: Call, now: Duration) {
        if call.left > 1 {
            let at = now + Self::BETWEEN;
            self.calls.push_back(Call { at, left: call.left - 1, ..call });
        }
    }
}

#[cfg(test)]
mod tests;
