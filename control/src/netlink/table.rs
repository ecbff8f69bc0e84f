//! One routing table.

use std::net::IpAddr;

use ipnet::IpNet;
use tables::PrefixMap;

use super::route::Route;

/// Routes by prefix; of one prefix by priority, the smallest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Table(PrefixMap<Vec<(u32, Route)>>);

/// What became of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// It says the same as before.
    Same,
    /// It does not.
    Changed,
    /// The message can be understood in more than one way.
    Unclear,
}

impl Table {
    /// Takes a route. `replaces`: the kernel says that it stands in another's place.
    pub(super) fn put(
        &mut self,
        prefix: IpNet,
        priority: u32,
        route: Route,
        replaces: bool,
    ) -> Effect {
        let Some(routes) = self.0.get_mut(prefix) else {
            self.0.insert(prefix, vec![(priority, route)]);
            return Effect::Changed;
        };
        match routes.binary_search_by_key(&priority, |(priority, _)| *priority) {
            Err(place) => routes.insert(place, (priority, route)),
            Ok(place) if routes[place].1 == route => return Effect::Same,
            Ok(place) if replaces => routes[place].1 = route,
            // Beside the other one, before or behind it?
            Ok(_) => return Effect::Unclear,
        }
        Effect::Changed
    }

    /// Whether there is a route of this prefix and priority.
    pub(super) fn has(&mut self, prefix: IpNet, priority: u32) -> bool {
        let routes = self.0.get_mut(prefix);
        routes.is_some_and(|routes| routes.iter().any(|(p, _)| *p == priority))
    }

    /// Takes a route out.
    pub(super) fn remove(&mut self, prefix: IpNet, priority: u32, route: &Route) -> Effect {
        let Some(routes) = self.0.get_mut(prefix) else { return Effect::Same };
        let Ok(place) = routes.binary_search_by_key(&priority, |(priority, _)| *priority) else {
            return Effect::Same;
        };
        if routes[place].1 != *route {
            // One of several next hops, or one of several equal routes.
            return Effect::Unclear;
        }
        routes.remove(place);
        if routes.is_empty() {
            self.0.remove(prefix);
        }
        Effect::Changed
    }

    /// The best route to an address of those that are `usable`, and the length of its prefix.
    pub(super) fn best<'t>(
        &'t self,
        to: IpAddr,
        usable: impl Fn(&Route) -> bool,
    ) -> Option<(u8, &'t Route)> {
        let best = |(prefix, routes): (IpNet, &'t Vec<(u32, Route)>)| {
            let (_, route) = routes.iter().find(|(_, route)| usable(route))?;
            Some((prefix.prefix_len(), route))
        };
        self.0.containing(to).filter_map(best).last()
    }
}
