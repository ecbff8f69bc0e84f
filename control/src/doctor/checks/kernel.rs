//! Where the kernel gets in the way.

use super::driven::{self, Driven};
use super::{error, warning};
use crate::doctor::Finding;
use crate::doctor::facts::{FAR, Facts, Interface};
use crate::model::{Config, Port};
use crate::netlink::Verdict;

/// The kernel under a `net_af_packet` port sees the same packets, and would answer them too.
pub(super) fn answers(config: &Config, facts: &Facts) -> Vec<Finding> {
    let all = driven::all(config, facts);
    let shared = all.iter().filter_map(|driven| Some((driven, driven.shared(facts)?)));
    shared.flat_map(|(driven, interface)| under(driven, interface, facts.running)).collect()
}

/// Whether Windrose sets what makes the kernel quiet by itself, at its start (decision 11).
fn will_be_quiet(driven: &Driven<'_>, interface: &Interface, running: bool) -> bool {
    !running && driven.has_host() && interface.addresses.iter().all(|a| super::is_link_local(*a))
}

fn under(driven: &Driven<'_>, interface: &Interface, running: bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    if !will_be_quiet(driven, interface, running) {
        findings.extend(loud(&driven.whose(), interface));
    }
    findings.extend(offloads(&driven.whose(), interface));
    findings
}

fn loud(whose: &str, interface: &Interface) -> Option<Finding> {
    let name = &interface.name;
    let mut settings = Vec::new();
    if interface.arp_ignore < 8 {
        settings.push(format!("net.ipv4.conf.{name}.arp_ignore=8"));
    }
    if interface.rp_filter != 1 {
        settings.push(format!("net.ipv4.conf.{name}.rp_filter=1"));
    }
    if interface.ipv6 {
        settings.push(format!("net.ipv6.conf.{name}.disable_ipv6=1"));
    }
    if settings.is_empty() {
        return None;
    }
    let what = format!(
        "{whose}: the kernel sees the packets of {name} too, and would answer some: duplicates"
    );
    Some(warning("answers-too", what, format!("sysctl -w {}", settings.join(" "))))
}

fn offloads(whose: &str, interface: &Interface) -> Option<Finding> {
    if interface.offloads.is_empty() {
        return None;
    }
    let name = &interface.name;
    let what = format!(
        "{whose}: {name} joins segments or leaves checksums out ({}): such frames are dropped or sent broken",
        interface.offloads.join(", ")
    );
    let cure = format!("ethtool -K {name} rx off tx off tso off gso off gro off");
    Some(error("offloads", what, cure))
}

/// What the kernel has made on top of an interface gets all of its packets, too, whatever the
/// interface's own settings are.
pub(super) fn in_use(config: &Config, facts: &Facts) -> Vec<Finding> {
    let all = driven::all(config, facts);
    let shared = all.iter().filter_map(|driven| Some((driven.whose(), driven.shared(facts)?)));
    let used = shared.flat_map(|(whose, interface)| {
        interface.on_top.iter().map(move |top| in_use_by(&whose, interface, top))
    });
    used.collect()
}

fn in_use_by(whose: &str, interface: &Interface, top: &str) -> Finding {
    let name = &interface.name;
    let what = format!(
        "{whose}: {top} of the kernel is on top of {name}: it gets the same packets, and forwards or answers them a second time"
    );
    let cure = match interface.master.as_deref() == Some(top) {
        true => format!("ip link set {name} nomaster"),
        false => format!("ip link del {top}"),
    };
    warning("in-use", what, cure)
}

/// A strict check of sources drops what comes in by a host interface from where another one leads.
/// VIPs are not concerned, but the port's own addresses: ping, ssh, BGP with far peers.
pub(super) fn sources(config: &Config, facts: &Facts) -> Vec<Finding> {
    if matches!(facts.routes.get(&FAR), Some(Verdict::Through(_))) {
        return Vec::new();
    }
    let strict = config.ports.iter().filter(|port| {
        let v4 = port.addresses.iter().any(|address| address.addr().is_ipv4());
        v4 && facts.interface(&port.host_interface).is_some_and(|i| i.rp_filter == 1)
    });
    let finding = |port: &Port| {
        let name = &port.host_interface;
        let what = format!(
            "port {}: {name} drops packets from addresses that another interface leads to (rp_filter 1): \
             its own addresses answer their segment alone; VIPs are not concerned",
            port.name
        );
        let cure =
            format!("sysctl -w net.ipv4.conf.{name}.rp_filter=2, or a default route over it");
        warning("rp-filter", what, cure)
    };
    strict.map(finding).collect()
}
