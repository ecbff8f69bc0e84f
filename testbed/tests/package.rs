//! The Debian package, installed on a throw-away machine with systemd: it installs, serves under its
//! unit's hardening, is restarted when it dies or stalls, and goes without a trace.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use testbed::address::{Family, vip};
use testbed::cleanup::Directory;
use testbed::client::{Connection, ask, taken};
use testbed::clock;
use testbed::command::output;
use testbed::config::{Config, Driver};
use testbed::machine::Machine;
use testbed::process::binary;
use testbed::stall::Stalled;
use testbed::topology::{Arms, Topology};
use testbed::{Error, Result};

const UNIT: &str = "windrose.service";

#[test]
fn the_package_installs_serves_survives_and_goes() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let machine = Machine::boot(&topology.appliance)?;
    build(&machine.share())?;
    installs_and_waits_to_be_configured(&machine)?;
    serves_and_reloads(&machine, &topology)?;
    answers_at_its_socket(&machine)?;
    is_restarted_when_it_dies(&machine, &topology)?;
    is_restarted_when_a_worker_stalls(&machine, &topology)?;
    is_restarted_when_a_worker_panics(&machine, &topology)?;
    serves_over_xdp(&machine, &topology)?;
    goes(&machine)
}

fn build(to: &Path) -> Result<()> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../packaging/deb.sh");
    output(Command::new(script).arg(binary("windrose")?).arg(to)).map(drop)
}

fn installs_and_waits_to_be_configured(machine: &Machine) -> Result<()> {
    machine.run("dpkg -i /mnt/windrose_*.deb")?;
    for (line, expected) in [
        ("windrose --version | cut -d ' ' -f 1", "windrose"),
        ("stat -c '%U:%G %a' /run/windrose", "root:windrose 750"),
        ("stat -c '%U:%G %a' /etc/windrose/windrose.toml", "root:windrose 640"),
        ("windrose check >/dev/null && echo valid", "valid"),
        ("systemctl is-enabled windrose || true", "disabled"),
        ("systemctl is-active windrose || true", "inactive"),
        ("systemd-analyze verify windrose.service 2>&1", ""),
        ("bash -n /usr/share/bash-completion/completions/windrose", ""),
        ("zcat /usr/share/man/man1/windrose-run.1.gz | grep -c '^.SH SYNOPSIS'", "1"),
        ("cd / && md5sum --quiet -c /var/lib/dpkg/info/windrose.md5sums", ""),
    ] {
        assert_eq!(machine.run(line)?, expected, "{line}");
    }
    has_a_page_and_completions_for_every_command(machine)?;
    // As it is shipped it takes no card: it says so, and is not started again and again.
    assert!(machine.run("systemctl start windrose").is_err());
    assert_eq!(machine.show(UNIT, "ExecMainStatus")?, "78");
    assert_eq!(machine.show(UNIT, "NRestarts")?, "0");
    let said = machine.run("journalctl -u windrose -o cat -p err")?;
    assert!(said.contains("no [[port]]"), "{said}");
    // What it is shipped with, uncommented as it says.
    let uncomment = "sed 's/^#: \\?//' /etc/windrose/windrose.toml >/tmp/w.toml";
    machine.run(&format!("{uncomment} && windrose check --config /tmp/w.toml"))?;
    println!("{}", machine.run("systemd-analyze security --no-pager windrose | tail -n 1")?);
    Ok(())
}

