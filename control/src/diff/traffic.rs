//! What rules no longer bring to their service: dropped, for the host, or another service's.
//!
//! Both rule tables are asked at every point where they can differ (`points`), so a port that
//! another rule of the same service takes over is not lost.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Serialize, Serializer};
use tables::rules::Match;
use tables::{Flow, RuleTable};

use super::Side;
use super::effect::{self, Effect, Why};
use super::points::{Addresses, Claims};
use crate::model::written::Written;
use crate::model::{ForwardingRule, Ports, RuleProtocol};

/// Traffic of a service that would not reach it any more. Its established connections end at once:
/// the rule is looked up for every packet, before the entry.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Traffic {
    /// The rule that takes it in the old file.
    pub rule: String,
    /// Destination: an address, a prefix, or `FIRST-LAST`.
    pub address: String,
    /// `TCP`, `UDP`, `other protocols`, or `L3_DEFAULT` for all of them.
    pub protocol: String,
    /// Destination ports.
    #[serde(serialize_with = "as_written")]
    pub ports: Ports,
    /// What would become of it.
    pub becomes: Becomes,
    /// The service that would get it, for [`Becomes::Service`].
    pub service: Option<String>,
    /// The rule that takes it in the new file.
    pub by_rule: Option<String>,
    /// The share of these established connections that would end, 1; null: those of some clients.
    pub established_cut: Option<f64>,
    /// Why.
    pub why: String,
}

/// Where traffic goes that a service loses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Becomes {
    /// To another service.
    Service,
    /// Dropped: the address is claimed, but no rule takes it (F-4).
    VipNoRule,
    /// To the host: no rule claims the address (F-4).
    Host,
    /// Dropped for some of the clients that the old file allows.
    ClientDenied,
}

type Rules<'c> = HashMap<&'c str, &'c ForwardingRule>;
type PortRanges = Vec<(u16, u16)>;
type Rows = BTreeMap<(Effect, Place), Vec<(Addresses, PortRanges)>>;

/// A place in [`PROTOCOLS`].
type Place = usize;

/// What stands for the packets of a protocol: its number, and the rules that list ports of it.
const PROTOCOLS: [(u8, &str, RuleProtocol); 3] = [
    (6, "TCP", RuleProtocol::Tcp),
    (17, "UDP", RuleProtocol::Udp),
    (1, "other protocols", RuleProtocol::L3Default),
];

/// What each service of the old file loses, by the service's name.
pub(super) fn lost(before: &Side, after: &Side) -> BTreeMap<String, Vec<Traffic>> {
    let (old, new) = (&before.config.rules, &after.config.rules);
    let compared = Compared {
        claims: Claims::of(old.iter().chain(new)),
        old: (&before.tables.rules, named(old)),
        new: (&after.tables.rules, named(new)),
        left_out: RefCell::default(),
    };
    let mut rows = compared.rows_of_all(old);
    let mut lost: BTreeMap<String, Vec<Traffic>> = BTreeMap::new();
    for rule in old {
        let traffic = told(rule, rows.remove(&*rule.name).unwrap_or_default());
        if !traffic.is_empty() {
            lost.entry(rule.service.to_string()).or_default().extend(traffic);
        }
    }
    lost
}

fn named(rules: &[ForwardingRule]) -> Rules<'_> {
    rules.iter().map(|rule| (&*rule.name, rule)).collect()
}

struct Compared<'c> {
    claims: Claims<'c>,
    old: (&'c RuleTable, Rules<'c>),
    new: (&'c RuleTable, Rules<'c>),
    /// Whether the second rule leaves out clients of the first one: lists may be long, and two
    /// rules meet at many ports.
    left_out: RefCell<HashMap<[&'c str; 2], bool>>,
}

