//! The commands that take each step back.

use super::{digit, family, noted, noted_gue, table};
use crate::backend_setup::Setup;
use crate::backend_setup::step::Step;

/// The commands of a step, the other way; none for what goes with its device.
pub(super) fn commands(setup: &Setup, step: &Step) -> String {
    match step {
        Step::LinkMtu { .. } | Step::LooseTunnel { .. } => String::new(),
        Step::Fou { outer, port } => {
            let command = format!("ip -{} fou del port {port}", digit(*outer));
            unless_held(&noted_gue(*outer, *port), &command)
        }
        Step::Tunnel(tunnel) => {
            unless_held(&tunnel.device, &format!("ip link del dev {}", tunnel.device))
        }
        Step::LooseLink => "restore \"ipv4/conf/$(link \"$local4\")/rp_filter\"\n".into(),
        Step::Quiet => {
            "restore ipv4/conf/all/arp_announce\nrestore ipv4/conf/all/arp_ignore\n".into()
        }
        Step::Vip(vip) => {
            let command = match vip.prefix_len() == vip.max_prefix_len() {
                true => format!("ip address del {vip} dev lo"),
                false => format!("ip -{} route del local {vip} dev lo", digit(family(vip))),
            };
            unless_held(&noted(vip), &command)
        }
        Step::Rewrite { vip, .. } => {
            let table = table(&setup.service, "-l3dsr") + &digit(family(vip)).to_string();
            format!("nft delete table inet {table} 2>/dev/null || :\n")
        }
        Step::Clamp { service, .. } => {
            format!("nft delete table inet {} 2>/dev/null || :\n", table(service, ""))
        }
    }
}

fn unless_held(note: &str, command: &str) -> String {
    format!("if release {note}; then {command} 2>/dev/null || :; fi\n")
}
