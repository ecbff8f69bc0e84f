//! Where a connection goes: one service, or TLS routes by the name that the client asks for
//!

use std::collections::HashMap;

use crate::host::HostName;

/// One `[[tls_route]]`, as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsRoute {
    /// Its name.
    pub name: String,
    /// Host names, and wildcards like `*.example.com`.
    pub sni: Vec<String>,
    /// Where it leads; of several the affinity hash picks one.
    pub services: Vec<String>,
}

/// Why routes cannot be used together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RouteError {
    /// Neither a valid host name nor `*.` and one.
    #[error("route {route}: {sni:?} is neither a host name nor \"*.\" and a host name")]
    InvalidSni {
        /// The route.
        route: String,
        /// What it says.
        sni: String,
    },
    /// Two routes, or one route twice, claim one SNI; letter case does not matter.
    #[error("route {route}: {sni:?} is already taken by route {first}")]
    Duplicate {
        /// The later route.
        route: String,
        /// What it says.
        sni: String,
        /// The earlier route.
        first: String,
    },
    /// It leads nowhere.
    #[error("route {route} names no service")]
    NoService {
        /// The route.
        route: String,
    },
}

/// The TLS routes of one rule, by what they match.
#[derive(Clone, Debug, Default)]
pub struct RouteTable {
    routes: Vec<TlsRoute>,
    exact: HashMap<String, Claim>,
    /// By the name after `*.`.
    wildcard: HashMap<String, Claim>,
}

/// Which `sni` of which route claims a name.
#[derive(Clone, Copy, Debug)]
struct Claim {
    route: usize,
    sni: usize,
}

/// The route that a host takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Match<'a> {
    /// The route.
    pub route: &'a TlsRoute,
    /// What of it matched, as it was written.
    pub sni: &'a str,
}

impl RouteTable {
    /// All routes of one rule; their order does not matter. Every error at once.
    pub fn new(routes: Vec<TlsRoute>) -> Result<Self, Vec<RouteError>> {
        let mut table = Self { routes, ..Self::default() };
        let mut errors = Vec::new();
        for route in 0..table.routes.len() {
            table.add(route, &mut errors);
        }
        if errors.is_empty() { Ok(table) } else { Err(errors) }
    }

    fn add(&mut self, index: usize, errors: &mut Vec<RouteError>) {
        let route = &self.routes[index];
        if route.services.is_empty() {
            errors.push(RouteError::NoService { route: route.name.clone() });
        }
        for (sni, text) in route.sni.iter().enumerate() {
            let (names, name) = match text.strip_prefix("*.") {
                Some(domain) => (&mut self.wildcard, domain),
                None => (&mut self.exact, text.as_str()),
            };
            let (route, sni_text) = (route.name.clone(), text.clone());
            let Some(host) = HostName::parse(name.as_bytes()) else {
                errors.push(RouteError::InvalidSni { route, sni: sni_text });
                continue;
            };
            let claim = Claim { route: index, sni };
            let first = names.entry(host.as_str().to_owned()).or_insert(claim);
            if (first.route, first.sni) != (index, sni) {
                let first = self.routes[first.route].name.clone();
                errors.push(RouteError::Duplicate { route, sni: sni_text, first });
            }
        }
    }

    /// The route with the longest matching suffix, counted in labels: the name itself, else
    /// the wildcard over the nearest name above it.
    pub fn lookup(&self, host: &HostName) -> Option<Match<'_>> {
        let exact = self.exact.get(host.as_str());
        let claim = exact.or_else(|| host.parents().find_map(|name| self.wildcard.get(name)))?;
        let route = &self.routes[claim.route];
        Some(Match { route, sni: &route.sni[claim.sni] })
    }
}

/// What a client opened its connection with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening<'a> {
    /// Something else than a ClientHello.
    NotTls,
    /// A ClientHello without a server name.
    NoSni,
    /// A ClientHello that asks for this name, not yet known to be one.
    Sni(&'a [u8]),
}

/// Why a connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Close {
    /// It is not TLS.
    #[error("not TLS")]
    NotTls,
    /// There is no SNI.
    #[error("no SNI")]
    NoSni,
    /// The SNI is not a valid DNS name.
    #[error("the SNI is not a valid host name")]
    InvalidName,
    /// No route matches.
    #[error("no route matches the SNI")]
    NoRoute,
}

impl RouteTable {
    /// Where a connection goes, or why it is closed.
    pub fn route(&self, opening: Opening<'_>) -> Result<Match<'_>, Close> {
        let name = match opening {
            Opening::NotTls => return Err(Close::NotTls),
            Opening::NoSni => return Err(Close::NoSni),
            Opening::Sni(name) => name,
        };
        let host = HostName::parse(name).ok_or(Close::InvalidName)?;
        self.lookup(&host).ok_or(Close::NoRoute)
    }
}

/// Where a rule leads: one service or TLS routes, never both.
#[derive(Clone, Debug)]
pub enum Target {
    /// One service; no byte of the client is awaited or inspected.
    Service(String),
    /// By the SNI.
    Routes(RouteTable),
}

impl Target {
    /// Whether a ClientHello must be read first.
    pub fn reads_hello(&self) -> bool {
        matches!(self, Self::Routes(_))
    }

    /// The services that a connection may go to, never none. Without TLS routes `opening` is
    /// not looked at, so any will do.
    pub fn services(&self, opening: Opening<'_>) -> Result<&[String], Close> {
        match self {
            Self::Service(name) => Ok(std::slice::from_ref(name)),
            Self::Routes(routes) => routes.route(opening).map(|found| &*found.route.services),
        }
    }
}
