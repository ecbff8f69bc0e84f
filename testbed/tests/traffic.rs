//! Requests and uploads through Windrose, over every tunnel.

use std::collections::BTreeMap;
use std::net::IpAddr;

use rustix::process::Signal;
use testbed::address::{self, Family, dscp, vip, vips};
use testbed::appliance::{Appliance, TOTAL};
use testbed::backend::Backend;
use testbed::client::{Connection, ask, noise};
use testbed::config::{Config, Driver};
use testbed::topology::{Arms, Topology};
use testbed::{Error, Result, command};

const REQUESTS: usize = 200;
const UPLOAD: usize = 20_000_000;

/// Asks as often as said and counts who answered; every request must be.
fn answers(topology: &Topology, vip: IpAddr, requests: usize) -> Result<BTreeMap<String, usize>> {
    let mut answers = BTreeMap::new();
    for _ in 0..requests {
        *answers.entry(ask(&topology.client, vip)?).or_default() += 1;
    }
    Ok(answers)
}

/// Uploads through a VIP and compares what the backend got, byte by byte.
fn upload(topology: &Topology, vip: IpAddr) -> Result<()> {
    let body = noise(UPLOAD);
    let name = format!("to-{vip}");
    Connection::open(&topology.client, vip)?.upload(&name, &body)?;
    let backend = topology.backends.iter().find(|b| b.has_upload(&name));
    let backend = backend.ok_or_else(|| Error::Unexpected(format!("nobody has {name}")))?;
    assert!(backend.upload(&name)? == body, "{} got other bytes through {vip}", backend.name);
    Ok(())
}

fn every_request_and_upload_arrives(topology: &Topology, config: &Config) -> Result<()> {
    let appliance = Appliance::start(topology, config)?;
    for vip in vips() {
        let answers = answers(topology, vip, REQUESTS)?;
        assert_eq!(answers.len(), 3, "each backend answers through {vip}: {answers:?}");
        upload(topology, vip)?;
    }
    let counters = appliance.stop(Signal::TERM)?;
    // Each request is five packets towards the backend at least: SYN, ACK, request, ACK, FIN.
    let least = 4 * REQUESTS as u64 * 4;
    let forwarded = counters.get("forwarded").copied().unwrap_or(0);
    assert!(forwarded > least, "{counters:?}");
    assert_eq!(counters.get("received"), counters.get(TOTAL), "each ends once (D-7): {counters:?}");
    for backend in &topology.backends {
        // The decapsulator's sockets keep the kernel from refusing the tunnel's protocols.
        assert_eq!(backend.namespace.unreachables_sent()?, [0, 0], "{}", backend.name);
    }
    Ok(())
}

#[test]
fn ipip_carries_requests_and_uploads_over_every_pair_of_families() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    every_request_and_upload_arrives(&topology, &Config::new(&topology).kind("ipip"))
}

#[test]
fn gre_carries_requests_and_uploads_over_every_pair_of_families() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    every_request_and_upload_arrives(&topology, &Config::new(&topology).kind("gre"))
}

#[test]
fn gre_with_a_key_carries_requests_and_uploads() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let config = Config { encapsulation: "gre_key = 7", ..Config::new(&topology).kind("gre") };
    every_request_and_upload_arrives(&topology, &config)
}

#[test]
fn gue_carries_requests_and_uploads_over_every_pair_of_families() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    every_request_and_upload_arrives(&topology, &Config::new(&topology).kind("gue"))
}

#[test]
fn gue_variant_1_carries_requests_and_uploads() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let config = Config { encapsulation: "gue_variant = 1", ..Config::new(&topology).kind("gue") };
    every_request_and_upload_arrives(&topology, &config)
}

#[test]
fn a_spread_source_carries_requests_and_uploads() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let spread = "source_entropy = true\nentropy_prefix = [\"172.16.0.0/16\", \"2001:db8:e::/64\"]";
    let config = Config { encapsulation: spread, ..Config::new(&topology) };
    every_request_and_upload_arrives(&topology, &config)
}

#[test]
fn backends_on_the_segment_need_no_tunnel() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let appliance = Appliance::start(&topology, &Config::new(&topology).kind("l2"))?;
    for vip in Family::BOTH.map(|family| vip(family, family)) {
        let answers = answers(&topology, vip, REQUESTS)?;
        assert_eq!(answers.len(), 3, "each backend answers through {vip}: {answers:?}");
        upload(&topology, vip)?;
    }
    appliance.stop(Signal::TERM)?;
    Ok(())
}

/// What a backend of an L3DSR service does: turn destination and code back before its sockets.
fn turn_back(backend: &Backend, index: usize) -> Result<()> {
    let rule = |family: Family| {
        let ip = ["ip", "ip6"][family as usize];
        let (code, own, vip) =
            (dscp(family), address::backend(2, family, index), vip(family, family));
        format!("{ip} dscp {code} {ip} daddr {own} {ip} daddr set {vip} {ip} dscp set 0;")
    };
    let rules = Family::BOTH.map(rule).concat();
    let chain = format!("chain vip {{ type filter hook prerouting priority raw; {rules} }}");
    let mut nft = backend.namespace.command("nft");
    command::output(nft.arg(format!("table inet dsr {{\n{chain}\n}}"))).map(drop)
}

#[test]
fn a_code_tells_the_vip_to_backends_behind_routers() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    for (index, backend) in topology.backends.iter().enumerate() {
        turn_back(backend, index)?;
    }
    let appliance = Appliance::start(&topology, &Config::new(&topology).kind("l3dsr"))?;
    for vip in Family::BOTH.map(|family| vip(family, family)) {
        let answers = answers(&topology, vip, REQUESTS)?;
        assert_eq!(answers.len(), 3, "each backend answers through {vip}: {answers:?}");
        upload(&topology, vip)?;
    }
    appliance.stop(Signal::TERM)?;
    Ok(())
}

#[test]
fn one_arm_is_enough() -> Result<()> {
    let topology = Topology::new(Arms::One)?;
    every_request_and_upload_arrives(&topology, &Config::new(&topology))
}

#[test]
fn af_xdp_ports_carry_the_same() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let config = Config { driver: Driver::AfXdp, ..Config::new(&topology) };
    every_request_and_upload_arrives(&topology, &config)
}

/// Who answers to each of the same hundred flows. S-5: this depends on the configuration alone.
fn spread(topology: &Topology, config: &Config, vip: IpAddr) -> Result<Vec<String>> {
    let appliance = Appliance::start(topology, config)?;
    let ask = |port| Connection::open_from(&topology.client, port, vip)?.who();
    let answers: Result<Vec<_>> = (20_000..20_100).map(ask).collect();
    appliance.stop(Signal::TERM)?;
    answers
}

#[test]
fn two_workers_give_the_same_answers_as_one() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let one = Config::new(&topology);
    let two = Config { workers: vec![0, 1], ..one.clone() };
    for family in Family::BOTH {
        let vip = vip(family, family);
        assert_eq!(spread(&topology, &one, vip)?, spread(&topology, &two, vip)?, "{vip}");
    }
    Ok(())
}
