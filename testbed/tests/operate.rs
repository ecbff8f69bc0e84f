//! Orders, reloads and questions through the command line, while packets go on.

use std::io::Write;
use std::net::IpAddr;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::Signal;
use testbed::address::{CLIENT, Family, vip};
use testbed::appliance::Appliance;
use testbed::client::{Connection, ask};
use testbed::config::Config;
use testbed::topology::{Arms, Topology};
use testbed::{Error, Result};

/// IPv4 over IPv4: service `web-v4`.
fn web() -> IpAddr {
    vip(Family::V4, Family::V4)
}

/// Asks over new connections until told to stop; each must be answered, and says by whom.
fn traffic(topology: &Topology, stop: &AtomicBool) -> Result<Vec<String>> {
    let mut answers = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        answers.push(ask(&topology.client, web())?);
    }
    Ok(answers)
}

/// Does something while connections are made all the time, and says who answered them.
fn meanwhile(topology: &Topology, work: impl FnOnce() -> Result<()>) -> Result<Vec<String>> {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| traffic(topology, &stop));
        let worked = work();
        stop.store(true, Ordering::Relaxed);
        let answers =
            asking.join().map_err(|_| Error::Unexpected("the traffic panicked".into()))?;
        worked.and(answers)
    })
}

/// Whether somebody answers one of a hundred new connections.
fn serves(topology: &Topology, name: &str) -> Result<bool> {
    for _ in 0..100 {
        if ask(&topology.client, web())? == name {
            return Ok(true);
        }
    }
    Ok(false)
}

#[test]
fn t18_drain_and_enable_under_traffic() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let config = Config::new(&topology);
    let mut appliance = Appliance::start(&topology, &config)?;
    let mut connection = Connection::open(&topology.client, web())?;
    let name = connection.who()?;
    let backend = format!("rack/{name}");
    let answers = meanwhile(&topology, || {
        for verb in ["drain", "enable", "disable", "enable"].repeat(5) {
            appliance.tell(&["backend", verb, "web-v4", &backend])?;
        }
        Ok(())
    })?;
    assert!(answers.len() > 20, "{}", answers.len());
    assert_eq!(connection.who()?, name, "its connection goes on");

    let said = appliance.tell(&["backend", "drain", "web-v4", &backend])?;
    assert!(said.starts_with(&format!("web-v4 {backend} is drained (generation ")), "{said}");
    assert!(!serves(&topology, &name)?, "{name} is drained");
    assert_eq!(connection.who()?, name, "an established connection goes on");
    appliance.reload(&config.clone().kind("gre"))?;
    assert!(!serves(&topology, &name)?, "{name} is still drained after a reload");
    let status = appliance.tell(&["status", "web-v4"])?;
    assert!(status.contains("drained by the operator (T-18)"), "{status}");
    appliance.tell(&["backend", "enable", "web-v4", &backend])?;
    assert!(serves(&topology, &name)?, "{name} is back");

    appliance.tell(&["service", "drain", "web-v4"])?;
    assert!(ask(&topology.client, web()).is_err(), "nobody takes a new connection");
    assert_eq!(connection.who()?, name, "an established connection goes on");
    appliance.tell(&["service", "enable", "web-v4"])?;
    ask(&topology.client, web())?;
    appliance.stop(Signal::TERM)?;
    Ok(())
}

#[test]
fn reloads_by_the_command_and_by_signal_under_traffic_keep_every_connection() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let full = Config::new(&topology);
    let appliance = Appliance::start(&topology, &full)?;
    let mut connection = Connection::open(&topology.client, web())?;
    let name = connection.who()?;
    let other = ["b1", "b2"].into_iter().find(|b| *b != name).unwrap_or("b3");
    let answers = meanwhile(&topology, || {
        for round in 0..20 {
            let config = full.clone().kind(["gre", "ipip"][round % 2]);
            appliance.write(&if round % 4 < 2 { config.without(other) } else { config })?;
            match round % 3 {
                0 => appliance.signal(Signal::HUP)?,
                _ => drop(appliance.tell(&["reload"])?),
            }
        }
        Ok(())
    })?;
    assert!(answers.len() > 20, "{}", answers.len());
    assert_eq!(connection.who()?, name);

    appliance.write(&full)?;
    appliance.tell(&["reload"])?;
    appliance.write(&full.clone().without(other))?;
    let said = appliance.tell(&["reload"])?;
    assert!(said.contains(&format!("- rack/{other}: ")) && said.contains("In force"), "{said}");
    appliance.write(&full.to_string().replace("\"128M\"", "\"64M\""))?;
    let said = appliance.command(&["reload"])?;
    assert_eq!(said.code, Some(78), "{said:?}");
    assert!(said.err.contains("dataplane.memory: \"128M\" → \"64M\""), "{said:?}");
    assert!(!serves(&topology, other)?, "the file before it is in force");

    // A hundred signals while the file changes: the newest is in force in the end.
    for round in 0..100 {
        appliance.write(&full.clone().kind(["gre", "ipip"][round % 2]).without(&name))?;
        appliance.signal(Signal::HUP)?;
    }
    appliance.write(&full)?;
    appliance.tell(&["reload"])?;
    assert!(serves(&topology, other)?);
    assert_eq!(connection.who()?, name);
    appliance.stop(Signal::TERM)?;
    Ok(())
}

