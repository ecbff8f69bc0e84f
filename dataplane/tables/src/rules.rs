//! Forwarding rules: destination → rule (F-1 to F-4).
//!
//! What can be decided when the rules are read is decided then: for every address or prefix that a
//! rule names, [`RuleTable::build`] works out which rule takes which packet, those of covering
//! prefixes included. A look-up is one search for the address and one for the port.
//!
//! - `conflict`: rules that claim the same packet with the same specificity (F-3);
//! - `ports`: port → rule of one protocol at one address;
//! - `build`: the compilation.

mod build;
mod conflict;
mod ports;

pub use conflict::conflicts;

use std::net::IpAddr;
use std::sync::Arc;

use hashbrown::HashMap;
use ipnet::IpNet;

use crate::{Family, Flow, PrefixMap, ServiceId};
use ports::{PortRange, PortRules};

/// A rule's number: an index into [`RuleTable`] and the order of the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RuleId(pub u16);

/// The protocols that a rule takes (F-1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
    /// Every IP protocol, TCP and UDP included.
    L3Default,
}

/// The destination ports that a rule takes (F-2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ports {
    /// Every port, and packets without one.
    All,
    /// These, as inclusive bounds.
    Ranges(Vec<(u16, u16)>),
}

/// A rule as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleSpec {
    /// Its name, for logs and answers.
    pub name: Arc<str>,
    /// What it claims; a host prefix for a single address. Host bits do not count.
    pub address: IpNet,
    /// Which protocols.
    pub protocol: Protocol,
    /// Which destination ports.
    pub ports: Ports,
    /// Where it leads.
    pub service: ServiceId,
    /// The clients that may use it; empty: all.
    pub client_allow: Vec<IpNet>,
}

/// One rule, as a worker reads it once matched.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Its name, for logs and answers.
    pub name: Arc<str>,
    /// Where it leads.
    pub service: ServiceId,
    /// `None`: every client may use it. Boxed, for it takes 800 bytes, and a rule that hardly any has
    /// should not spread the others over as many cache lines.
    clients: Option<Box<PrefixMap<()>>>,
}

impl Rule {
    /// Whether this client may use it.
    #[inline]
    pub fn admits(&self, client: IpAddr) -> bool {
        self.clients.as_ref().is_none_or(|clients| clients.longest(client).is_some())
    }

    /// Whether every client may use it.
    #[inline]
    pub fn admits_all(&self) -> bool {
        self.clients.is_none()
    }
}

/// What the rules say about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Match {
    /// This one takes it.
    Rule(RuleId),
    /// A rule claims the address, but none takes the packet: `vip_no_rule` (F-4).
    ClaimedNoRule,
    /// No rule claims the address: for the host (F-4).
    Unclaimed,
}

/// Why there is no table. Rules are told by their place in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Rules are numbered in 16 bits.
    #[error("{0} rules are more than {max}", max = RuleTable::MAX_RULES)]
    TooMany(usize),
    /// Both claim the same packet with the same specificity (F-3).
    #[error("rules {a} and {b} claim the same packet with the same specificity")]
    Conflict {
        /// The earlier one.
        a: usize,
        /// The later one.
        b: usize,
    },
    /// No port, a range that ends before it starts, or ports of `L3_DEFAULT` (F-2).
    #[error("rule {0} lists ports that it cannot take")]
    BadPorts(usize),
}

/// All rules.
#[derive(Debug, Default)]
pub struct RuleTable {
    rules: Box<[Rule]>,
    hosts_v4: HashMap<u32, Claims, ahash::RandomState>,
    hosts_v6: HashMap<u128, Claims, ahash::RandomState>,
    /// What claims more than one address.
    prefixes: PrefixMap<Claims>,
    /// Listed ports of all claims; each claim's are together and in order.
    ranges: Box<[PortRange]>,
}

