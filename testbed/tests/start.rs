//! How `windrose run` begins and ends.

use rustix::process::Signal;
use testbed::Result;
use testbed::appliance::{Appliance, TOTAL};
use testbed::config::Config;
use testbed::topology::{Arms, Topology};

#[test]
fn what_cannot_start_says_so_in_a_sentence() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let good = Config::new(&topology).to_string();
    let cases = [
        ("a missing interface", good.replace("iface=lb1", "iface=nosuch0"), "nosuch0"),
        ("too little memory", good.replace("\"128M\"", "\"1M\""), "memory"),
        (
            "a wrong PCI address",
            good.replace("net_af_packet1,iface=lb1,qpairs=1", "0000:ff:1f.7"),
            "0000:ff:1f.7",
        ),
    ];
    for (name, config, named) in cases {
        let (status, said) = Appliance::refuse(&topology, &config)?;
        ends_in_a_sentence(name, status.code(), &said, named);
    }
    Ok(())
}

#[test]
fn huge_pages_that_are_required_and_missing_are_said_to_be() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let config = Config { hugepages: "require", ..Config::new(&topology) };
    let (status, said) = Appliance::refuse_without_huge_pages(&topology, &config)?;
    ends_in_a_sentence("no huge pages", status.code(), &said, "huge page");
    Ok(())
}

/// What it said last names the fault; whatever DPDK logged before it, nothing panicked.
fn ends_in_a_sentence(name: &str, code: Option<i32>, said: &str, named: &str) {
    assert!(matches!(code, Some(71 | 78)), "{name}: exit code {code:?}\n{said}");
    // An error of the file comes with the place and what is allowed: more than one line.
    let sentence = match code {
        Some(78) => said,
        _ => said.trim().lines().last().unwrap_or_default(),
    };
    assert!(sentence.contains(named), "{name}: {said}");
    assert!(!said.contains("panicked"), "{name}: {said}");
}

#[test]
fn sigterm_and_sigint_end_it_cleanly_and_it_starts_again() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    for signal in [Signal::TERM, Signal::INT, Signal::TERM] {
        let appliance = Appliance::start(&topology, &Config::new(&topology))?;
        let log = appliance.log();
        assert!(log.contains("MB (39 bytes an IPv4 entry, 75 an IPv6 entry"), "{log}");
        let counters = appliance.stop(signal)?;
        assert!(counters.contains_key(TOTAL), "{signal:?}: {counters:?}");
    }
    Ok(())
}

#[test]
fn two_on_one_interface_would_forward_everything_twice_so_the_second_is_refused() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let config = Config::new(&topology);
    let first = Appliance::start(&topology, &config)?;
    let (status, said) = Appliance::refuse(&topology, &config)?;
    assert_eq!(status.code(), Some(71), "{said}");
    assert!(said.contains("another windrose"), "{said}");
    first.stop(Signal::TERM)?;
    Appliance::start(&topology, &config)?.stop(Signal::TERM)?;
    Ok(())
}

#[test]
fn a_link_that_goes_down_and_comes_back_is_logged() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let mut appliance = Appliance::start(&topology, &Config::new(&topology))?;
    // Its first look.
    appliance.counters()?;
    topology.appliance.run("ip link set lb0 down")?;
    appliance.wait_for_log("link is down")?;
    topology.appliance.run("ip link set lb0 up")?;
    appliance.wait_for_log("link is up")?;
    appliance.stop(Signal::TERM)?;
    Ok(())
}
