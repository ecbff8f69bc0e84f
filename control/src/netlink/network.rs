//! The kernel's routes, neighbours and links, as far as they concern our host interfaces.
//!
//! Which routes count: those of the tables that routing rules without conditions lead to (without
//! rules of its own a kernel has `main` and `default`), and of them those whose output is one of
//! our host interfaces: Windrose can send nowhere else. A next hop whose interface is down or has
//! no carrier does not count, and a route that has no other one neither: then the next best
//! decides.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;

use super::fact::{Fact, Neighbour, Rule, Whom};
use super::route::{Hop, Place, Route};
use super::table::{Effect, Table};

/// The tables of a kernel that nobody has given other rules: main, default.
const USUAL: [u32; 2] = [254, 253];

/// The picture. Interfaces are numbered as they were given: by port.
#[derive(Clone, Debug, Default)]
pub struct Network {
    interfaces: Vec<Interface>,
    rules: BTreeSet<Rule>,
    tables: BTreeMap<u32, Table>,
    neighbours: HashMap<Whom, Neighbour>,
}

/// One of our host interfaces.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Interface {
    /// Empty: the port has none.
    name: String,
    /// The kernel's number for it, while it exists.
    index: Option<u32>,
    up: bool,
}

/// The kernel's verdict on an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// There is a way.
    Through(Way),
    /// A route of this prefix length says that nothing shall be sent there.
    Nowhere(u8),
    /// No route over our interfaces.
    NoRoute,
}

/// A way to an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Way {
    /// The length of the route's prefix, bits.
    pub length: u8,
    /// At least one.
    pub steps: Vec<Step>,
    /// The largest IP packet that it takes, if the route says so.
    pub mtu: Option<u32>,
}

/// One next hop of a way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Which of our interfaces leads there, by its place in the list that was given.
    pub interface: usize,
    /// Who is asked for an Ethernet address: the router, or the destination itself.
    pub neighbour: IpAddr,
    /// Its share of the flows, at least 1.
    pub weight: u16,
    /// What the kernel knows of that neighbour; `None`: nobody has asked yet.
    pub known: Option<Neighbour>,
}

impl Network {
    /// Nothing known, of these interfaces; an empty name stands for a port that has none.
    pub fn new<S: Into<String>>(interfaces: impl IntoIterator<Item = S>) -> Self {
        let interface = |name: S| Interface { name: name.into(), index: None, up: false };
        Self { interfaces: interfaces.into_iter().map(interface).collect(), ..Self::default() }
    }

    /// Whether an interface exists, is up and has a carrier.
    pub fn is_up(&self, interface: usize) -> bool {
        self.interfaces.get(interface).is_some_and(|i| i.up)
    }

    /// The kernel's number for an interface, while it exists.
    pub fn index(&self, interface: usize) -> Option<u32> {
        self.interfaces.get(interface)?.index
    }

    /// How an address is reached, by the longest prefix.
    pub fn route(&self, to: IpAddr) -> Verdict {
        let usable = |route: &Route| self.steps(route, to).next().is_some() || nowhere(route);
        let tables = self.tables_for(to).filter_map(|number| self.tables.get(&number));
        for (length, route) in tables.filter_map(|table| table.best(to, usable)) {
            match route {
                Route::Through { mtu, .. } => {
                    let steps = self.steps(route, to).collect();
                    return Verdict::Through(Way { length, steps, mtu: *mtu });
                }
                Route::Nowhere => return Verdict::Nowhere(length),
                Route::Elsewhere => {}
            }
        }
        Verdict::NoRoute
    }

    /// What the kernel knows of a neighbour behind one of our interfaces.
    pub fn neighbour(&self, interface: usize, address: IpAddr) -> Option<Neighbour> {
        self.known(&(self.index(interface)?, address))
    }

    /// The same, of an interface of this number.
    pub(super) fn known(&self, whom: &Whom) -> Option<Neighbour> {
        self.neighbours.get(whom).copied()
    }

    fn tables_for(&self, to: IpAddr) -> impl Iterator<Item = u32> {
        let rules = self.rules.iter().filter(move |rule| rule.v4 == to.is_ipv4());
        let numbers: Vec<_> = rules.map(|rule| rule.table).collect();
        if numbers.is_empty() { USUAL.to_vec() } else { numbers }.into_iter()
    }

