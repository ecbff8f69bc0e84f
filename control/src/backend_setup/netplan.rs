//! Steps → a netplan file: tunnels and VIPs. What netplan has no words for follows as comments.

use ipnet::IpNet;

use super::sh;
use super::step::{Step, Tunnel, TunnelKind};
use super::{Setup, SetupError};

/// The file for one host.
///
/// # Errors
/// There is more than one backend: a tunnel's own end differs from host to host.
pub fn up(setup: &Setup) -> Result<String, SetupError> {
    let [(path, address)] = setup.backends.as_slice() else {
        let candidates = setup.backends.iter().map(|(path, _)| path.clone()).collect();
        return Err(SetupError::OneBackend { service: setup.service.clone(), candidates });
    };
    let service = &setup.service;
    let mut text = format!(
        "# What backend {path} of service {service} needs.\n\
         # From: windrose backend-setup {service} --backend {path} --format netplan\n\
         # As /etc/netplan/60-windrose-{service}.yaml, mode 600; then `netplan apply`.\n\
         # To take it back: remove the file, `netplan apply`, and run\n\
         # `windrose backend-setup {service} --backend {path} --undo` (netplan leaves devices that it made).\n\
         network:\n  version: 2\n"
    );
    text += &loopback(&setup.vips);
    text += &tunnels(setup, &address.to_string());
    Ok(text + &rest(setup))
}

/// The VIPs. `lo` is an interface like others here.
fn loopback(vips: &[IpNet]) -> String {
    let one = |vip: &&IpNet| vip.prefix_len() == vip.max_prefix_len();
    let addresses: String = vips.iter().filter(one).map(address).collect();
    let routes: String = vips.iter().filter(|vip| !one(vip)).map(route).collect();
    let mut text = String::from("  ethernets:\n    lo:\n      match:\n        name: lo\n");
    if !addresses.is_empty() {
        text += &format!("      addresses:\n{addresses}");
    }
    if !routes.is_empty() {
        text += &format!("      routes:\n{routes}");
    }
    text
}

/// Deprecated where that is told apart (IPv6): the host's own connections never start from it.
fn address(vip: &IpNet) -> String {
    let lifetime = if vip.addr().is_ipv6() { ":\n            lifetime: 0" } else { "" };
    format!("        - \"{vip}\"{lifetime}\n")
}

/// Every address of the prefix is the host's own. 255 is the table `local`.
fn route(prefix: &IpNet) -> String {
    let scope = if prefix.addr().is_ipv4() { "          scope: host\n" } else { "" };
    format!("        - to: \"{prefix}\"\n          type: local\n{scope}          table: 255\n")
}

fn tunnels(setup: &Setup, local: &str) -> String {
    let devices: String = setup
        .steps
        .iter()
        .filter_map(|step| match step {
            Step::Tunnel(tunnel) => device(setup, tunnel, local),
            _ => None,
        })
        .collect();
    if devices.is_empty() { devices } else { format!("  tunnels:\n{devices}") }
}

/// `None`: netplan has no device that takes both families in IPv6.
fn device(setup: &Setup, tunnel: &Tunnel, local: &str) -> Option<String> {
    let (mode, key) = mode(setup, tunnel.kind)?;
    let device = &tunnel.device;
    // Netplan insists on a remote end; this one means any.
    let any = if local.contains(':') { "::" } else { "0.0.0.0" };
    let mut text = format!(
        "    {device}:\n      mode: {mode}\n      local: \"{local}\"\n      remote: \"{any}\"\n"
    );
    if let Some(key) = key {
        text += &format!("      key: {key}\n");
    }
    let loose =
        |step: &Step| matches!(step, Step::LooseTunnel { device, .. } if *device == tunnel.device);
    if setup.steps.iter().any(loose) {
        text += &format!("      addresses:\n        - \"{}\"\n", sh::DUMMY);
    }
    Some(text)
}

fn mode(setup: &Setup, kind: TunnelKind) -> Option<(&'static str, Option<u32>)> {
    let four = setup.vips.iter().any(|vip| vip.addr().is_ipv4());
    let six = setup.vips.iter().any(|vip| vip.addr().is_ipv6());
    Some(match kind {
        TunnelKind::Ipip => ("ipip", None),
        TunnelKind::Sit => ("sit", None),
        TunnelKind::Gre(key) => ("gre", key),
        TunnelKind::Ip6gre(key) => ("ip6gre", key),
        TunnelKind::Ip6tnl => match (four, six) {
            (true, true) => return None,
            (true, false) => ("ipip6", None),
            (false, _) => ("ip6ip6", None),
        },
    })
}

/// Whether netplan has said it all.
fn said(setup: &Setup, step: &Step) -> bool {
    match step {
        Step::Vip(_) => true,
        Step::Tunnel(tunnel) => mode(setup, tunnel.kind).is_some(),
        _ => false,
    }
}

fn rest(setup: &Setup) -> String {
    let mut rest = setup.clone();
    rest.steps.retain(|step| !said(setup, step));
    if rest.steps.is_empty() {
        return String::new();
    }
    let script = sh::up(&rest);
    let lines = script.lines().map(|line| match line {
        "" => "#\n".to_owned(),
        line => format!("#   {line}\n"),
    });
    format!(
        "\n# Netplan has no words for the rest. Run this script after `netplan apply` and at each boot:\n#\n{}",
        lines.collect::<String>()
    )
}