/// Whatever `windrose help` lists, and what those list.
fn has_a_page_and_completions_for_every_command(machine: &Machine) -> Result<()> {
    let list = |of: &str| {
        let commands = "sed -n '/^Commands:/,/^$/ s/^  \\([a-z-]*\\) .*/\\1/p'";
        machine.run(&format!("windrose {of} --help | {commands} | grep -v '^help$' || true"))
    };
    let mut pages = 1;
    for command in list("")?.lines() {
        for shell in [
            "bash-completion/completions/windrose",
            "zsh/vendor-completions/_windrose",
            "fish/vendor_completions.d/windrose.fish",
        ] {
            machine.run(&format!("grep -qw -- {command} /usr/share/{shell}"))?;
        }
        let under = list(command)?;
        for page in std::iter::once(command.to_owned())
            .chain(under.lines().map(|verb| format!("{command}-{verb}")))
        {
            machine.run(&format!("test -s /usr/share/man/man1/windrose-{page}.1.gz"))?;
            pages += 1;
        }
    }
    let groff = "for page in /usr/share/man/man1/windrose*.1.gz; do \
                 zcat $page | groff -man -ww -Tutf8 2>&1 >/dev/null; done";
    // Other shells than bash may not be installed.
    let others = "! command -v zsh >/dev/null || zsh -n /usr/share/zsh/vendor-completions/_windrose; \
                  ! command -v fish >/dev/null || \
                  fish --no-execute /usr/share/fish/vendor_completions.d/windrose.fish";
    for (line, expected) in [
        ("ls /usr/share/man/man1 | grep -c '^windrose'", &*pages.to_string()),
        (groff, ""),
        (others, ""),
        ("getent group windrose | cut -d : -f 1", "windrose"),
        ("systemd-tmpfiles --cat-config | grep -c '/run/windrose'", "1"),
    ] {
        assert_eq!(machine.run(line)?, expected, "{line}");
    }
    Ok(())
}

#[test]
fn every_line_of_the_units_hardening_says_why_it_is_there() {
    let unit = include_str!("../../packaging/windrose.service");
    let (_, hardening) = unit.split_once("# Hardening").expect("a part");
    let (hardening, _) = hardening.split_once("\n[Install]").expect("its end");
    let lines: Vec<_> = hardening.lines().skip(1).collect();
    assert!(lines.iter().filter(|line| line.contains('=')).count() > 20);
    for pair in lines.windows(2) {
        let unexplained =
            !pair[1].is_empty() && !pair[1].starts_with('#') && !pair[0].starts_with('#');
        assert!(!unexplained, "{}", pair[1]);
    }
}

#[test]
fn make_install_puts_all_below_its_prefix_and_spares_what_an_operator_has_written() -> Result<()> {
    let root = Directory::new()?;
    let install = || {
        let (binary, stage) = (binary("windrose")?, root.path().display().to_string());
        let words = [format!("BINARY={}", binary.display()), format!("DESTDIR={stage}")];
        let repository = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
        let make = ["--no-print-directory", "-C", repository, "install", "PREFIX=/opt/windrose"];
        output(Command::new("make").args(make).args(words)).map(drop)
    };
    let read = |file: &str| std::fs::read_to_string(root.path().join(file)).unwrap_or_default();
    install()?;
    let unit = read("opt/windrose/lib/systemd/system/windrose.service");
    assert!(unit.contains("ExecStart=/opt/windrose/bin/windrose run"), "{unit}");
    for file in [
        "bin/windrose",
        "lib/tmpfiles.d/windrose.conf",
        "lib/sysusers.d/windrose.conf",
        "share/man/man1/windrose-status.1.gz",
        "share/bash-completion/completions/windrose",
        "share/doc/windrose/README.md",
    ] {
        assert!(root.path().join("opt/windrose").join(file).exists(), "{file}");
    }
    let own = root.path().join("etc/windrose/windrose.toml");
    assert!(own.exists(), "the example");
    std::fs::write(&own, "# mine")
        .map_err(|source| Error::Io { what: "writing the configuration".into(), source })?;
    install()?;
    assert_eq!(read("etc/windrose/windrose.toml"), "# mine");
    Ok(())
}