/// Which rule takes what at one address, or within one prefix. 28 bytes: with its key, half a
/// cache line.
#[derive(Clone, Copy, Debug, Default)]
struct Claims {
    tcp: PortRules,
    udp: PortRules,
    /// For every other protocol.
    other: MaybeRule,
}

/// A [`RuleId`] or none, in two bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MaybeRule(u16);

impl MaybeRule {
    const NONE: Self = Self(u16::MAX);

    fn or(self, other: Self) -> Self {
        if self == Self::NONE { other } else { self }
    }
}

impl Default for MaybeRule {
    fn default() -> Self {
        Self::NONE
    }
}

impl RuleTable {
    /// The most rules.
    pub const MAX_RULES: usize = MaybeRule::NONE.0 as usize;

    /// Compiles the rules, given in the order of the file.
    pub fn build(specs: &[RuleSpec]) -> Result<Self, Error> {
        build::build(specs)
    }

    /// The rule that takes a packet of this flow, the most specific one (F-3).
    ///
    /// `port` is the destination port that rules are matched by, which is not always the flow's:
    /// `None` for a packet without one (a non-first fragment, ICMP), which only rules for all
    /// ports take; a first UDP fragment is matched by its port although its plan has none; a later
    /// TCP fragment whose first one is known by that one's (F-2, S-6). It only counts for TCP and
    /// UDP: other protocols only an `L3_DEFAULT` rule takes.
    // A call, and the registers that it saves, would be a fifth of it.
    #[inline]
    pub fn look_up(&self, flow: &Flow, port: Option<u16>) -> Match {
        const TCP: u8 = 6;
        const UDP: u8 = 17;
        let Some(claims) = self.claims_of(flow) else { return Match::Unclaimed };
        let rule = match flow.proto() {
            TCP => claims.tcp.look_up(&self.ranges, port),
            UDP => claims.udp.look_up(&self.ranges, port),
            _ => claims.other,
        };
        if rule == MaybeRule::NONE { Match::ClaimedNoRule } else { Match::Rule(RuleId(rule.0)) }
    }

    /// Whether some rule claims this address (F-4).
    #[inline]
    pub fn is_claimed(&self, address: IpAddr) -> bool {
        self.claims(address).is_some()
    }

    /// Whether some rule names exactly this address: a VIP, and not one of a prefix of others'.
    #[inline]
    pub fn is_vip(&self, address: IpAddr) -> bool {
        match address {
            IpAddr::V4(address) => self.hosts_v4.contains_key(&address.to_bits()),
            IpAddr::V6(address) => self.hosts_v6.contains_key(&address.to_bits()),
        }
    }

    /// One rule.
    #[inline]
    pub fn rule(&self, id: RuleId) -> Option<&Rule> {
        self.rules.get(usize::from(id.0))
    }

    /// Every rule, in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = (RuleId, &Rule)> {
        (0..).map(RuleId).zip(&self.rules)
    }

    #[inline(always)]
    fn claims_of(&self, flow: &Flow) -> Option<&Claims> {
        let host = match flow.family() {
            Family::V4 => self.hosts_v4.get(&flow.dst_v4()),
            Family::V6 => self.hosts_v6.get(&flow.dst_v6()),
        };
        if host.is_some() { host } else { self.prefix_claims(flow.dst()) }
    }

    #[inline]
    fn claims(&self, address: IpAddr) -> Option<&Claims> {
        let host = match address {
            IpAddr::V4(address) => self.hosts_v4.get(&address.to_bits()),
            IpAddr::V6(address) => self.hosts_v6.get(&address.to_bits()),
        };
        if host.is_some() { host } else { self.prefix_claims(address) }
    }

    /// Apart, because most appliances have no rule for a prefix.
    #[inline(never)]
    fn prefix_claims(&self, address: IpAddr) -> Option<&Claims> {
        if self.prefixes.is_empty() { None } else { self.prefixes.longest(address) }
    }
}

#[cfg(test)]
mod tests;