    fn steps(&self, route: &Route, to: IpAddr) -> impl Iterator<Item = Step> {
        let hops: &[Hop] = match route {
            Route::Through { hops, .. } => hops,
            _ => &[],
        };
        hops.iter().filter_map(move |hop| {
            let ours = |i: &Interface| i.index == Some(hop.interface) && i.up;
            let interface = self.interfaces.iter().position(ours)?;
            let neighbour = hop.via.unwrap_or(to);
            let known = self.neighbours.get(&(hop.interface, neighbour)).copied();
            Some(Step { interface, neighbour, weight: hop.weight, known })
        })
    }

    /// Takes one thing that the kernel says; `replaces` is a flag of its message.
    pub(super) fn take(&mut self, fact: Fact, replaces: bool) -> Effect {
        match fact {
            Fact::Link { index, name, up } => self.link(index, &name, up),
            Fact::LinkGone(index) => self.link_gone(index),
            Fact::Rule(rule) => change(self.rules.insert(rule)),
            Fact::RuleGone(rule) => change(self.rules.remove(&rule)),
            Fact::Route(place, route) => self.put(place, route, replaces),
            Fact::RouteGone(place, route) => self.remove(place, route),
            Fact::Neighbour(whom, known) if self.is_ours(whom.0) => {
                // Whether it was confirmed lately is nothing to a worker.
                let before = self.neighbours.insert(whom, known).and_then(Neighbour::mac);
                change(before != known.mac())
            }
            Fact::NeighbourGone(whom) => change(self.neighbours.remove(&whom).is_some()),
            Fact::Address(index) if self.is_ours(index) => Effect::Unclear,
            Fact::Address(_) | Fact::Neighbour(..) => Effect::Same,
        }
    }

    /// With a link the kernel drops and makes routes without telling: they are to be read anew.
    fn link(&mut self, index: u32, name: &str, up: bool) -> Effect {
        // Renamed, or a new one of an old number.
        let was = self.interfaces.iter_mut().filter(|i| i.index == Some(index) && i.name != name);
        let renamed = was.map(Interface::forget).count() > 0;
        match self.interfaces.iter_mut().find(|i| !i.name.is_empty() && i.name == name) {
            Some(own) if own.index == Some(index) && own.up == up => Effect::Same,
            Some(own) => {
                (own.index, own.up) = (Some(index), up);
                Effect::Unclear
            }
            None if renamed => Effect::Unclear,
            None => Effect::Same,
        }
    }

    fn link_gone(&mut self, index: u32) -> Effect {
        let gone = self.interfaces.iter_mut().filter(|i| i.index == Some(index));
        if gone.map(Interface::forget).count() == 0 {
            return Effect::Same;
        }
        self.neighbours.retain(|(interface, _), _| *interface != index);
        Effect::Unclear
    }

    fn put(&mut self, place: Place, route: Route, replaces: bool) -> Effect {
        let Place { table, prefix, priority } = place;
        let Some(route) = self.ours(route) else {
            // It may stand in the place of one that was ours.
            let known = self.tables.get_mut(&table).is_some_and(|t| t.has(prefix, priority));
            return if replaces && known { Effect::Unclear } else { Effect::Same };
        };
        self.tables.entry(table).or_default().put(prefix, priority, route, replaces)
    }

    fn remove(&mut self, place: Place, route: Route) -> Effect {
        let Some(route) = self.ours(route) else { return Effect::Same };
        let Some(table) = self.tables.get_mut(&place.table) else { return Effect::Same };
        table.remove(place.prefix, place.priority, &route)
    }

    /// What of a route leads out by our interfaces.
    fn ours(&self, route: Route) -> Option<Route> {
        let Route::Through { hops, mtu } = route else { return Some(route) };
        let hops: Box<_> = hops.into_iter().filter(|hop| self.is_ours(hop.interface)).collect();
        (!hops.is_empty()).then_some(Route::Through { hops, mtu })
    }

    fn is_ours(&self, index: u32) -> bool {
        self.interfaces.iter().any(|i| i.index == Some(index))
    }
}

impl Interface {
    fn forget(&mut self) {
        (self.index, self.up) = (None, false);
    }
}

fn nowhere(route: &Route) -> bool {
    !matches!(route, Route::Through { .. })
}

fn change(is_one: bool) -> Effect {
    if is_one { Effect::Changed } else { Effect::Same }
}
