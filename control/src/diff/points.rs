//! Where the rules of two files can differ: between two neighbouring edges of what any of them
//! claims, every packet is alike, so that one look-up tells of all.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

use crate::model::{ForwardingRule, Ports, RuleProtocol};

/// A range of addresses of one family, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Addresses {
    pub(super) four: bool,
    pub(super) first: u128,
    pub(super) last: u128,
}

impl Addresses {
    pub(super) fn of(net: &IpNet) -> Self {
        let (first, last) = (bits(net.network()), bits(net.broadcast()));
        Self { four: net.addr().is_ipv4(), first, last }
    }

    /// The address that stands for all.
    pub(super) fn example(self) -> IpAddr {
        address(self.four, self.first)
    }

    /// Where being within it can change: zero, its first address, the one behind its last.
    pub(super) fn edges(self) -> impl Iterator<Item = IpAddr> {
        let most = if self.four { u128::from(u32::MAX) } else { u128::MAX };
        let behind = self.last.checked_add(1).filter(|next| *next <= most);
        [Some(0), Some(self.first), behind]
            .into_iter()
            .flatten()
            .map(move |bits| address(self.four, bits))
    }

    pub(super) fn meets(self, next: Self) -> bool {
        self.four == next.four && self.last.checked_add(1) == Some(next.first)
    }
}

impl std::fmt::Display for Addresses {
    /// An address, else a prefix, else both ends.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (first, last) = (address(self.four, self.first), address(self.four, self.last));
        let span = self.first ^ self.last;
        let is_prefix = span & span.wrapping_add(1) == 0 && self.first & span == 0;
        match span.count_ones() {
            0 => write!(f, "{first}"),
            free if is_prefix => write!(f, "{first}/{}", if self.four { 32 } else { 128 } - free),
            _ => write!(f, "{first}-{last}"),
        }
    }
}

/// The rules of both files, by the first address that they claim.
pub(super) struct Claims<'c>(BTreeMap<(bool, u128), Vec<&'c ForwardingRule>>);

impl<'c> Claims<'c> {
    pub(super) fn of(rules: impl Iterator<Item = &'c ForwardingRule>) -> Self {
        let mut claims: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for rule in rules {
            let of = Addresses::of(&rule.address);
            claims.entry((of.four, of.first)).or_default().push(rule);
        }
        Self(claims)
    }

    /// The parts of a rule's address that no rule tells any further apart.
    pub(super) fn parts(&self, net: &IpNet) -> Vec<Addresses> {
        let Addresses { four, first, last } = Addresses::of(net);
        let within = self.0.range((four, first)..=(four, last)).flat_map(|(_, rules)| rules);
        let mut starts = BTreeSet::from([first]);
        for rule in within.filter(|rule| net.contains(&rule.address)) {
            let of = Addresses::of(&rule.address);
            starts.insert(of.first);
            starts.extend(of.last.checked_add(1).filter(|next| *next <= last));
        }
        let ends = starts.iter().skip(1).map(|next| next - 1).chain([last]);
        starts
            .iter()
            .zip(ends)
            .map(|(first, last)| Addresses { four, first: *first, last })
            .collect()
    }

    /// The parts of the ports at an address that no rule of this protocol tells any further apart.
    pub(super) fn ports(&self, at: IpAddr, protocol: RuleProtocol) -> Vec<(u16, u16)> {
        let mut starts = BTreeSet::from([1]);
        for rule in self.claiming(at).filter(|rule| rule.protocol == protocol) {
            let Ports::Ranges(ranges) = &rule.ports else { continue };
            starts.extend(ranges.iter().map(|(first, _)| *first));
            starts.extend(ranges.iter().filter_map(|(_, last)| last.checked_add(1)));
        }
        let ends = starts.iter().skip(1).map(|next| next - 1).chain([u16::MAX]);
        starts.iter().copied().zip(ends).collect()
    }

    fn claiming(&self, at: IpAddr) -> impl Iterator<Item = &'c ForwardingRule> {
        let most = if at.is_ipv4() { 32 } else { 128 };
        let covering = (0..=most).filter_map(move |length| IpNet::new(at, length).ok());
        covering.flat_map(|net| {
            let at = (net.addr().is_ipv4(), bits(net.network()));
            let rules = self.0.get(&at).into_iter().flatten().copied();
            rules.filter(move |rule| rule.address.prefix_len() == net.prefix_len())
        })
    }
}

fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(address.to_bits()),
        IpAddr::V6(address) => address.to_bits(),
    }
}

fn address(four: bool, bits: u128) -> IpAddr {
    match four {
        true => Ipv4Addr::from_bits(bits as u32).into(),
        false => Ipv6Addr::from_bits(bits).into(),
    }
}
