//! A thousand reloads in a row under traffic: no packet is lost or misrouted because of one.
//!
//! Misrouted, a packet of an open connection would reach a backend that does not know it, and be
//! reset. Lost by Windrose, it would be in a counter other than those allowed here.

use std::time::Instant;

use rustix::process::Signal;
use testbed::Result;
use testbed::appliance::{Appliance, TOTAL};
use testbed::config::Config;
use testbed::load;
use testbed::topology::{Arms, Topology};

const RELOADS: usize = 1_000;

#[test]
fn a_thousand_reloads_in_a_row_lose_and_misroute_nothing() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let full = Config::new(&topology);
    // Each in turn: another tunnel, a backend that leaves and returns, another rule.
    let more = "[[forwarding_rule]]\nname = \"other\"\naddress = \"203.0.113.99\"\nprotocol = \"TCP\"\n\
                ports = [81]\nservice = \"web-v4\"\n";
    let configs = [
        full.clone().kind("gre"),
        full.clone().without("b1"),
        full.clone().kind("gre").without("b2"),
        Config { more: more.into(), ..full.clone() },
        full.clone().without("b3"),
    ];
    let mut appliance = Appliance::start(&topology, &full)?;
    let began = Instant::now();
    let ((), figures) = load::during(&topology, 12, || {
        (0..RELOADS).try_for_each(|n| appliance.reload(&configs[n % configs.len()]))
    })?;
    println!("{RELOADS} reloads in {:.1?}: {figures}", began.elapsed());

    let counters = appliance.stop(Signal::TERM)?;
    assert_eq!(counters.get("received"), counters.get(TOTAL), "{counters:?}");
    let lost: Vec<_> = counters.iter().filter(|(name, _)| is_loss(name)).collect();
    assert!(lost.is_empty(), "{lost:?} of {counters:?}");
    Ok(())
}

/// What ended otherwise than on its way to a backend or to the host, and what was never received.
fn is_loss(name: &str) -> bool {
    const DROPS: [&str; 22] = [
        "no_host_interface",
        "host_full",
        "wrong_vlan",
        "rx_truncated",
        "malformed_ip",
        "wrong_checksum",
        "malformed_l4",
        "martian_source",
        "ttl_expired",
        "vip_no_rule",
        "client_denied",
        "no_eligible_backend",
        "fragment_no_first",
        "fragment_held_full",
        "too_big",
        "oversize_frame",
        "icmp_rate_limited",
        "next_hop_unresolved",
        "loop",
        "no_headroom",
        "no_buffer",
        "tx_full",
    ];
    DROPS.contains(&name) || name.contains("rx_missed") || name.contains("tx_errors")
}