fn serves_and_reloads(machine: &Machine, topology: &Topology) -> Result<()> {
    let config = Config::new(topology);
    configure(machine, &config)?;
    // Half a minute of patience is for production.
    machine.run(
        "mkdir -p /etc/systemd/system/windrose.service.d && \
         printf '[Service]\\nWatchdogSec=4\\n' >/etc/systemd/system/windrose.service.d/test.conf && \
         systemctl daemon-reload && systemctl reset-failed windrose && systemctl start windrose",
    )?;
    let status = format!("/proc/{}/status", machine.show(UNIT, "MainPID")?);
    let fields = "s/^(NoNewPrivs|Seccomp):\\t//p; s/^(CapBnd):\\t0*/\\1 /p";
    let hardened = machine.run(&format!("sed -nE '{fields}' {status} | sort"))?;
    // NET_ADMIN, NET_RAW, IPC_LOCK.
    assert_eq!(hardened.lines().collect::<Vec<_>>(), ["1", "2", "CapBnd 7000"]);
    for front in Family::BOTH {
        ask(&topology.client, vip(front, front))?;
    }
    let mut connection = Connection::open(&topology.client, vip(Family::V4, Family::V4))?;
    let backend = connection.who()?;
    let gone = ["b1", "b2"].into_iter().find(|b| *b != backend).unwrap_or("b3");
    configure(machine, &config.clone().without(gone))?;
    machine.run("systemctl reload windrose")?;
    eventually("the status", || {
        Ok(machine.show(UNIT, "StatusText")?.contains(": 2 services, 4 of 4"))
    })?;
    machine.run("echo '[[' >>/etc/windrose/windrose.toml")?;
    assert!(machine.run("systemctl reload windrose").is_err(), "a refused reload is a failure");
    assert_eq!(machine.run("systemctl is-active windrose")?, "active");
    configure(machine, &config.clone().without(gone))?;
    commands_of_the_group(machine)?;
    assert_eq!(connection.who()?, backend);
    for _ in 0..20 {
        assert_ne!(ask(&topology.client, vip(Family::V4, Family::V4))?, gone);
    }
    Ok(())
}

/// Under its hardening too; what the operator orders is kept where only it may write.
fn answers_at_its_socket(machine: &Machine) -> Result<()> {
    for (command, said) in [
        ("stat -c '%U:%G %a' /run/windrose/control.sock", "root:windrose 660"),
        ("windrose status | head -n 1 | cut -d ' ' -f 1", "windrose"),
        // Next hops that the kernel finds out make generations too.
        ("windrose reload | tail -n 1 | sed 's/[0-9]*\\.$//'", "In force, generation"),
        (
            "windrose backend drain web-v4 rack/b3 2>&1 | sed 's/ (.*//'",
            "web-v4 rack/b3 is drained",
        ),
        ("grep -c rack/b3 /var/lib/windrose/orders.json", "1"),
        (
            "windrose backend enable web-v4 rack/b3 2>&1 | sed 's/ (.*//'",
            "web-v4 rack/b3 is enabled",
        ),
        ("cat /var/lib/windrose/orders.json", "{}"),
    ] {
        assert_eq!(machine.run(command)?.trim(), said, "{command}");
    }
    Ok(())
}

/// A member of the group may ask; somebody else may not.
fn commands_of_the_group(machine: &Machine) -> Result<()> {
    let as_somebody = "setpriv --reuid=65534 --clear-groups --regid";
    machine.run(&format!("{as_somebody}=windrose windrose status"))?;
    assert!(machine.run(&format!("{as_somebody}=65534 windrose status")).is_err());
    assert_eq!(machine.run("stat -c '%U:%G %a' /var/lib/windrose")?, "root:windrose 750");
    Ok(())
}

fn is_restarted_when_it_dies(machine: &Machine, topology: &Topology) -> Result<()> {
    machine.run("systemctl kill --signal=KILL windrose")?;
    let killed = Instant::now();
    serves_again(topology, Family::V4)?;
    println!("killed under systemd: new connections served again after {:.1?}", killed.elapsed());
    assert_eq!(machine.show(UNIT, "NRestarts")?, "1");
    Ok(())
}

/// Tries often: the kernel alone would try again after a second.
fn serves_again(topology: &Topology, family: Family) -> Result<()> {
    let vip = vip(family, family);
    eventually("the next connection", || taken(&topology.client, vip, Duration::from_millis(50)))
}

