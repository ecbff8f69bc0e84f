//! Health checks with real servers: what they find, and what becomes of connections (section 7).

use std::collections::BTreeMap;
use std::net::IpAddr;

use rustix::process::Signal;
use testbed::address::{Family, backend, vip};
use testbed::appliance::Appliance;
use testbed::backend::AUTHORITY;
use testbed::client::Connection;
use testbed::config::Config;
use testbed::topology::{Arms, Topology};
use testbed::{Error, Result};

const VIP: fn() -> IpAddr = || vip(Family::V4, Family::V4);

/// Source ports, so that a run chooses as the one before did.
const FIRST_PORT: u16 = 10_000;

/// Both services, checked, every backend unhealthy until it is found to be healthy.
fn checked(config: &Config, keys: &str, more: &str) -> String {
    let check = format!(
        "initial_health = \"unhealthy\"\n{more}\nhealth_check = {{ protocol = \"HTTP\", port = 80, \
         request_path = \"/healthz\", interval = \"400ms\", timeout = \"300ms\", {keys} }}"
    );
    config.to_string().replace("initial_health = \"healthy\"", &check)
}

fn becomes(appliance: &Appliance, from: usize, name: &str, verdict: &str) -> Result<usize> {
    let [name, verdict] = [format!("backend=rack/{name} "), format!("to=\"{verdict}\"")];
    appliance.wait_for_line(from, &["health changed", "web-v4", &name, &verdict])
}

/// Who answers new connections from as many source ports.
fn shares(topology: &Topology, connections: u16) -> Result<BTreeMap<String, f64>> {
    let mut shares = BTreeMap::new();
    for port in FIRST_PORT..FIRST_PORT + connections {
        let name = Connection::open_from(&topology.client, port, VIP())?.who()?;
        *shares.entry(name).or_insert(0.0) += 100.0 / f64::from(connections);
    }
    Ok(shares)
}

#[test]
fn w8_a_vip_that_is_missing_on_a_backend_is_red_by_vip_and_green_by_address() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    // As strict about sources as a host can be. Answers come from VIPs, which then need some route.
    for name in ["all", "default"] {
        topology.appliance.run(&format!("sysctl -qw net.ipv4.conf.{name}.rp_filter=1"))?;
    }
    topology.appliance.ip("route add default dev lo")?;
    let config = Config::new(&topology);
    for family in Family::BOTH {
        let (missing, length) = (vip(family, Family::V4), [32, 128][family as usize]);
        let hole = &topology.backends[1].namespace;
        hole.ip(&format!("address del {missing}/{length} dev lo"))?;
        let mut appliance = Appliance::start(&topology, &checked(&config, "target = \"vip\"", ""))?;
        for name in ["b1", "b3"] {
            becomes(&appliance, 0, name, "healthy")?;
        }
        appliance.wait_for_line(0, &["rack/b2 ", "\"unhealthy\"", &missing.to_string()])?;
        let shares = shares(&topology, 60)?;
        assert_eq!(shares.keys().collect::<Vec<_>>(), ["b1", "b3"], "{missing}");

        let from = appliance.log().len();
        appliance.reload(&checked(&config, "target = \"address\"", ""))?;
        becomes(&appliance, from, "b2", "healthy")?;
        let counters = appliance.stop(Signal::TERM)?;
        assert!(counters.get("probe").is_some_and(|probes| *probes > 10), "{counters:?}");
        hole.ip(&format!("address add {missing}/{length} dev lo"))?;
    }
    Ok(())
}

#[test]
fn w8_probes_go_through_every_tunnel_and_with_one_arm_or_vlans_too() -> Result<()> {
    let cases =
        [(Arms::Two, "gre"), (Arms::Two, "gue"), (Arms::One, "ipip"), (Arms::Trunk, "ipip")];
    for (arms, kind) in cases {
        let topology = Topology::new(arms)?;
        let config = Config::new(&topology).kind(kind);
        let appliance = Appliance::start(&topology, &checked(&config, "target = \"vip\"", ""))?;
        for (service, name) in [("web-v4", "b1"), ("web-v4", "b2"), ("web-v6", "b3")] {
            let name = format!("backend=rack/{name} ");
            appliance.wait_for_line(0, &["health changed", service, &name, "\"healthy\""])?;
        }
        appliance.stop(Signal::TERM)?;
    }
    Ok(())
}

