//! Which VIPs a port answers for.

use std::collections::BTreeSet;
use std::net::IpAddr;

use crate::model::{AnnounceVips, Config, Port};
use crate::state::State;

/// The VIPs inside the prefixes of a port: single addresses that a rule claims, as far as
/// `announce_vips` goes. Prefixes are routed to us: to answer for each of their addresses would
/// claim those of other hosts too.
pub fn vips(config: &Config, state: &State, port: &Port) -> BTreeSet<IpAddr> {
    let wanted = |service: &str| match port.announce_vips {
        AnnounceVips::Always => true,
        AnnounceVips::WhileEligible => is_served(state, service),
        AnnounceVips::Never => false,
    };
    let single = |rule: &&crate::model::ForwardingRule| {
        rule.address.prefix_len() == rule.address.max_prefix_len()
    };
    let rules = config.rules.iter().filter(single).filter(|rule| wanted(&rule.service));
    rules.map(|rule| rule.address.addr()).filter(|vip| is_within(port, *vip)).collect()
}

fn is_served(state: &State, service: &str) -> bool {
    state.service(service).is_some_and(|service| !service.eligible().members.is_empty())
}

/// On link, and not the port's own: that one is the kernel's to answer for.
fn is_within(port: &Port, vip: IpAddr) -> bool {
    port.addresses.iter().any(|net| net.contains(&vip))
        && !port.addresses.iter().any(|net| net.addr() == vip)
}
