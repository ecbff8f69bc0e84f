//! Whether packets and their outer headers fit the way to the backends.

use std::collections::BTreeSet;

use tables::Family;

use super::{error, note, warning};
use crate::doctor::Finding;
use crate::doctor::facts::Facts;
use crate::model::{Config, Service};
use crate::netlink::Verdict;
use crate::plan::templates;

/// What clients send: Ethernet's.
const USUAL: u16 = 1500;
/// What every IPv6 link must take (RFC 8200, 5).
const LEAST_V6: u16 = 1280;

pub(super) fn packets(config: &Config, facts: &Facts) -> Vec<Finding> {
    config.services.iter().flat_map(|service| one(config, facts, service)).collect()
}

fn one(config: &Config, facts: &Facts, service: &Service) -> Vec<Finding> {
    let rules = config.rules.iter().filter(|rule| rule.service == service.name);
    let families: BTreeSet<_> = rules.map(|rule| rule.address.addr().is_ipv4()).collect();
    let families = families.into_iter().rev();
    families.filter_map(|four| family(config, facts, service, four)).collect()
}

fn family(config: &Config, facts: &Facts, service: &Service, four: bool) -> Option<Finding> {
    let inner = if four { Family::V4 } else { Family::V6 };
    let backends = service.groups.iter().flat_map(|group| &group.backends);
    let room = |address| {
        let fits = templates::max_inner(config, service, address, inner)?;
        // A route may say that its way is narrower than the port.
        let lost = match facts.routes.get(&address) {
            Some(Verdict::Through(way)) => lost(config, way)?,
            _ => 0,
        };
        Some((fits.saturating_sub(lost), lost > 0))
    };
    let (fits, narrowed) = backends.filter_map(|backend| room(backend.address)).min()?;
    let name = &service.name;
    let (lacking, version) = (USUAL.saturating_sub(fits), if four { 4 } else { 6 });
    if !four && fits < LEAST_V6 {
        let what = format!(
            "service {name}: IPv6 packets of {fits} bytes fit the tunnel, and clients may always send {LEAST_V6}"
        );
        let cure = format!(
            "give the port and the network to the backends an MTU of {} more",
            LEAST_V6 - fits
        );
        return Some(error("room", what, cure));
    }
    (lacking > 0).then(|| {
        let what = format!(
            "service {name}: IPv{version} packets of up to {fits} bytes fit the tunnel, and clients send {USUAL}: \
             the larger ones are answered with \"too big\""
        );
        let cure = format!(
            "give the port and the network to the backends an MTU of {lacking} more, or let backends clamp \
             segments (windrose backend-setup {name} does)"
        );
        // Backends that were set up as printed clamp to the port's MTU; of a route's they know nothing.
        if narrowed { warning("room", what, cure) } else { note("room", what, cure) }
    })
}

/// By how much a route's MTU is less than that of the port it leaves by.
fn lost(config: &Config, way: &crate::netlink::Way) -> Option<u16> {
    let port = config.ports.get(way.steps.first()?.interface)?;
    let mtu = u16::try_from(way.mtu.unwrap_or(port.mtu.into())).unwrap_or(u16::MAX);
    Some(port.mtu.saturating_sub(mtu))
}