fn is_restarted_when_a_worker_stalls(machine: &Machine, topology: &Topology) -> Result<()> {
    let stalled = Stalled::thread(machine.main_process(UNIT)?, "rte-worker")?;
    let errors = "journalctl -u windrose -o cat -p err";
    eventually("the reason in the journal", || {
        Ok(machine.run(errors)?.contains("worker 0 is stalled"))
    })?;
    drop(stalled);
    eventually("another start", || Ok(machine.show(UNIT, "NRestarts")? == "2"))?;
    serves_again(topology, Family::V6)
}

/// Its clock fails once (`testbed/preload/clock.c`), upon which the standard library panics.
fn is_restarted_when_a_worker_panics(machine: &Machine, topology: &Topology) -> Result<()> {
    clock::build(&machine.share().join("clock.so"))?;
    let preload = "Environment=LD_PRELOAD=/mnt/clock.so CLOCK_BREAK=/run/windrose/break";
    let drop_in = "/etc/systemd/system/windrose.service.d/clock.conf";
    machine.run(&format!(
        "printf '[Service]\\n{preload}\\n' >{drop_in} && systemctl daemon-reload && \
         systemctl restart windrose"
    ))?;
    ask(&topology.client, vip(Family::V4, Family::V4))?;
    let before = machine.main_process(UNIT)?;
    machine.run("touch /run/windrose/break")?;
    eventually("the reason in the journal", || {
        let errors = machine.run("journalctl -u windrose -o cat -p err")?;
        Ok(errors.contains("worker 0 panicked") && errors.contains("worker 0 ended by itself"))
    })?;
    serves_again(topology, Family::V4)?;
    let again = || Ok(machine.main_process(UNIT).is_ok_and(|process| process != before));
    eventually("another start", again)?;
    assert_eq!(machine.show(UNIT, "NRestarts")?, "1");
    machine.run(&format!("rm {drop_in} && systemctl daemon-reload")).map(drop)
}

/// This driver needs more than the others: a drop-in that comes with the package.
fn serves_over_xdp(machine: &Machine, topology: &Topology) -> Result<()> {
    configure(machine, &Config { driver: Driver::AfXdp, ..Config::new(topology) })?;
    assert!(machine.run("systemctl restart windrose").is_err(), "it needs the drop-in");
    machine.run(
        "cp /usr/share/doc/windrose/net_af_xdp.conf /etc/systemd/system/windrose.service.d/ && \
         systemctl daemon-reload && systemctl restart windrose",
    )?;
    ask(&topology.client, vip(Family::V4, Family::V6)).map(drop)
}

fn goes(machine: &Machine) -> Result<()> {
    machine.run("dpkg -r windrose")?;
    for (line, expected) in [
        ("systemctl is-active windrose || true", "inactive"),
        ("ls /usr/bin/windrose /usr/lib/systemd/system/windrose.service 2>/dev/null || true", ""),
        ("ls /etc/windrose", "windrose.toml"),
    ] {
        assert_eq!(machine.run(line)?, expected, "{line}");
    }
    machine.run("dpkg -P windrose")?;
    let left = "find /etc /usr /var/lib /run -xdev -name '*windrose*' -not -path '*/journal/*'";
    let left = machine.run(left)?;
    let ours = left.lines().filter(|l| !l.contains("windrose.service.d")).collect::<Vec<_>>();
    assert!(ours.is_empty(), "{ours:?}");
    Ok(())
}

fn configure(machine: &Machine, config: &Config) -> Result<()> {
    let file = machine.share().join("windrose.toml");
    std::fs::write(&file, config.to_string())
        .map_err(|source| Error::Io { what: "writing the configuration".into(), source })?;
    machine.run("cat /mnt/windrose.toml >/etc/windrose/windrose.toml").map(drop)
}

fn eventually(what: &str, mut is: impl FnMut() -> Result<bool>) -> Result<()> {
    let ends = Instant::now() + Duration::from_secs(20);
    while Instant::now() < ends {
        if is()? {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Err(Error::Timeout { seconds: 20, what: what.into() })
}