#[test]
fn w1_w5_servers_change_their_shares_by_header() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let weigh = |weights: [u16; 3]| {
        let pairs = topology.backends.iter().zip(weights);
        pairs.into_iter().try_for_each(|(backend, weight)| backend.set_weight(Some(weight)))
    };
    weigh([1, 4, 0])?;
    let config = Config::new(&topology);
    let weighted = checked(&config, "", "locality_lb_policy = \"WEIGHTED_MAGLEV\"");
    let appliance = Appliance::start(&topology, &weighted)?;
    becomes(&appliance, 0, "b3", "healthy")?;
    for (weights, expected) in [([1, 4, 0], [20.0, 80.0, 0.0]), ([4, 1, 0], [80.0, 20.0, 0.0])] {
        let from = appliance.log().len();
        weigh(weights)?;
        if weights[0] == 4 {
            appliance.wait_for_line(from, &["weight changed", "web-v4", "rack/b1 "])?;
            appliance.wait_for_line(from, &["weight changed", "web-v4", "rack/b2 "])?;
        }
        let shares = shares(&topology, 3_000)?;
        println!("weights {weights:?}: {shares:.1?}");
        for (backend, expected) in topology.backends.iter().zip(expected) {
            let share = shares.get(&backend.name).copied().unwrap_or(0.0);
            assert!((share - expected).abs() <= 2.0, "{}: {share} of {expected}", backend.name);
        }
    }
    appliance.stop(Signal::TERM)?;
    Ok(())
}

/// Two primaries, of which both have to be healthy, and a failover backend.
fn with_failover(topology: &Topology, draining: bool) -> String {
    let config = Config::new(topology).members([0, 1]);
    let mut text = checked(&config, "", "");
    for family in Family::BOTH {
        let spare = format!(
            "\n] #\n[[service.group]]\nname = \"spare\"\nrole = \"failover\"\n\
             backends = [{{ name = \"b3\", address = \"{}\" }}]\n[service.failover_policy]\n\
             failover_ratio = 0.6\nconnection_draining_on_failover = {draining}\n",
            backend(2, family, 2)
        );
        text = text.replacen("\n]\n", &spare, 1);
    }
    text
}

#[test]
fn t10_e3_services_fail_over_by_ratio_and_back_with_draining_on_and_off() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    for draining in [true, false] {
        let appliance = Appliance::start(&topology, &with_failover(&topology, draining))?;
        for name in ["b1", "b2"] {
            becomes(&appliance, 0, name, "healthy")?;
        }
        appliance.wait_for_line(0, &["health changed", "web-v4", "spare/b3 ", "\"healthy\""])?;
        let before = shares(&topology, 40)?;
        assert_eq!(before.keys().collect::<Vec<_>>(), ["b1", "b2"]);
        let mut open = open_to(&topology, "b2")?;

        let from = appliance.log().len();
        topology.backends[0].set_healthy(false)?;
        becomes(&appliance, from, "b1", "unhealthy")?;
        appliance.wait_for_line(from, &["pool changed", "web-v4", "to=\"failover\""])?;
        let during = shares(&topology, 40)?;
        assert_eq!(during.keys().collect::<Vec<_>>(), ["b3"], "one of two is less than 0.6");
        assert_eq!(open.who().is_ok_and(|name| name == "b2"), draining, "draining {draining}");

        let from = appliance.log().len();
        topology.backends[0].set_healthy(true)?;
        appliance.wait_for_line(from, &["pool changed", "web-v4", "to=\"primary\""])?;
        assert_eq!(shares(&topology, 40)?, before);
        appliance.stop(Signal::TERM)?;
    }
    Ok(())
}

/// A connection to one backend.
fn open_to(topology: &Topology, name: &str) -> Result<Connection> {
    for port in 1_000..1_200 {
        let mut connection = Connection::open_from(&topology.client, port, VIP())?;
        if connection.who()? == name {
            return Ok(connection);
        }
    }
    Err(Error::Unexpected(format!("nobody is given to {name}")))
}

#[test]
fn r2_a_newer_reload_takes_the_place_of_one_that_waits_for_first_results() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let two = checked(&Config::new(&topology).members([0, 1]), "", "");
    let appliance = Appliance::start(&topology, &two)?;
    for name in ["b1", "b2"] {
        becomes(&appliance, 0, name, "healthy")?;
    }
    // Nobody has this address: its first probe waits for longer than a reload does.
    let patient = two.replace(
        "interval = \"400ms\", timeout = \"300ms\"",
        "interval = \"30s\", timeout = \"30s\"",
    );
    let silent = patient.replacen(
        "backends = [",
        "backends = [\n  { name = \"b9\", address = \"10.0.2.99\" },",
        1,
    );
    assert_ne!(silent, patient);
    let newest = two.replace("\"60s\"", "\"61s\"");
    let (older, newer) = std::thread::scope(|scope| {
        appliance.write(&silent)?;
        let older = scope.spawn(|| appliance.tell(&["reload"]));
        appliance.wait_for_line(0, &["tables published", "from=", "generation="])?;
        while !appliance.tell(&["status", "web-v4"])?.contains("rack/b9") {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        appliance.write(&newest)?;
        let newer = appliance.tell(&["reload"])?;
        let older = older.join().map_err(|_| Error::Unexpected("a panic".into()))??;
        Ok::<_, Error>((older, newer))
    })?;
    assert!(newer.contains("\"60s\" → \"61s\"") && newer.contains("In force"), "{newer}");
    assert_eq!(older, newer, "whoever asked for the older one hears of the newer");
    assert_eq!(appliance.log().matches(" reloaded ").count(), 1, "{}", appliance.log());
    assert!(!appliance.tell(&["status", "web-v4"])?.contains("rack/b9"));
    appliance.stop(Signal::TERM)?;
    Ok(())
}