/// One who connects and says nothing, something else than HTTP, or far too much.
fn disturb(socket: &Path, round: usize) -> Option<UnixStream> {
    let mut stream = UnixStream::connect(socket).ok()?;
    stream.set_write_timeout(Some(Duration::from_millis(200))).ok()?;
    let _ = match round % 4 {
        0 => Ok(()),
        1 => stream.write_all(&[0x16; 100]),
        2 => stream.write_all(
            format!("POST /v1/reload HTTP/1.1\r\nContent-Length: 99\r\n{}", "A: b\r\n".repeat(99))
                .as_bytes(),
        ),
        _ => stream.write_all(&vec![b'a'; 1 << 20]),
    };
    Some(stream)
}

#[test]
fn a_flooded_control_socket_disturbs_no_packet_and_no_reload_by_signal() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let full = Config::new(&topology);
    let mut appliance = Appliance::start(&topology, &full)?;
    let mut connection = Connection::open(&topology.client, web())?;
    let name = connection.who()?;
    let other = ["b1", "b2"].into_iter().find(|b| *b != name).unwrap_or("b3");
    let socket = appliance.socket();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut open = std::collections::VecDeque::new();
            let mut round = 0;
            while !over.load(Ordering::Relaxed) {
                open.extend(disturb(&socket, round));
                if open.len() > 200 {
                    open.pop_front();
                }
                round += 1;
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let during = meanwhile(&topology, || {
            for _ in 0..10 {
                let said = appliance.command(&["status"])?;
                assert!(matches!(said.code, Some(0 | 75)), "{said:?}");
            }
            appliance.reload(&full.clone().without(other))?;
            appliance.reload(&full)
        });
        over.store(true, Ordering::Relaxed);
        let answers = during?;
        assert!(answers.len() > 20, "{}", answers.len());
        assert_eq!(connection.who()?, name);
        Ok::<_, Error>(())
    })?;
    // Room comes back once those who are slow have been shown out.
    let served = (0..60).any(|_| {
        std::thread::sleep(Duration::from_millis(200));
        appliance.tell(&["status"]).is_ok()
    });
    assert!(served, "{}", appliance.log());
    appliance.stop(Signal::TERM)?;
    assert!(!socket.exists(), "it is removed at the end");
    Ok(())
}

/// What `windrose counters` says of the backends of `web-v4`: name → packets.
fn given(appliance: &Appliance) -> Result<std::collections::BTreeMap<String, u64>> {
    let counters = json(appliance, "counters")?;
    let services = counters["services"].as_array().cloned().unwrap_or_default();
    let web = services.iter().find(|s| s["name"] == "web-v4").cloned().unwrap_or_default();
    let backend = |b: &serde_json::Value| {
        Some((b["backend"].as_str()?.to_owned(), b["given"]["packets"].as_u64()?))
    };
    Ok(web["backends"].as_array().into_iter().flatten().filter_map(backend).collect())
}

fn json(appliance: &Appliance, command: &str) -> Result<serde_json::Value> {
    let text = appliance.tell(&[command, "--format", "json"])?;
    serde_json::from_str(&text).map_err(|e| Error::Unexpected(format!("{e}: {text}")))
}

