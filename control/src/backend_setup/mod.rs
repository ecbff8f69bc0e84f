//! What a backend's host needs for a service: the other end of the tunnel, the VIPs, and nothing
//! that this service does not need.
//!
//! - [`step`]: one thing to do on a host;
//! - `needs`: a service → its steps, in order;
//! - [`sh`], [`ansible`], [`netplan`]: steps → text, there and back.
//!
//! All of it is pure: the commands come from the file alone, and the same file gives the same text.

pub mod ansible;
mod needs;
pub mod netplan;
pub mod sh;
pub mod step;

use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;

use crate::config::nearest::nearest;
use crate::model::{Config, EncapsulationKind, Service};
use step::Step;

/// What the hosts of a service's backends need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// The service's name.
    pub service: Arc<str>,
    /// How packets reach them.
    pub kind: EncapsulationKind,
    /// `group/name` and address; a host is one of them by having its address.
    pub backends: Vec<(String, IpAddr)>,
    /// The VIPs that lead to the service.
    pub vips: Vec<IpNet>,
    /// What to do, in order.
    pub steps: Vec<Step>,
}

/// Why there is nothing to set up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    /// No service of this name.
    #[error("there is no service {name:?}{}", meant(.candidates, .name))]
    NoService {
        /// As asked for.
        name: String,
        /// Those that there are.
        candidates: Vec<String>,
    },
    /// No backend of this name.
    #[error("service {service:?} has no backend {name:?}{}", meant(.candidates, .name))]
    NoBackend {
        /// The service.
        service: Arc<str>,
        /// As asked for.
        name: String,
        /// Those that there are.
        candidates: Vec<String>,
    },
    /// No rule leads to the service, so its backends have no VIP.
    #[error("no forwarding_rule leads to service {0:?}, so there is no VIP to set up; add one")]
    NoVip(Arc<str>),
    /// A netplan file belongs to one host.
    #[error(
        "a netplan file is one host's, and service {service:?} has several backends; choose one: --backend {}",
        .candidates.join(", --backend ")
    )]
    OneBackend {
        /// The service.
        service: Arc<str>,
        /// Those that there are.
        candidates: Vec<String>,
    },
}

/// What was probably meant, or what there is.
fn meant(candidates: &[String], name: &str) -> String {
    match nearest(name, candidates.iter().map(String::as_str)) {
        Some(candidate) => format!("; did you mean {candidate:?}?"),
        None => format!("; there are: {}", candidates.join(", ")),
    }
}

impl Setup {
    /// What the backends of `service` need, or `backend` (`group/name`) alone.
    ///
    /// # Errors
    /// An unknown name; a service that no rule leads to.
    pub fn new(config: &Config, service: &str, backend: Option<&str>) -> Result<Self, SetupError> {
        let service = find(config, service)?;
        let backends = chosen(service, backend)?;
        let vips = vips(config, service);
        if vips.is_empty() {
            return Err(SetupError::NoVip(service.name.clone()));
        }
        let steps = needs::of(config, service, &backends);
        let (name, kind) = (service.name.clone(), service.encapsulation.kind);
        Ok(Self { service: name, kind, backends, vips, steps })
    }

    /// The addresses of one family that make a host one of the backends.
    pub fn addresses(&self, four: bool) -> Vec<String> {
        let of_family = self.backends.iter().filter(|(_, address)| address.is_ipv4() == four);
        of_family.map(|(_, address)| address.to_string()).collect()
    }
}

fn find<'c>(config: &'c Config, name: &str) -> Result<&'c Service, SetupError> {
    config.services.iter().find(|service| *service.name == *name).ok_or_else(|| {
        let candidates = config.services.iter().map(|s| s.name.to_string()).collect();
        SetupError::NoService { name: name.to_owned(), candidates }
    })
}

/// A service's backends, `group/name` and address.
fn backends(service: &Service) -> Vec<(String, IpAddr)> {
    let of_group = service.groups.iter().flat_map(|g| g.backends.iter().map(move |b| (g, b)));
    of_group.map(|(group, b)| (format!("{}/{}", group.name, b.name), b.address)).collect()
}

fn chosen(service: &Service, name: Option<&str>) -> Result<Vec<(String, IpAddr)>, SetupError> {
    let all = backends(service);
    let Some(name) = name else { return Ok(all) };
    let one = all.iter().find(|(path, _)| path == name).cloned();
    one.map(|one| vec![one]).ok_or_else(|| SetupError::NoBackend {
        service: service.name.clone(),
        name: name.to_owned(),
        candidates: all.into_iter().map(|(path, _)| path).collect(),
    })
}

/// Each VIP once, in the order of the rules.
fn vips(config: &Config, service: &Service) -> Vec<IpNet> {
    let mut vips = Vec::new();
    for rule in config.rules.iter().filter(|rule| rule.service == service.name) {
        let vip = rule.address.trunc();
        if !vips.contains(&vip) {
            vips.push(vip);
        }
    }
    vips
}
