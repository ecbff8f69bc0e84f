//! Ports that are bonds, over wires to one switch: who carries traffic, what a cut changes, what
//! `windrose status` and the log say of it. LACP is in `lacp.rs`.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;
use testbed::address::{FRONT, Family, vip, vips};
use testbed::appliance::Appliance;
use testbed::client::{Connection, ask, noise};
use testbed::config::Config;
use testbed::topology::{Arms, Topology};
use testbed::trunk::Switch;
use testbed::{Error, Result};

const MTUS: [u16; 2] = [1500, 1600];

/// A member's name, whether its link is up, whether it carries traffic.
type Members = Vec<(String, bool, bool)>;

/// The bond of the first port, as `windrose status` tells of it.
fn bond(appliance: &Appliance) -> Result<(String, Members)> {
    let told = appliance.tell(&["status", "--format", "json"])?;
    let told: Value = serde_json::from_str(&told).map_err(|e| Error::Unexpected(e.to_string()))?;
    let bond = &told["ports"][0]["bond"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let flag = |value: &Value| value.as_bool().unwrap_or_default();
    let member = |m: &Value| (text(&m["device"]), flag(&m["up"]), flag(&m["active"]));
    let members = bond["members"].as_array().map(Vec::as_slice).unwrap_or_default();
    Ok((text(&bond["mode"]), members.iter().map(member).collect()))
}

/// Waits until status says of both members whether they are up and carry traffic.
fn becomes(appliance: &Appliance, expected: [(bool, bool); 2]) -> Result<()> {
    let ends = Instant::now() + Duration::from_secs(15);
    loop {
        let (_, members) = bond(appliance)?;
        let now: Vec<_> = members.iter().map(|(_, up, active)| (*up, *active)).collect();
        if now == expected {
            return Ok(());
        }
        if Instant::now() > ends {
            let log = appliance.log();
            return Err(Error::Unexpected(format!("{members:?}, not {expected:?}\n{log}")));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Packets that were on their way to the dead member are sent again by TCP.
fn answers_again(topology: &Topology, vip: std::net::IpAddr) -> Result<()> {
    let ends = Instant::now() + Duration::from_secs(15);
    loop {
        match ask(&topology.client, vip) {
            Ok(_) => return Ok(()),
            Err(error) if Instant::now() > ends => return Err(error),
            Err(_) => {}
        }
    }
}

/// Frames that each of the wires has carried from and to the appliance.
fn carried(topology: &Topology, wire: &str) -> Result<[[u64; 2]; 2]> {
    let count = |place: usize, what: &str| {
        let file = format!("/sys/class/net/{wire}{place}/statistics/{what}_packets");
        let text = topology.appliance.run(&format!("cat {file}"))?;
        text.trim().parse().map_err(|_| Error::Unexpected(format!("{file}: {text}")))
    };
    let both = |place| Ok([count(place, "tx")?, count(place, "rx")?]);
    Ok([both(0)?, both(1)?])
}

/// What each wire has carried more than before.
fn more(before: [[u64; 2]; 2], now: [[u64; 2]; 2]) -> [[u64; 2]; 2] {
    [0, 1].map(|wire| [0, 1].map(|way| now[wire][way] - before[wire][way]))
}

/// Every VIP again and again: flows enough for two wires.
fn traffic(topology: &Topology) -> Result<()> {
    for vip in vips() {
        for _ in 0..20 {
            ask(&topology.client, vip)?;
        }
    }
    Ok(())
}

#[test]
fn active_backup_goes_on_over_the_other_member_when_one_is_cut_over_two_switches() -> Result<()> {
    let topology = Topology::new(Arms::One)?;
    topology.plug_again("lb1")?;
    let mut appliance = Appliance::start(&topology, &Config::bonded(&topology, "active-backup"))?;
    let vip = vip(Family::V4, Family::V4);
    ask(&topology.client, vip)?;
    let mut open = Connection::open(&topology.client, vip)?;
    let backend = open.who()?;
    assert_eq!(bond(&appliance)?.0, "active-backup");
    becomes(&appliance, [(true, true), (true, false)])?;

    // The names that the testbed gives the switches' ends of `lb0` and `lb1`.
    let cuts = [
        ("appliance0", [(false, false), (true, true)], [(true, false), (true, true)]),
        ("appliance1", [(true, true), (false, false)], [(true, true), (true, false)]),
    ];
    for (cut, without, with) in cuts {
        topology.fabric.ip(&format!("link set {cut} down"))?;
        becomes(&appliance, without)?;
        answers_again(&topology, vip)?;
        assert_eq!(open.who()?, backend, "a connection survives");
        topology.fabric.ip(&format!("link set {cut} up"))?;
        becomes(&appliance, with)?;
    }
    let text = appliance.tell(&["status"])?;
    assert!(text.contains("bond of front: active-backup\n"), "{text}");
    let lines = ["lb0,qpairs=1: link up, carries traffic\n", "lb1,qpairs=1: link up\n"];
    assert!(lines.iter().all(|line| text.contains(line)), "{text}");
    for (member, link, carries) in [
        ("0,iface=lb0", "down", false),
        ("1,iface=lb1", "up", true),
        ("1,iface=lb1", "down", false),
    ] {
        let log = appliance.log();
        let told = |line: &&str| {
            let fields = [format!("net_af_packet{member}"), format!("carries_traffic={carries}")];
            line.contains("bond member changed")
                && line.contains(&format!("link={link:?}"))
                && fields.iter().all(|field| line.contains(field))
        };
        assert!(log.lines().any(|line| told(&line)), "{member} {link} {carries}: {log}");
    }
    // SIGUSR1 says it, too, in front of the counters' end.
    appliance.counters()?;
    appliance.stop(Signal::TERM)?;
    Ok(())
}

#[test]
fn balance_xor_uses_both_members_in_both_directions_and_leaves_out_one_that_is_cut() -> Result<()> {
    let topology = Topology::bonded(Arms::One, MTUS, Switch::Lag)?;
    let appliance = Appliance::start(&topology, &Config::bonded(&topology, "balance-xor"))?;
    let mut open = Connection::open(&topology.client, vip(Family::V4, Family::V6))?;
    let backend = open.who()?;
    assert_eq!(bond(&appliance)?.0, "balance-xor");
    becomes(&appliance, [(true, true), (true, true)])?;

    let before = carried(&topology, "lb")?;
    traffic(&topology)?;
    let now = carried(&topology, "lb")?;
    let each = more(before, now);
    assert!(each.as_flattened().iter().all(|frames| *frames > 20), "{each:?}");

    for cut in [0, 1] {
        topology.cut(cut, true)?;
        let mut without = [(true, true); 2];
        without[cut] = (false, false);
        becomes(&appliance, without)?;
        answers_again(&topology, vip(Family::V4, Family::V4))?;
        let before = carried(&topology, "lb")?;
        traffic(&topology)?;
        assert_eq!(open.who()?, backend, "a connection survives");
        let now = carried(&topology, "lb")?;
        assert_eq!(more(before, now)[cut], [0, 0], "nothing is given to the dead one");
        topology.cut(cut, false)?;
        becomes(&appliance, [(true, true); 2])?;
    }
    let before = carried(&topology, "lb")?;
    traffic(&topology)?;
    let each = more(before, carried(&topology, "lb")?);
    println!("frames from and to the appliance, on each wire: {each:?}");
    assert!(each.as_flattened().iter().all(|frames| *frames > 20), "as before: {each:?}");
    appliance.stop(Signal::TERM)?;
    Ok(())
}

/// Addresses are found out through the tag, by ARP and neighbour discovery, on both sides: the file
/// names no neighbour.
#[test]
fn vlans_and_jumbo_frames_pass_a_bond_of_either_mode_in_both_families() -> Result<()> {
    for (mode, switch) in [("balance-xor", Switch::Lag), ("active-backup", Switch::Flood)] {
        let topology = Topology::bonded(Arms::Trunk, [9000, 9100], switch)?;
        let mut config = Config { memory: "512M", ..Config::bonded(&topology, mode) };
        config.ports.iter_mut().for_each(|port| port.neighbours.clear());
        let appliance = Appliance::start(&topology, &config)?;
        let text = appliance.tell(&["status"])?;
        assert!(text.contains(&format!("bond of front+back: {mode}\n")), "{text}");
        passes(&topology, mode)?;
        topology.cut(0, true)?;
        becomes(&appliance, [(false, false), (true, true)])?;
        answers_again(&topology, vip(Family::V4, Family::V4))?;
        passes(&topology, &format!("{mode}-cut"))?;
        let counters = appliance.stop(Signal::TERM)?;
        assert_eq!(counters.get("rx_truncated"), None, "{counters:?}");
    }
    Ok(())
}

/// Large packets of both families, to the port's own addresses and through it.
fn passes(topology: &Topology, what: &str) -> Result<()> {
    for family in Family::BOTH {
        let ping = format!("ping -n -c 3 -i 0.2 -W 2 -M do -s 8900 {}", FRONT[family as usize]);
        let said = topology.client.run(&ping)?;
        assert!(said.contains(" 0% packet loss") && !said.contains("DUP"), "{what}: {said}");
    }
    for vip in vips() {
        answers_again(topology, vip)?;
        let (name, body) =
            (format!("{what}-{}", vip.to_string().replace(':', "-")), noise(500_000));
        Connection::open(&topology.client, vip)?.upload(&name, &body)?;
        let backend = topology.backends.iter().find(|b| b.has_upload(&name));
        let backend = backend.ok_or_else(|| Error::Unexpected(format!("nobody has {name}")))?;
        assert!(backend.upload(&name)? == body, "{what}: other bytes");
    }
    Ok(())
}