#[test]
fn r2_a_reload_during_the_start_comes_into_force_when_the_start_is_over() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    // The start waits its whole time for one whose first result does not come.
    let patient = checked(&Config::new(&topology), "", "")
        .replace(
            "interval = \"400ms\", timeout = \"300ms\"",
            "interval = \"30s\", timeout = \"30s\"",
        )
        .replacen("backends = [", "backends = [\n  { name = \"b9\", address = \"10.0.2.99\" },", 1);
    let mut appliance = Appliance::start_unseen(&topology, &patient, "", "--log-format human")?;
    appliance.wait_for_log("tables published")?;
    appliance.ask_for_reload(&patient.replace("\"60s\"", "\"61s\""))?;
    let running = appliance.wait_for_line(0, &["running workers="])?;
    appliance.wait_for_line(running, &[" reloaded "])?;
    Connection::open(&topology.client, VIP())?.who()?;
    appliance.stop(Signal::TERM)?;
    Ok(())
}

#[test]
fn r2_a_reload_that_adds_a_dead_backend_is_answered_and_gives_it_nobody() -> Result<()> {
    let mut topology = Topology::new(Arms::Two)?;
    topology.backends[2].crash()?;
    let config = Config::new(&topology);
    let two = checked(&config.clone().members([0, 1]), "", "");
    let appliance = Appliance::start(&topology, &two)?;
    for name in ["b1", "b2"] {
        becomes(&appliance, 0, name, "healthy")?;
    }
    appliance.write(&checked(&config, "", ""))?;
    let said = appliance.tell(&["reload"])?;
    assert!(said.contains("+ rack/b3") && said.contains("In force"), "{said}");
    let shares = shares(&topology, 60)?;
    assert_eq!(shares.keys().collect::<Vec<_>>(), ["b1", "b2"]);
    topology.backends[2].revive()?;
    becomes(&appliance, 0, "b3", "healthy")?;
    appliance.stop(Signal::TERM)?;
    Ok(())
}

/// Both services asked by HTTPS, with a file of authorities, through the tunnel to the VIP.
fn secured(config: &Config, authorities: &str) -> String {
    let check = format!(
        "initial_health = \"healthy\"\nhealth_check = {{ protocol = \"HTTPS\", port = 443, \
         request_path = \"/healthz\", host = \"web.example\", interval = \"400ms\", \
         tls_ca = {authorities:?} }}"
    );
    config.to_string().replace("initial_health = \"healthy\"", &check)
}

#[test]
fn https_checks_look_at_certificates_where_the_file_says_who_vouches_for_them() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let config = Config::new(&topology);
    let folder = topology.backends[0].files().to_owned();
    let authorities = folder.join("ca.pem").display().to_string();
    let write = |text: &str| {
        std::fs::write(&authorities, text).map_err(|e| Error::Unexpected(e.to_string()))
    };
    write(&std::fs::read_to_string(AUTHORITY).unwrap_or_default())?;
    let mut appliance = Appliance::start(&topology, &secured(&config, &authorities))?;
    for name in ["b1", "b2", "b3"] {
        becomes(&appliance, 0, name, "healthy")?;
    }
    for (text, why) in [("no PEM", "it has no certificate"), ("", "it has no certificate")] {
        write(text)?;
        appliance.reload_refused(&secured(&config, &authorities), why)?;
    }
    let missing = format!("{authorities}.not");
    appliance.reload_refused(&secured(&config, &missing), "there is no such file")?;

    // Somebody else vouches now: the same file name, another certificate in it.
    let from = appliance.log().len();
    write(
        &std::fs::read_to_string(AUTHORITY.replace("authority", "certificate")).unwrap_or_default(),
    )?;
    let said = {
        appliance.write(&secured(&config, &authorities))?;
        appliance.tell(&["reload"])?
    };
    assert!(said.contains("1 certificate, not the same, in it"), "{said}");
    becomes(&appliance, from, "b1", "unhealthy")?;
    let said = appliance.tell(&["health", "--failing"])?;
    assert!(said.contains("certificate: no authority of tls_ca vouches for it"), "{said}");
    appliance.stop(Signal::TERM)?;
    Ok(())
}
