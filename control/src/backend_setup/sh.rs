//! Steps → a shell script, there and back. POSIX `sh`, iproute2 and, where packets are rewritten,
//! nftables; settings are written through `/proc`, which is always there.
//!
//! - `helpers`: the functions that a script starts with;
//! - `forward`, `back`: each step's commands.

mod back;
mod forward;
mod helpers;

use ipnet::IpNet;
use tables::Family;

use super::Setup;
use super::step::Step;
use crate::model::EncapsulationKind;

/// A tunnel's device needs some IPv4 address: to one without, the kernel's loose check of sources
/// is as strict as the strict one. This is the dummy address of RFC 7600, which no packet carries.
pub(super) const DUMMY: &str = "192.0.0.8/32";

/// The script that sets a host up.
pub fn up(setup: &Setup) -> String {
    let mut script = head(setup, "");
    script += "# Run it as root on each of these hosts. Running it again changes nothing.\n";
    script += "# A reboot forgets it: run it at each boot.\nset -eu\n";
    if setup.steps.iter().any(|step| step.outer().is_some()) {
        script += &helpers::own(setup);
    }
    script += &helpers::hold(setup);
    if setup.steps.iter().any(changes_a_setting) {
        script += helpers::RAISE;
    }
    for steps in setup.steps.chunk_by(|a, b| a.outer() == b.outer()) {
        let commands = steps.iter().map(|step| forward::commands(setup, step));
        script += &guarded(setup, steps[0].outer(), &commands.collect::<String>());
    }
    script
}

/// The script that takes it back, but what other services on the host need.
pub fn undo(setup: &Setup) -> String {
    let mut script = head(setup, " --undo");
    script +=
        "# Takes back what the script without --undo sets up; what is gone is passed over, and\n";
    script += "# what another service needs on the host stays.\nset -eu\n";
    if setup.steps.contains(&Step::LooseLink) {
        script += &helpers::own(setup);
    }
    script += &helpers::release(setup);
    if setup.steps.iter().any(changes_a_setting) {
        script += helpers::RESTORE;
    }
    script += "\n";
    script.extend(setup.steps.iter().rev().map(|step| back::commands(setup, step)));
    script
}

/// Whether a step changes a setting that was there before.
fn changes_a_setting(step: &Step) -> bool {
    matches!(step, Step::Quiet | Step::LooseLink)
}

fn head(setup: &Setup, option: &str) -> String {
    let Setup { service, .. } = setup;
    let vips: Vec<_> = setup.vips.iter().map(written).collect();
    let backends = setup.backends.iter().map(|(path, address)| format!("#   {path} {address}\n"));
    format!(
        "#!/bin/sh\n# What the backends of service {service} need: packets for {} come by {}.\n\
         # From: windrose backend-setup {service}{option}\n{}",
        vips.join(", "),
        by(setup.kind),
        backends.collect::<String>(),
    )
}

fn by(kind: EncapsulationKind) -> &'static str {
    match kind {
        EncapsulationKind::Ipip => "IP in IP",
        EncapsulationKind::Gre => "GRE",
        EncapsulationKind::Gue => "GUE",
        EncapsulationKind::L3dsr => "L3DSR",
        EncapsulationKind::L2 => "Ethernet alone",
    }
}

/// An address without its length where it is one host's.
pub(super) fn written(net: &IpNet) -> String {
    if net.prefix_len() == net.max_prefix_len() { net.addr().to_string() } else { net.to_string() }
}

/// A comment, wrapped.
fn note(text: &str) -> String {
    let mut lines = String::from("#");
    let mut width = 1;
    for word in text.split(' ') {
        if width + 1 + word.len() > 100 {
            lines += "\n#";
            width = 1;
        }
        lines += " ";
        lines += word;
        width += 1 + word.len();
    }
    lines + "\n"
}

/// Steps that are for one family, where the service's backends are of both.
fn guarded(setup: &Setup, outer: Option<Family>, commands: &str) -> String {
    let both = [true, false].into_iter().all(|four| !setup.addresses(four).is_empty());
    let Some(outer) = outer.filter(|_| both) else { return commands.to_owned() };
    let mut text = format!("\nif [ -n \"$local{}\" ]; then", digit(outer));
    for line in commands.trim_start().lines() {
        text += if line.is_empty() { "\n" } else { "\n    " };
        text += line;
    }
    text + "\nfi\n"
}

fn digit(family: Family) -> char {
    match family {
        Family::V4 => '4',
        Family::V6 => '6',
    }
}

fn family(net: &IpNet) -> Family {
    if net.addr().is_ipv4() { Family::V4 } else { Family::V6 }
}

/// What a VIP is called where services note that they need it: a name of a file.
fn noted(vip: &IpNet) -> String {
    format!("vip-{}", written(vip).replace('/', "_"))
}

/// The same for GUE.
fn noted_gue(outer: Family, port: u16) -> String {
    format!("gue{}-{port}", digit(outer))
}

/// The name of a service's table in nftables.
fn table(service: &str, what: &str) -> String {
    format!("windrose-{service}{what}")
}
