//! The commands of each step, under a comment that says why.

use ipnet::IpNet;
use tables::Family;

use super::{DUMMY, digit, family, note, noted, noted_gue, table, written};
use crate::backend_setup::Setup;
use crate::backend_setup::step::{Step, Tunnel, TunnelKind};
use crate::model::EncapsulationKind;

/// The commands of a step, under a comment that says why.
pub(super) fn commands(setup: &Setup, step: &Step) -> String {
    let (why, commands) = match step {
        Step::LinkMtu { outer, mtu } => link_mtu(*outer, *mtu),
        Step::Fou { outer, port } => fou(*outer, *port),
        Step::Tunnel(tunnel) => device(tunnel),
        Step::LooseTunnel { device, .. } => loose_tunnel(device),
        Step::LooseLink => loose_link(setup.kind),
        Step::Rewrite { dscp, vip } => rewrite(setup, *dscp, vip),
        Step::Quiet => quiet(),
        Step::Vip(vip) => self::vip(vip),
        Step::Clamp { service, segments } => clamp(service, segments),
    };
    format!("\n{}{commands}", note(&why))
}

fn link_mtu(outer: Family, mtu: u16) -> (String, String) {
    let digit = digit(outer);
    let why = format!(
        "The appliance sends packets of up to {mtu} bytes, the outer header included; what this host's interface does not take is lost without a word."
    );
    let commands = format!(
        "mtu=$(cat \"/sys/class/net/$(link \"$local{digit}\")/mtu\")\n\
         if [ \"$mtu\" -lt {mtu} ]; then\n    \
         echo \"warning: $(link \"$local{digit}\") has MTU $mtu; give it {mtu}, or the appliance's port less\" >&2\nfi\n"
    );
    (why, commands)
}

fn fou(outer: Family, port: u16) -> (String, String) {
    let (option, shown) = match outer {
        Family::V4 => ("", "gue"),
        Family::V6 => (" -6", "gue -6"),
    };
    let why = format!("UDP port {port} is GUE, of either variant: under its header is IP in IP.");
    let note = noted_gue(outer, port);
    let commands = format!(
        "hold {note}\nip{option} fou show | sed 's/ *$//' | grep -qx 'port {port} {shown}' || ip{option} fou add port {port} gue\n"
    );
    (why, commands)
}

fn device(tunnel: &Tunnel) -> (String, String) {
    let device = &tunnel.device;
    let digit = digit(tunnel.kind.outer());
    let (kind, carries) = match tunnel.kind {
        TunnelKind::Ipip => ("ipip".to_owned(), "IPv4 in IPv4"),
        TunnelKind::Sit => ("sit".to_owned(), "IPv6 in IPv4"),
        TunnelKind::Ip6tnl => ("ip6tnl mode any".to_owned(), "IPv4 or IPv6 in IPv6"),
        TunnelKind::Gre(key) => (format!("gre{}", with_key(key)), "GRE over IPv4"),
        TunnelKind::Ip6gre(key) => (format!("ip6gre{}", with_key(key)), "GRE over IPv6"),
    };
    let why = format!(
        "The tunnel's end, {carries}. From any sender: every appliance, and every outer source that it spreads."
    );
    let commands = format!(
        "hold {device}\nip link show dev {device} >/dev/null 2>&1 ||\n    \
         ip link add name {device} type {kind} local \"$local{digit}\" remote any\nip link set dev {device} up\n"
    );
    (why, commands)
}

fn with_key(key: Option<u32>) -> String {
    key.map_or(String::new(), |key| format!(" key {key}"))
}

fn loose_tunnel(device: &str) -> (String, String) {
    let why = "What comes out of the tunnel is from clients, and the way back to them is another interface. The kernel's strict check of sources (rp_filter) would drop it; the loose one does not, if the device has an address: any, so a dummy one (RFC 7600).";
    let commands = format!(
        "ip address replace {DUMMY} dev {device}\necho 2 >/proc/sys/net/ipv4/conf/{device}/rp_filter\n"
    );
    (why.into(), commands)
}

