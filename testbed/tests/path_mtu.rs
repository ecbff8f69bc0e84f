//! Path-MTU discovery through Windrose (D-8, N-3), and echo to a VIP.

use std::net::IpAddr;

use rustix::process::Signal;
use testbed::address::{Family, vip, vips};
use testbed::appliance::{Appliance, Counters};
use testbed::client::{Connection, noise};
use testbed::config::Config;
use testbed::topology::{Arms, Topology};
use testbed::{Error, Result};

const UPLOAD: usize = 2_000_000;

/// What a tunnel puts in front of a packet for a backend of the VIP's last digits.
fn outer_header(kind: &str, vip: IpAddr) -> usize {
    let same = vip.to_string().ends_with("10");
    let outer_is_v4 = vip.is_ipv4() == same;
    let shim = if kind == "gre" { 4 } else { 0 };
    shim + if outer_is_v4 { 20 } else { 40 }
}

/// The MTU that the client's kernel has learnt for a destination.
fn learnt(topology: &Topology, to: IpAddr) -> Result<Option<usize>> {
    let route = topology.client.ip(&format!("route get {to}"))?;
    let mut words = route.split_whitespace().skip_while(|word| *word != "mtu");
    Ok(words.nth(1).and_then(|mtu| mtu.parse().ok()))
}

fn count(counters: &Counters, name: &str) -> u64 {
    counters.get(name).copied().unwrap_or(0)
}

fn an_upload_learns_what_fits(kind: &'static str) -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let appliance = Appliance::start(&topology, &Config::new(&topology).kind(kind).narrow())?;
    let body = noise(UPLOAD);
    for vip in vips() {
        assert_eq!(learnt(&topology, vip)?, None, "{vip}, before");
        let name = format!("to-{vip}");
        Connection::open(&topology.client, vip)?.upload(&name, &body)?;
        assert_eq!(learnt(&topology, vip)?, Some(1500 - outer_header(kind, vip)), "{vip}");
        let backend = topology.backends.iter().find(|b| b.has_upload(&name));
        let backend = backend.ok_or_else(|| Error::Unexpected(format!("nobody has {name}")))?;
        assert!(backend.upload(&name)? == body, "{} got other bytes through {vip}", backend.name);
    }
    let counters = appliance.stop(Signal::TERM)?;
    assert!(count(&counters, "too_big") >= 4, "{counters:?}");
    assert!(count(&counters, "icmp_sent") >= 4, "{counters:?}");
    Ok(())
}

#[test]
fn an_upload_through_ipip_learns_what_fits_and_completes() -> Result<()> {
    an_upload_learns_what_fits("ipip")
}

#[test]
fn an_upload_through_gre_learns_what_fits_and_completes() -> Result<()> {
    an_upload_learns_what_fits("gre")
}

/// Uploads without "don't fragment" (D-8): nothing is learnt, and everything arrives.
fn an_upload_is_fragmented_and_put_together(kind: &'static str) -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let config = Config { fragment_oversize: true, ..Config::new(&topology).kind(kind).narrow() };
    let appliance = Appliance::start(&topology, &config)?;
    topology.client.set("ipv4/ip_no_pmtu_disc", 1)?;
    let body = noise(UPLOAD);
    for back in Family::BOTH {
        let vip = vip(Family::V4, back);
        let name = format!("to-{vip}");
        Connection::open(&topology.client, vip)?.upload(&name, &body)?;
        let backend = topology.backends.iter().find(|b| b.has_upload(&name));
        let backend = backend.ok_or_else(|| Error::Unexpected(format!("nobody has {name}")))?;
        assert!(backend.upload(&name)? == body, "{} got other bytes through {vip}", backend.name);
        assert_eq!(learnt(&topology, vip)?, None, "{vip}");
    }
    let counters = appliance.stop(Signal::TERM)?;
    let least = 2 * (UPLOAD / 1460) as u64;
    assert!(count(&counters, "fragmented") >= least, "{counters:?}");
    assert_eq!(count(&counters, "too_big"), 0, "{counters:?}");
    Ok(())
}

#[test]
fn an_upload_that_may_be_fragmented_arrives_through_ipip() -> Result<()> {
    an_upload_is_fragmented_and_put_together("ipip")
}

#[test]
fn an_upload_that_may_be_fragmented_arrives_through_gue() -> Result<()> {
    an_upload_is_fragmented_and_put_together("gue")
}

#[test]
fn a_vip_answers_ping_of_any_size() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let appliance = Appliance::start(&topology, &Config::new(&topology))?;
    for vip in vips() {
        for size in [0, 1, 56, 57, 1400, 1452] {
            let ping = topology.client.run(&format!("ping -n -c 2 -i 0.2 -W 2 -s {size} {vip}"))?;
            assert!(ping.contains(" 0% packet loss"), "{size} bytes: {ping}");
        }
    }
    let counters = appliance.stop(Signal::TERM)?;
    assert_eq!(count(&counters, "echo_answered"), 2 * 6 * 4, "{counters:?}");
    Ok(())
}

#[test]
fn without_answer_echo_a_vip_is_silent() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let config = Config::new(&topology).to_string();
    let silent = config.replace("[[port]]\n", "[[port]]\nanswer_echo = false\n");
    let appliance = Appliance::start(&topology, &silent)?;
    let vip = vip(Family::V4, Family::V4);
    assert!(topology.client.run(&format!("ping -n -c 2 -i 0.2 -W 1 {vip}")).is_err());
    let counters = appliance.stop(Signal::TERM)?;
    assert_eq!(count(&counters, "vip_no_rule"), 2, "{counters:?}");
    Ok(())
}
