//! The commands that `windrose backend-setup` prints, on a real kernel: Debian's, in qemu. Each
//! encapsulation is set up by exactly these commands, answers, and is undone.

use std::net::IpAddr;
use std::path::Path;

use rustix::process::Signal;
use testbed::address::{Family, vip};
use testbed::appliance::Appliance;
use testbed::cleanup::Directory;
use testbed::client::{Connection, ask, refused};
use testbed::command::run;
use testbed::config::Config;
use testbed::guest::{self, Guest};
use testbed::process::binary;
use testbed::topology::{Arms, Topology};
use testbed::{Error, Result};

/// A kind, its other keys, and the bytes that it takes over IPv4 and IPv6.
const CASES: [(&str, &str, [u16; 2]); 8] = [
    ("ipip", "", [20, 40]),
    ("gre", "", [24, 44]),
    ("gre", "gre_key = \"service\"", [28, 48]),
    ("gue", "", [32, 52]),
    ("gue", "gue_variant = 1\ngue_port = 7070", [28, 48]),
    (
        "ipip",
        "source_entropy = true\nentropy_prefix = [\"172.16.0.0/16\", \"2001:db8:e::/64\"]",
        [20, 40],
    ),
    ("l3dsr", "", [0, 0]),
    ("l2", "", [0, 0]),
];

/// No room for any outer header: segments have to be clamped.
const MTU: u16 = 1500;

/// All that a script may change; of links not whether somebody is at the other end.
const STATE: &str = "ip -o link | sed 's/<[^>]*>//; s/ state [A-Z]*//'; ip -o address; ip route show table all; ip -6 route show table all
    nft list ruleset; ip fou show; ls -R /run
    for name in rp_filter arp_ignore arp_announce; do grep . /proc/sys/net/ipv4/conf/*/$name; done";

struct Bench {
    topology: Topology,
    guest: Guest,
    directory: Directory,
}

impl Bench {
    fn new() -> Result<Self> {
        let topology = Topology::new(Arms::Two)?;
        let guest = Guest::boot(&topology)?;
        Ok(Self { topology, guest, directory: Directory::new()? })
    }

    fn config(&self, kind: &'static str, encapsulation: &'static str) -> Config {
        let mut ports = self.topology.ports.clone();
        ports[1].neighbours.extend(self.guest.neighbours());
        ports[1].mtu = MTU;
        let config = Config::new(&self.topology).kind(kind).members([guest::INDEX]);
        Config { ports, encapsulation, ..config }
    }

    /// What `windrose backend-setup` prints for the service of one family.
    fn printed(&self, config: &Config, back: Family, undo: &str) -> Result<String> {
        let file = self.directory.path().join("windrose.toml");
        std::fs::write(&file, config.to_string()).map_err(|e| Error::Unexpected(e.to_string()))?;
        let windrose = binary("windrose")?;
        command(&windrose, &file, back, undo)
    }

    fn succeeds(&self, script: &str) -> Result<String> {
        let said = self.guest.run(&self.topology.client, script)?;
        assert_eq!(said.code, 0, "{}\n{script}", said.text);
        Ok(said.text)
    }

    fn state(&self) -> Result<String> {
        Ok(self.guest.run(&self.topology.client, STATE)?.text)
    }

    fn answers(&self, vip: IpAddr) -> Result<()> {
        for _ in 0..3 {
            assert_eq!(ask(&self.topology.client, vip)?, "guest", "{vip}");
        }
        Ok(())
    }

    /// The largest segment that the client sends on a connection to a VIP.
    fn segment(&self, vip: IpAddr) -> Result<u16> {
        let _open = Connection::open(&self.topology.client, vip)?;
        let to = std::net::SocketAddr::new(vip, 80);
        let told = self.topology.client.run(&format!("ss -tinH state established dst {to}"))?;
        let segment = told.split_whitespace().find_map(|word| word.strip_prefix("mss:"));
        let segment = segment.and_then(|mss| mss.parse().ok());
        segment.ok_or_else(|| Error::Unexpected(format!("no segment size in {told:?}")))
    }
}

fn command(windrose: &Path, file: &Path, back: Family, undo: &str) -> Result<String> {
    let (windrose, file, digit) = (windrose.display(), file.display(), back.digit());
    run(&format!("{windrose} backend-setup web-v{digit} --config {file} {undo}"))
}

/// The VIPs of the service whose backends are addressed over `back`.
fn vips(kind: &str, back: Family) -> Vec<IpAddr> {
    let tunnel = !["l2", "l3dsr"].contains(&kind);
    let fronts = Family::BOTH.into_iter().filter(|front| tunnel || *front == back);
    fronts.map(|front| vip(front, back)).collect()
}

/// Compares states; shows only what differs.
fn same(before: &str, after: &str, kind: &str, what: &str) {
    let without = |a: &str, b: &str| -> Vec<String> {
        a.lines().filter(|line| !b.lines().any(|other| other == *line)).map(str::to_owned).collect()
    };
    let (gone, come) = (without(before, after), without(after, before));
    assert!(before == after, "{kind}: {what}, but gone: {gone:#?}, come: {come:#?}");
}

fn case(bench: &Bench, config: &Config, overhead: [u16; 2]) -> Result<()> {
    let kind = config.kind;
    let before = bench.state()?;
    for back in Family::BOTH {
        bench.succeeds(&bench.printed(config, back, "")?)?;
    }
    let after = bench.state()?;
    for back in Family::BOTH {
        bench.succeeds(&bench.printed(config, back, "")?)?;
        for vip in vips(kind, back) {
            bench.answers(vip)?;
            let headers = if vip.is_ipv4() { 40 } else { 60 };
            let fits = MTU - overhead[back as usize] - headers;
            assert!(bench.segment(vip)? <= fits, "{kind}: {vip} told its client more than {fits}");
        }
    }
    same(&after, &bench.state()?, kind, "a second run changes nothing");

    bench.succeeds(&bench.printed(config, Family::V4, "--undo")?)?;
    assert!(refused(&bench.topology.client, vips(kind, Family::V4)[0], 80)?, "{kind}: undone");
    // What the other service needs too has stayed.
    for vip in vips(kind, Family::V6) {
        bench.answers(vip)?;
    }
    bench.succeeds(&bench.printed(config, Family::V6, "--undo")?)?;
    same(&before, &bench.state()?, kind, "undone");
    Ok(())
}

#[test]
#[cfg_attr(no_guest, ignore = "no guest for qemu: testbed/setup.sh makes it")]
fn each_encapsulation_is_set_up_by_what_is_printed_answers_and_is_undone() -> Result<()> {
    let bench = Bench::new()?;
    // The last undo leaves it too; here so that the first state has it.
    bench.succeeds("mkdir -p /run/windrose-backend")?;
    let mut appliance = Appliance::start(&bench.topology, &bench.config("ipip", ""))?;
    for (kind, encapsulation, overhead) in CASES {
        let config = bench.config(kind, encapsulation);
        appliance.reload(&config)?;
        case(&bench, &config, overhead)?;
        println!("{kind} {encapsulation}: proven");
    }
    appliance.stop(Signal::TERM)?;
    Ok(())
}
