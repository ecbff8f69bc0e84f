//! SIGHUP: what goes on, what stops, what is refused (R-1 to R-5, T-13).

use std::fs::{File, remove_dir, remove_file};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use rustix::process::Signal;
use testbed::address::{Family, vip};
use testbed::appliance::Appliance;
use testbed::client::{Connection, ask, noise};
use testbed::config::Config;
use testbed::topology::{Arms, Topology};
use testbed::{Error, Result};

#[test]
fn a_connection_survives_ten_reloads_that_keep_its_backend() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let full = Config::new(&topology);
    let mut appliance = Appliance::start(&topology, &full)?;
    let mut connection = Connection::open(&topology.client, vip(Family::V4, Family::V4))?;
    let backend = connection.who()?;
    let others: Vec<_> = (0..3).filter(|i| format!("b{}", i + 1) != backend).collect();
    for round in 0..10 {
        // The tunnel changes, and each of the others leaves and returns.
        let kind = ["gre", "ipip"][round % 2];
        let gone = others[round / 2 % 2];
        let config = full.clone().kind(kind).members((0..3).filter(|&i| i != gone));
        appliance.reload(&config)?;
        assert_eq!(connection.who()?, backend, "round {round}");
    }
    appliance.stop(Signal::TERM)?;
    Ok(())
}

#[test]
fn a_removed_backend_keeps_its_upload_and_gets_no_new_connection() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let full = Config::new(&topology);
    for (round, family) in Family::BOTH.into_iter().enumerate() {
        let mut appliance = Appliance::start(&topology, &full)?;
        let mut connection = Connection::open(&topology.client, vip(family, family))?;
        let name = connection.who()?;
        let removed = topology.backends.iter().find(|b| b.name == name).expect("it answered");
        let (file, body) = (format!("long-{round}"), noise(1_000_000));
        connection.begin_upload(&file, body.len())?;
        connection.send(&body[..400_000])?;

        appliance.reload(&full.clone().without(&name))?;
        let before = removed.connections()?;
        for _ in 0..100 {
            assert_ne!(ask(&topology.client, vip(family, family))?, name);
        }
        assert_eq!(removed.connections()?, before, "a new connection reached {name}");

        connection.send(&body[400_000..])?;
        connection.end_upload()?;
        assert!(removed.upload(&file)? == body, "{name} got other bytes");
        appliance.stop(Signal::TERM)?;
    }
    Ok(())
}

#[test]
fn without_a_draining_timeout_a_removed_backends_connections_move_at_once() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let full = Config { draining: "0s", ..Config::new(&topology) };
    let mut appliance = Appliance::start(&topology, &full)?;
    let mut connection = Connection::open(&topology.client, vip(Family::V4, Family::V4))?;
    let backend = connection.who()?;
    appliance.reload(&full.clone().without(&backend))?;
    // Another backend gets the next packet, and resets what it does not know.
    assert!(connection.who().is_err());
    appliance.stop(Signal::TERM)?;
    Ok(())
}

#[test]
fn a_bad_file_changes_nothing_and_the_log_says_why() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let full = Config::new(&topology);
    let mut appliance = Appliance::start(&topology, &full)?;
    let mut connection = Connection::open(&topology.client, vip(Family::V6, Family::V6))?;
    let backend = connection.who()?;
    let good = full.to_string();
    let cases = [
        ("a value that is no protocol", good.replace("\"TCP\"", "\"SCTP\""), "SCTP"),
        (
            "a service that there is not",
            good.replace("service = \"web-v6\"", "service = \"x\""),
            "x",
        ),
        ("no TOML", "[[".to_owned(), "windrose.toml"),
        ("what needs a restart (R-5)", good.replace("\"128M\"", "\"64M\""), "memory"),
    ];
    for (name, bad, named) in cases {
        appliance.reload_refused(&bad, named)?;
        assert_eq!(connection.who()?, backend, "{name}");
        ask(&topology.client, vip(Family::V4, Family::V6))?;
    }
    appliance.stop(Signal::TERM)?;
    Ok(())
}

/// Counts Tables: each publication is a new generation.
fn published(appliance: &Appliance) -> Result<u64> {
    let text = appliance.tell(&["status", "--format", "json"])?;
    let status: serde_json::Value =
        serde_json::from_str(&text).map_err(|e| Error::Unexpected(format!("{e}: {text}")))?;
    status["generation"].as_u64().ok_or(Error::Unexpected(text))
}

