//! The kernel's own routes and neighbours, read in a network namespace. Needs root.

use std::net::IpAddr;
use std::process::Command;

use control::netlink::{Neighbour, Network, Verdict, snapshot};
use tables::Mac;

/// Moves this thread, and so all that it starts, into a new network namespace.
fn new_namespace() {
    // SAFETY: has no precondition.
    let done = unsafe { libc::unshare(libc::CLONE_NEWNET) } == 0;
    assert!(done, "a network namespace needs root");
}

fn ip(arguments: &str) {
    let output = Command::new("ip").args(arguments.split(' ')).output().expect("ip runs");
    assert!(output.status.success(), "ip {arguments}: {output:?}");
}

/// Where an address leads: `interface via neighbour * weight = MAC` for each next hop.
fn told(network: &Network, to: &str) -> String {
    let to: IpAddr = to.parse().expect(to);
    match network.route(to) {
        Verdict::NoRoute => "no route".into(),
        Verdict::Nowhere(length) => format!("nowhere /{length}"),
        Verdict::Through(way) => {
            let steps = way.steps.iter().map(|step| {
                let mac = step.known.and_then(Neighbour::mac);
                let mac = mac.map_or("?".into(), |mac| mac.to_string());
                format!("{} {} *{} {mac}", step.interface, step.neighbour, step.weight)
            });
            let mtu = way.mtu.map_or(String::new(), |mtu| format!(" mtu {mtu}"));
            format!("/{} {}{mtu}", way.length, steps.collect::<Vec<_>>().join(", "))
        }
    }
}

#[test]
#[cfg_attr(no_namespace, ignore = "a network namespace needs root")]
fn routes_and_neighbours_of_the_kernel_are_read_as_it_uses_them() {
    new_namespace();
    for line in [
        "link add wr-a type veth peer name peer-a",
        "link add wr-b type veth peer name peer-b",
        "link add other type veth peer name peer-other",
        "link set wr-a up",
        "link set peer-a up",
        "link set wr-b up",
        "link set peer-b up",
        "link set other up",
        "link set peer-other up",
        "address add 10.0.1.1/24 dev wr-a",
        "address add 10.0.2.1/24 dev wr-b",
        "address add 10.0.3.1/24 dev other",
        "address add 2001:db8:1::1/64 dev wr-a nodad",
        "route add default via 10.0.3.254 dev other",
        "route add default via 10.0.1.254 dev wr-a metric 200",
        "route add 10.1.0.0/16 via 10.0.1.253 dev wr-a mtu 1400",
        "route add 10.1.2.0/24 nexthop via 10.0.1.2 dev wr-a weight 3 nexthop via 10.0.2.2 dev wr-b",
        "route add 10.1.3.0/24 via 10.0.3.2 dev other",
        "route add blackhole 10.1.4.0/24",
        "route add throw 10.1.5.0/24 table 7",
        "route add 10.1.6.0/24 via 10.0.2.7 dev wr-b table 7",
        "route add 10.1.7.0/24 via 10.0.2.8 dev wr-b table 8",
        "route add 10.1.8.0/24 via inet6 fe80::1 dev wr-b",
        "rule add priority 100 lookup 7",
        "rule add priority 101 from 192.0.2.1 lookup 8",
        "-6 route add 2001:db8:2::/48 via fe80::2 dev wr-a",
        "-6 route add 2001:db8:3::/48 nexthop via fe80::2 dev wr-a nexthop via fe80::3 dev wr-b",
        "neighbour add 10.0.1.253 dev wr-a lladdr 02:00:00:00:00:53 nud reachable",
        "neighbour add fe80::2 dev wr-a lladdr 02:00:00:00:00:02 nud permanent",
    ] {
        ip(line);
    }
    let network = snapshot(["wr-a", "", "wr-b"]).expect("the kernel answers");
    for (to, expected) in [
        ("10.0.1.9", "/24 0 10.0.1.9 *1 ?"),
        ("10.0.1.253", "/24 0 10.0.1.253 *1 02:00:00:00:00:53"),
        ("10.1.1.1", "/16 0 10.0.1.253 *1 02:00:00:00:00:53 mtu 1400"),
        ("10.1.2.1", "/24 0 10.0.1.2 *3 ?, 2 10.0.2.2 *1 ?"),
        // The more specific one leads where Windrose cannot send.
        ("10.1.3.1", "/16 0 10.0.1.253 *1 02:00:00:00:00:53 mtu 1400"),
        ("10.1.4.1", "nowhere /24"),
        ("10.1.5.1", "/16 0 10.0.1.253 *1 02:00:00:00:00:53 mtu 1400"),
        ("10.1.6.1", "/24 2 10.0.2.7 *1 ?"),
        ("10.1.7.1", "/16 0 10.0.1.253 *1 02:00:00:00:00:53 mtu 1400"),
        ("10.1.8.1", "/24 2 fe80::1 *1 ?"),
        ("192.0.2.9", "/0 0 10.0.1.254 *1 ?"),
        ("2001:db8:1::9", "/64 0 2001:db8:1::9 *1 ?"),
        ("2001:db8:2::9", "/48 0 fe80::2 *1 02:00:00:00:00:02"),
        ("2001:db8:3::9", "/48 0 fe80::2 *1 02:00:00:00:00:02, 2 fe80::3 *1 ?"),
        ("2001:db9::1", "no route"),
    ] {
        assert_eq!(told(&network, to), expected, "{to}");
    }
    let fixed = Some(Neighbour::Fixed(Mac([2, 0, 0, 0, 0, 2])));
    assert_eq!(network.neighbour(0, "fe80::2".parse().expect("valid")), fixed);

    // Without a carrier a way is none, and the next best decides.
    ip("link set peer-a down");
    let network = snapshot(["wr-a", "", "wr-b"]).expect("the kernel answers");
    assert_eq!(told(&network, "10.1.2.1"), "/24 2 10.0.2.2 *1 ?");
    assert_eq!(told(&network, "10.1.1.1"), "no route");
    assert!(!network.is_up(0) && network.is_up(2));
}