impl<'c> Compared<'c> {
    /// Each rule's, by its name. Rules of one address are looked at together: its parts are found
    /// once, and each rule looks at its own ports only, so that thousands of them stay linear.
    fn rows_of_all(&self, rules: &'c [ForwardingRule]) -> HashMap<&'c str, Rows> {
        let mut neighbours: BTreeMap<IpNet, Vec<&ForwardingRule>> = BTreeMap::new();
        for rule in rules {
            neighbours.entry(rule.address).or_default().push(rule);
        }
        let mut all = HashMap::new();
        for (address, rules) in neighbours {
            for part in self.claims.parts(&address) {
                for place in 0..PROTOCOLS.len() {
                    self.add_rows(&mut all, &rules, part, place);
                }
            }
        }
        all
    }

    /// Of the rules of one address, what becomes of one protocol's packets to a part of it.
    fn add_rows(
        &self,
        all: &mut HashMap<&'c str, Rows>,
        rules: &[&'c ForwardingRule],
        part: Addresses,
        place: Place,
    ) {
        let (_, _, protocol) = PROTOCOLS[place];
        let takes = |rule: &&&ForwardingRule| {
            rule.protocol == protocol || rule.protocol == RuleProtocol::L3Default
        };
        let mut rules = rules.iter().filter(takes).peekable();
        if rules.peek().is_none() {
            return;
        }
        let pieces = self.claims.ports(part.example(), protocol);
        for rule in rules {
            let own = pieces_of(&pieces, &rule.ports);
            for (effect, ports) in self.effects(rule, part.example(), place, own) {
                let rows = all.entry(&*rule.name).or_default();
                add(rows.entry((effect, place)).or_default(), part, ports);
            }
        }
    }

    /// What becomes of a rule's packets of one protocol at one address, and on which of its ports.
    fn effects(
        &self,
        rule: &'c ForwardingRule,
        at: IpAddr,
        place: Place,
        ports: impl Iterator<Item = (u16, u16)>,
    ) -> BTreeMap<Effect, PortRanges> {
        let mut effects: BTreeMap<Effect, PortRanges> = BTreeMap::new();
        let (number, _, protocol) = PROTOCOLS[place];
        for (first, last) in ports {
            let of = (at, number, first);
            if !taker(&self.old, of).is_ok_and(|old| old.name == rule.name) {
                continue;
            }
            let new = taker(&self.new, of);
            let named = self.new.1.get(&*rule.name).copied();
            let leaves_out = |new| self.leaves_out(rule, new, at);
            if let Some(effect) = Effect::of(rule, new, named, at, protocol, leaves_out) {
                join(effects.entry(effect).or_default(), (first, last));
            }
        }
        effects
    }

    fn leaves_out(&self, old: &'c ForwardingRule, new: &'c ForwardingRule, at: IpAddr) -> bool {
        let mut known = self.left_out.borrow_mut();
        *known
            .entry([&*old.name, &*new.name])
            .or_insert_with(|| effect::leaves_out(&new.client_allow, &old.client_allow, at))
    }
}

/// Those of the pieces that a rule lists, in ascending order; every range of it begins and ends
/// with one.
fn pieces_of(pieces: &[(u16, u16)], ports: &Ports) -> impl Iterator<Item = (u16, u16)> {
    let mut ranges = match ports {
        Ports::All => vec![(1, u16::MAX)],
        Ports::Ranges(ranges) => ranges.clone(),
    };
    ranges.sort_unstable();
    ranges.into_iter().flat_map(|(first, last)| {
        let begin = pieces.partition_point(|piece| piece.0 < first);
        let rest = pieces.get(begin..).unwrap_or_default();
        rest.iter().copied().take_while(move |piece| piece.1 <= last)
    })
}

/// Who takes a packet, else what becomes of it.
fn taker<'c>(
    (table, rules): &(&'c RuleTable, Rules<'c>),
    (at, protocol, port): (IpAddr, u8, u16),
) -> Result<&'c ForwardingRule, Becomes> {
    let flow = match at {
        IpAddr::V4(at) => Flow::v4([0; 4], at.octets(), protocol, 0, port),
        IpAddr::V6(at) => Flow::v6([0; 16], at.octets(), protocol, 0, port),
    };
    match table.look_up(&flow, Some(port)) {
        Match::Rule(id) => {
            let rule = table.rule(id).and_then(|rule| rules.get(&*rule.name).copied());
            rule.ok_or(Becomes::VipNoRule)
        }
        Match::ClaimedNoRule => Err(Becomes::VipNoRule),
        Match::Unclaimed => Err(Becomes::Host),
    }
}

fn join(ranges: &mut PortRanges, next: (u16, u16)) {
    match ranges.last_mut() {
        Some(last) if last.1.checked_add(1) == Some(next.0) => last.1 = next.1,
        _ => ranges.push(next),
    }
}

fn add(rows: &mut Vec<(Addresses, PortRanges)>, part: Addresses, ports: PortRanges) {
    match rows.last_mut() {
        Some((before, same)) if before.meets(part) && *same == ports => before.last = part.last,
        _ => rows.push((part, ports)),
    }
}

/// Protocols that fare alike are told together.
fn told(rule: &ForwardingRule, rows: Rows) -> Vec<Traffic> {
    let mut alike: BTreeMap<(Effect, Addresses, PortRanges), Vec<&str>> = BTreeMap::new();
    for ((effect, place), rows) in rows {
        for (addresses, ports) in rows {
            let key = (effect.clone(), addresses, ports);
            alike.entry(key).or_default().push(PROTOCOLS[place].1);
        }
    }
    let of =
        |((effect, addresses, ports), protocols): ((Effect, Addresses, PortRanges), Vec<_>)| {
            let address = addresses.to_string();
            let protocol = match protocols.len() {
                3 => "L3_DEFAULT".to_owned(),
                _ => protocols.join(", "),
            };
            let ports = match *ports {
                [(1, u16::MAX)] => Ports::All,
                _ => Ports::Ranges(ports),
            };
            Traffic {
                rule: rule.name.to_string(),
                why: effect.why.words(&address, &protocol, &ports),
                address,
                protocol,
                ports,
                becomes: effect.becomes,
                service: effect.service.as_deref().map(str::to_owned),
                by_rule: effect.by_rule.as_deref().map(str::to_owned),
                established_cut: (effect.why != Why::Clients).then_some(1.0),
            }
        };
    alike.into_iter().map(of).collect()
}

fn as_written<S: Serializer>(ports: &Ports, serializer: S) -> Result<S::Ok, S::Error> {
    ports.written().serialize(serializer)
}