#[test]
fn a_reload_is_one_publication_whatever_the_ports_have() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let full = Config::new(&topology);
    let mut appliance = Appliance::start(&topology, &full)?;
    // What the kernel said at the start may have come after the first Tables.
    appliance.reload(&full)?;
    let before = published(&appliance)?;
    for round in 1..=10 {
        appliance.reload(&full.clone().kind(["gre", "ipip"][round % 2]))?;
        ask(&topology.client, vip(Family::V4, Family::V4))?;
    }
    // Longer than news of the kernel takes; the next reload would show what came late.
    std::thread::sleep(std::time::Duration::from_millis(300));
    appliance.reload(&full)?;
    assert_eq!(published(&appliance)? - before, 11, "{}", appliance.log());
    appliance.stop(Signal::TERM)?;
    Ok(())
}

/// Puts something at a path that is no sound configuration file.
type Put = fn(&Path) -> std::io::Result<()>;

/// What may lie where the configuration should, and what is said of it, with the cure.
const ODD: [(&str, Put, &str); 8] = [
    ("nothing", |_| Ok(()), "there is no such file; put it there"),
    ("a directory", |path| std::fs::create_dir(path), "this is a directory; give the file in it"),
    (
        "a link to nothing",
        |path| symlink("gone.toml", path),
        "this is a link to gone.toml, and there is no such file; put it there, or mend the link",
    ),
    (
        "a pipe that nobody writes",
        |path| Command::new("mkfifo").arg(path).status().map(drop),
        "this is a pipe or a device; a reload takes a regular file",
    ),
    (
        "a device without an end",
        |path| symlink("/dev/zero", path),
        "this is a pipe or a device; a reload takes a regular file",
    ),
    (
        "50 MB",
        |path| File::create(path)?.set_len(50 << 20),
        "larger than 16 MB: this is no configuration file; give the TOML file",
    ),
    (
        "what is no UTF-8",
        |path| std::fs::write(path, [b'#', b'\n', 0xff, 0xfe]),
        "not UTF-8 in line 2: save it as UTF-8 text",
    ),
    (
        "what this user may not read",
        |path| File::create(path)?.set_permissions(PermissionsExt::from_mode(0o000)),
        "this user may not read it: let it read the file",
    ),
];

/// As the service's hardening has it: root, but bound by the rights of files.
const BOUND: &str =
    "exec setpriv --bounding-set=-dac_override,-dac_read_search sh -c 'shift; exec \"$@\"' --";

fn remove(path: &Path) {
    let _ = remove_file(path).or_else(|_| remove_dir(path));
}

#[test]
fn r1_what_is_no_file_is_refused_by_signal_and_by_command_and_nothing_changes() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let full = Config::new(&topology);
    let mut appliance = Appliance::start_after(&topology, &full, BOUND)?;
    let mut connection = Connection::open(&topology.client, vip(Family::V4, Family::V4))?;
    let backend = connection.who()?;
    let file = appliance.file().to_owned();
    let before = published(&appliance)?;
    for (name, put, said) in ODD {
        remove(&file);
        put(&file).map_err(|e| Error::Unexpected(format!("{name}: {e}")))?;
        let from = appliance.log().len();
        appliance.signal(Signal::HUP)?;
        appliance.wait_for_more(from, &["reload refused", said])?;
        let answered = appliance.command(&["reload"])?;
        assert_eq!(answered.code, Some(78), "{name}: {answered:?}");
        assert!(answered.err.contains(said), "{name}: {answered:?}");
        assert_eq!(connection.who()?, backend, "{name}");
    }
    assert_eq!(published(&appliance)?, before);
    remove(&file);
    appliance.reload(&full.without(&backend))?;
    assert_eq!(published(&appliance)?, before + 1, "and a sound file is taken again");
    appliance.stop(Signal::TERM)?;
    Ok(())
}

#[test]
fn r1_a_file_that_is_replaced_again_and_again_while_it_is_read_is_read_whole_or_not_at_all()
-> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let full = Config::new(&topology);
    let mut appliance = Appliance::start(&topology, &full)?;
    let text = std::fs::read_to_string(appliance.file()).map_err(unexpected)?;
    // Long enough to be caught halfway, and of two kinds that can be told apart.
    let long = |kind: &str| {
        let text = text.replace("kind = \"ipip\"", &format!("kind = {kind:?}"));
        format!("{text}\n{}", "# a line that means nothing\n".repeat(50_000))
    };
    let (next, file) = (appliance.file().with_extension("next"), appliance.file().to_owned());
    for round in 0..40 {
        std::fs::write(&next, long(["gre", "ipip"][round % 2])).map_err(unexpected)?;
        appliance.signal(Signal::HUP)?;
        std::fs::rename(&next, &file).map_err(unexpected)?;
        ask(&topology.client, vip(Family::V4, Family::V4))?;
    }
    let said = appliance.tell(&["reload"])?;
    assert!(said.contains("In force"), "{said}");
    assert!(!appliance.log().contains("not TOML"), "{}", appliance.log());
    appliance.reload(&full)?;
    appliance.stop(Signal::TERM)?;
    Ok(())
}

fn unexpected(error: std::io::Error) -> Error {
    Error::Unexpected(error.to_string())
}