fn loose_link(kind: EncapsulationKind) -> (String, String) {
    let why = if kind.is_tunnel() {
        "The outer sources are spread over a prefix (source_entropy). Where the way back to it is another interface, the strict check of sources would drop the tunnel's packets; the loose one does not."
    } else {
        "Clients' packets come in here. Where the way back to clients is another interface, the strict check of sources (rp_filter) would drop them; the loose one does not."
    };
    let commands = "link=$(link \"$local4\")\n\
         if [ \"$(cat /proc/sys/net/ipv4/conf/all/rp_filter)\" = 1 ] ||\n    \
         [ \"$(cat \"/proc/sys/net/ipv4/conf/$link/rp_filter\")\" = 1 ]; then\n    \
         raise \"ipv4/conf/$link/rp_filter\" 2\nfi\n";
    (why.into(), commands.into())
}

fn rewrite(setup: &Setup, dscp: u8, vip: &IpNet) -> (String, String) {
    let family = family(vip);
    let (ip, digit) = (
        match family {
            Family::V4 => "ip",
            Family::V6 => "ip6",
        },
        digit(family),
    );
    let table = table(&setup.service, "-l3dsr") + &digit.to_string();
    let why = format!(
        "L3DSR: a packet to this backend's address with DSCP {dscp} is one for {vip}. Nothing else may send this host that code.",
        vip = vip.addr()
    );
    let commands = format!(
        "nft -f - <<END\n{}    chain arriving {{\n        type filter hook prerouting priority raw\n        \
         {ip} daddr $local{digit} {ip} dscp {dscp} {ip} daddr set {} {ip} dscp set cs0\n    }}\n}}\nEND\n",
        fresh(&table),
        vip.addr()
    );
    (why, commands)
}

fn quiet() -> (String, String) {
    let why = "The segment has the VIP at the appliance or the router. This host must neither answer ARP for it (arp_ignore) nor name it as a sender in ARP of its own (arp_announce). IPv6 needs none of this: a host answers for the addresses of the interface that it is asked on.";
    (why.into(), "raise ipv4/conf/all/arp_ignore 1\nraise ipv4/conf/all/arp_announce 2\n".into())
}

fn vip(vip: &IpNet) -> (String, String) {
    let (why, command) = match (vip.prefix_len() == vip.max_prefix_len(), family(vip)) {
        (true, Family::V4) => ("The VIP.", format!("ip address replace {vip} dev lo")),
        (true, Family::V6) => (
            "The VIP; deprecated, so that the host's own connections never start from it.",
            format!("ip address replace {vip} dev lo preferred_lft 0"),
        ),
        (false, family) => (
            "Every address of the prefix is the host's own: sockets that listen on any address take it.",
            format!("ip -{} route replace local {vip} dev lo", digit(family)),
        ),
    };
    (why.into(), format!("hold {}\n{command}\n", noted(vip)))
}

fn clamp(service: &str, segments: &[(IpNet, u16)]) -> (String, String) {
    let rules = segments.iter().map(|(vip, mss)| {
        let ip = if vip.addr().is_ipv4() { "ip" } else { "ip6" };
        let vip = written(vip);
        format!("        {ip} saddr {vip} tcp flags & (syn | rst) == syn tcp option maxseg size set {mss}\n")
    });
    let why = "Clients are told segments that fit the tunnel. (Smaller ones stay as they are. Without nft a client learns the size from the appliance's \"too big\", if that reaches it.)";
    let commands = format!(
        "if command -v nft >/dev/null; then\n    nft -f - <<'END'\n{}    chain leaving {{\n        \
         type filter hook output priority mangle\n{}    }}\n}}\nEND\n\
         else\n    echo \"warning: no nft: segments are not clamped\" >&2\nfi\n",
        fresh(&table(service, "")),
        rules.collect::<String>()
    );
    (why.into(), commands)
}

/// A table's start; what was in it before goes.
fn fresh(table: &str) -> String {
    format!("table inet {table}\ndelete table inet {table}\ntable inet {table} {{\n")
}
