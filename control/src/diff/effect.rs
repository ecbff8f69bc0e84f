//! What becomes of packets that a rule took, and why.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;
use tables::PrefixMap;

use super::points::Addresses;
use super::traffic::Becomes;
use super::words;
use crate::model::{ForwardingRule, Ports, RuleProtocol};

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Effect {
    pub(super) becomes: Becomes,
    pub(super) why: Why,
    pub(super) service: Option<Arc<str>>,
    pub(super) by_rule: Option<Arc<str>>,
}

/// What changed of the rule that took the packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Why {
    Removed,
    Leads,
    Address,
    Protocol,
    Ports,
    /// The rule would still take them, but a more specific one does (F-3).
    Other,
    /// Fewer clients are allowed.
    Clients,
}

impl Effect {
    /// `None`: the packets still reach their service, from every client that they could come from
    /// (`leaves_out`: a rule does not allow some of them any more).
    pub(super) fn of<'r>(
        old: &ForwardingRule,
        taker: Result<&'r ForwardingRule, Becomes>,
        named: Option<&ForwardingRule>,
        at: IpAddr,
        protocol: RuleProtocol,
        leaves_out: impl FnOnce(&'r ForwardingRule) -> bool,
    ) -> Option<Self> {
        let (becomes, taker) = match taker {
            Err(becomes) => (becomes, None),
            Ok(new) if new.service != old.service => (Becomes::Service, Some(new)),
            Ok(new) if leaves_out(new) => (Becomes::ClientDenied, Some(new)),
            Ok(_) => return None,
        };
        let service = taker.filter(|_| becomes == Becomes::Service);
        Some(Self {
            becomes,
            why: match becomes {
                Becomes::ClientDenied => Why::Clients,
                _ => Why::of(named, taker, at, protocol),
            },
            service: service.map(|rule| Arc::clone(&rule.service)),
            by_rule: taker.map(|rule| Arc::clone(&rule.name)),
        })
    }
}

impl Why {
    fn of(
        named: Option<&ForwardingRule>,
        taker: Option<&ForwardingRule>,
        at: IpAddr,
        protocol: RuleProtocol,
    ) -> Self {
        let takes =
            |rule: &ForwardingRule| [protocol, RuleProtocol::L3Default].contains(&rule.protocol);
        match named {
            None => Self::Removed,
            Some(rule) if taker.is_some_and(|taker| taker.name == rule.name) => Self::Leads,
            Some(rule) if !rule.address.contains(&at) => Self::Address,
            Some(rule) if !takes(rule) => Self::Protocol,
            Some(_) if taker.is_none() => Self::Ports,
            Some(_) => Self::Other,
        }
    }

    pub(super) fn words(self, address: &str, protocol: &str, ports: &Ports) -> String {
        match self {
            Self::Removed => "the rule is removed".into(),
            Self::Leads => "the rule leads to another service".into(),
            Self::Address => format!("the rule no longer takes {address}"),
            Self::Protocol => format!("the rule no longer takes {protocol}"),
            Self::Ports => format!("the rule no longer takes {}", words::ports(ports)),
            Self::Other => "another rule takes it".into(),
            Self::Clients => "client_allow leaves out clients that were allowed".into(),
        }
    }
}

/// Whether a client of the VIP's family is in `old`, but not in `new`; an empty list has all.
pub(super) fn leaves_out(new: &[IpNet], old: &[IpNet], vip: IpAddr) -> bool {
    if new.is_empty() || new == old {
        return false;
    }
    let family = |prefix: &&IpNet| prefix.addr().is_ipv4() == vip.is_ipv4();
    let map = |list: &[IpNet]| list.iter().map(|prefix| (*prefix, ())).collect::<PrefixMap<_>>();
    let (in_new, in_old) = (map(new), map(old));
    let mut clients = BTreeSet::from([vip]);
    for prefix in new.iter().chain(old).filter(family) {
        clients.extend(Addresses::of(prefix).edges());
    }
    let allowed = |client: IpAddr| old.is_empty() || in_old.longest(client).is_some();
    clients.into_iter().any(|client| allowed(client) && in_new.longest(client).is_none())
}