#[test]
fn what_each_backend_is_given_is_shown_with_rates_and_goes_on_over_reloads() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let full = Config::new(&topology);
    let mut appliance = Appliance::start(&topology, &full)?;
    let rates = |appliance: &Appliance| {
        let status = json(appliance, "status")?;
        let services = status["services"].as_array().cloned().unwrap_or_default();
        let web = services.into_iter().find(|s| s["name"] == "web-v4");
        Ok::<_, Error>(web.unwrap_or_default())
    };
    // A rate is over some seconds: asked until there is one of every backend.
    let mut seen = serde_json::Value::Null;
    let answers = meanwhile(&topology, || {
        for _ in 0..100 {
            std::thread::sleep(Duration::from_millis(100));
            seen = rates(&appliance)?;
            let backends = seen["backends"].as_array().into_iter().flatten();
            let positive =
                |rate: &str, b: &serde_json::Value| b["rates"][rate].as_f64() > Some(0.0);
            let mut all = backends.clone();
            if all.all(|b| ["packets", "bytes", "new_connections"].iter().all(|r| positive(r, b))) {
                break;
            }
        }
        Ok(())
    })?;
    let packets = |value: &serde_json::Value| value["rates"]["packets"].as_f64().unwrap_or(0.0);
    let backends: Vec<_> = seen["backends"].as_array().into_iter().flatten().map(packets).collect();
    assert!(backends.len() == 3 && backends.iter().all(|rate| *rate > 0.0), "{seen}");
    assert!((packets(&seen) - backends.iter().sum::<f64>()).abs() < 0.01, "{seen}");
    let text = appliance.tell(&["status", "web-v4"])?;
    assert!(text.contains("NEW/S  PACKETS/S  BYTES/S") && text.contains("; a second: "), "{text}");

    // Every connection is one of some backend; all that was forwarded was given to somebody.
    let before = given(&appliance)?;
    let forwarded = appliance.counters()?["forwarded"];
    assert_eq!(before.values().sum::<u64>(), forwarded, "{before:?}");
    assert!(forwarded > answers.len() as u64 * 4);
    let gone = full.clone().without("b1");
    for config in [&gone, &full] {
        appliance.reload(config)?;
    }
    let mut after = given(&appliance)?;
    assert_eq!(after, before, "b1 drained meanwhile, and is back");
    appliance.reload(&Config { draining: "0s", ..full.clone() })?;
    appliance.reload(&Config { draining: "0s", ..gone })?;
    appliance.reload(&full)?;
    assert_eq!(after.insert("rack/b1".into(), 0), before.get("rack/b1").copied());
    assert_eq!(given(&appliance)?, after, "b1 was gone: it starts at zero");
    let text = appliance.tell(&["counters"])?;
    assert!(text.contains("SERVICE  BACKEND  PACKETS"), "{text}");
    appliance.stop(Signal::TERM)?;
    Ok(())
}

#[test]
fn orders_outlive_a_kill_and_the_socket_of_the_dead_is_replaced() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let appliance = Appliance::start(&topology, &Config::new(&topology))?;
    appliance.tell(&["backend", "drain", "web-v4", "rack/b2"])?;
    appliance.tell(&["backend", "disable", "web-v6", "rack/b3"])?;
    let socket = appliance.socket();
    let remains = appliance.kill()?;
    assert!(socket.exists(), "nobody has cleaned up");

    let appliance = Appliance::restart(&topology, remains)?;
    assert!(!serves(&topology, "b2")?);
    let status = appliance.tell(&["status"])?;
    for words in ["drained by the operator (T-18)", "disabled by the operator (T-18)"] {
        assert!(status.contains(words), "{words}\n{status}");
    }
    appliance.tell(&["backend", "enable", "web-v4", "rack/b2"])?;
    assert!(serves(&topology, "b2")?);
    appliance.stop(Signal::TERM)?;
    Ok(())
}

#[test]
fn the_running_process_is_asked_about_a_connection() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let config = Config::new(&topology);
    let appliance = Appliance::start(&topology, &config)?;
    let mut connection = Connection::open_from(&topology.client, 40_000, web())?;
    let name = connection.who()?;
    let client = CLIENT[0];

    let listed = appliance.tell(&["connections", "--client", client, "--service", "web-v4"])?;
    let row = listed.lines().find(|line| line.contains(&format!("{client}:40000"))).unwrap_or("");
    assert!(row.contains(&format!("rack/{name}")) && row.contains("several"), "{listed}");
    let counted = appliance.tell(&["connections", "--count-by", "backend"])?;
    assert!(counted.contains(&format!("rack/{name}")), "{counted}");
    let counters = appliance.tell(&["counters"])?;
    assert!(counters.contains("forwarded") && counters.contains("entry_created"), "{counters}");

    // Its backend is drained: what is known of the connection says why it goes there all the same.
    appliance.tell(&["backend", "drain", "web-v4", &format!("rack/{name}")])?;
    let packet = format!("tcp {client}:40000 > {}:80 A", web());
    let said = appliance.tell(&["explain", "--state-from-running", &packet])?;
    assert!(said.contains(&format!("It goes to rack/{name}")), "{said}");
    assert!(said.contains("the connection is known, and its entry decides (T-3)"), "{said}");
    assert!(said.contains("drained by the operator (T-18)"), "{said}");
    let syn = format!("tcp {client}:40000 > {}:80 S", web());
    let said = appliance.tell(&["explain", "--state-from-running", &syn])?;
    assert!(!said.contains(&format!("It goes to rack/{name}")), "a SYN is a new one: {said}");
    let file = appliance.file().with_file_name("new.toml");
    let alone = config.without("b1").without("b2").to_string();
    std::fs::write(&file, alone).map_err(|e| Error::Unexpected(e.to_string()))?;
    let words = ["explain", "--state-from-running", "--config", &file.display().to_string(), &syn];
    let said = appliance.tell(&words)?;
    assert!(said.contains("1 backend") || said.contains("nobody"), "after that reload: {said}");
    assert_eq!(connection.who()?, name, "to ask changes nothing");
    appliance.stop(Signal::TERM)?;
    Ok(())
}
