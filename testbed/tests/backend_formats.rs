//! What `windrose backend-setup` prints for Ansible and netplan, taken by Ansible, by netplan and by
//! systemd-networkd, on a throw-away machine with systemd. What the commands in it do is shown by
//! `backend_setup.rs`.

use std::path::Path;

use testbed::command::run;
use testbed::machine::Machine;
use testbed::netns::Namespace;
use testbed::process::binary;
use testbed::{Error, Result};

/// A configuration file whose service has one backend and these VIPs.
fn configuration(kind: &str, backend: &str, vips: &[&str]) -> String {
    let mut text = format!(
        "[dataplane]\nhash_seed = \"000102030405060708090a0b0c0d0e0f\"\n\
         [[port]]\nname = \"uplink\"\ndevice = \"net_null0\"\n\
         addresses = [\"10.0.1.1/24\", \"2001:db8:1::1/64\"]\n\
         [[service]]\nname = \"web\"\nencapsulation = {{ {kind} }}\n\
         group = [{{ name = \"rack\", backends = [{{ name = \"b1\", address = \"{backend}\" }}] }}]\n"
    );
    for (index, vip) in vips.iter().enumerate() {
        text += &format!(
            "[[forwarding_rule]]\nname = \"rule-{index}\"\naddress = \"{vip}\"\nprotocol = \"TCP\"\n\
             ports = [80]\nservice = \"web\"\n"
        );
    }
    text
}

fn write(file: &Path, text: &str) -> Result<()> {
    std::fs::write(file, text).map_err(|e| Error::Unexpected(format!("{}: {e}", file.display())))
}

const FOUR: &str = "10.0.1.11";
const SIX: &str = "2001:db8:1::11";

/// A backend's host, with its addresses: a throw-away machine with systemd.
struct Host {
    machine: Machine,
    _namespace: Namespace,
}

impl Host {
    fn new() -> Result<Self> {
        let namespace = Namespace::new("host")?;
        namespace.ip("link add eth0 type veth peer name wire0")?;
        for interface in ["wire0", "eth0"] {
            // Without addresses of its own, which come when they like.
            namespace.ip(&format!("link set {interface} addrgenmode none up"))?;
        }
        namespace.ip(&format!("address add {FOUR}/24 dev eth0"))?;
        namespace.ip(&format!("address add {SIX}/64 dev eth0 nodad"))?;
        Ok(Self { machine: Machine::boot(&namespace)?, _namespace: namespace })
    }

    /// What is printed for a service with one backend and these VIPs; `how` is the rest of the line.
    fn printed(&self, kind: &str, backend: &str, vips: &[&str], how: &str) -> Result<String> {
        let file = self.machine.share().join("windrose.toml");
        write(&file, &configuration(kind, backend, vips))?;
        let (windrose, file) = (binary("windrose")?, file.display().to_string());
        run(&format!("{} backend-setup web --config {file} {how}", windrose.display()))
    }

    fn state(&self) -> Result<String> {
        self.machine.run(
            "ip -o address; ip route show table all; ip -6 route show table all; nft list ruleset
             for name in rp_filter arp_ignore arp_announce; do grep . /proc/sys/net/ipv4/conf/*/$name; done",
        )
    }

    /// Has Ansible play tasks: how many changed something; none may have failed.
    fn plays(&self, tasks: &str, check: &str) -> Result<u32> {
        let book = "- hosts: all\n  gather_facts: false\n  tasks:\n    - ansible.builtin.import_tasks: tasks.yaml\n";
        write(&self.machine.share().join("tasks.yaml"), tasks)?;
        write(&self.machine.share().join("book.yaml"), book)?;
        let said = self.machine.run(&format!(
            "ANSIBLE_NOCOLOR=1 HOME=/root ansible-playbook {check} -i host, -c local \
               -e ansible_python_interpreter=/usr/bin/python3 /mnt/book.yaml 2>&1 || true"
        ))?;
        let recap =
            said.lines().find(|line| line.contains("changed=") && line.contains("failed=0"));
        let changed = recap.and_then(|line| {
            let (_, rest) = line.split_once("changed=")?;
            rest.split_whitespace().next()?.parse().ok()
        });
        changed.ok_or_else(|| Error::Unexpected(format!("Ansible: {said}\n{tasks}")))
    }
}

/// L3DSR: this kernel may have no tunnels, but nftables.
#[test]
#[cfg_attr(no_ansible, ignore = "no Ansible: testbed/setup.sh installs it (ansible-core)")]
fn ansible_sets_a_backend_up_once_changes_it_and_takes_it_back() -> Result<()> {
    let host = Host::new()?;
    let tasks = |vips: &[&str], undo: &str| {
        let kind = "kind = \"l3dsr\", l3dsr_dscp = 5";
        host.printed(kind, FOUR, vips, &format!("--format ansible {undo}"))
    };
    let before = host.state()?;
    let up = tasks(&["203.0.113.10"], "")?;
    assert!(host.plays(&up, "--check")? > 0, "it says what it would do");
    assert_eq!(host.state()?, before, "and does nothing");
    assert!(host.plays(&up, "")? > 0);
    let set_up = host.state()?;
    assert!(set_up.contains("203.0.113.10/32") && set_up.contains("windrose-web"), "{set_up}");
    let enabled = host.machine.run("systemctl is-enabled windrose-backend-web.service")?;
    assert_eq!(enabled, "enabled", "at the next boot, too");
    assert_eq!(host.plays(&up, "")?, 0, "a second run changes nothing");
    assert_eq!(host.state()?, set_up);

    let other = tasks(&["203.0.113.11"], "")?;
    assert!(host.plays(&other, "")? > 0);
    let changed = host.state()?;
    let (old, new) = ("203.0.113.10/32", "203.0.113.11/32");
    assert!(changed.contains(new) && !changed.contains(old), "{changed}");

    let undo = tasks(&["203.0.113.11"], "--undo")?;
    assert!(host.plays(&undo, "")? > 0);
    assert_eq!(host.state()?, before);
    assert_eq!(host.plays(&undo, "")?, 0);
    Ok(())
}

const VIPS: [&str; 2] = ["203.0.113.10", "2001:db8:f::10"];

/// A kind, the backend's address, the VIPs, and what networkd is told of the tunnels.
type Case = (&'static str, &'static str, &'static [&'static str], &'static [&'static str]);

const CASES: [Case; 12] = [
    (
        "kind = \"ipip\"",
        FOUR,
        &VIPS,
        &["Name=wr-ipip\nKind=ipip", "Name=wr-sit\nKind=sit", "Local=10.0.1.11\nRemote=0.0.0.0"],
    ),
    (
        "kind = \"ipip\"",
        SIX,
        &[VIPS[0]],
        &["Name=wr-ip6tnl\nKind=ip6tnl", "Mode=ipip6\nLocal=2001:db8:1::11\nRemote=::"],
    ),
    (
        "kind = \"ipip\"",
        SIX,
        &[VIPS[1]],
        &["Name=wr-ip6tnl\nKind=ip6tnl", "Mode=ip6ip6\nLocal=2001:db8:1::11\nRemote=::"],
    ),
    ("kind = \"gre\"", FOUR, &VIPS, &["Name=wr-gre\nKind=gre", "Address=192.0.0.8/32"]),
    ("kind = \"gre\"", SIX, &VIPS, &["Name=wr-ip6gre\nKind=ip6gre"]),
    ("kind = \"gre\", gre_key = 258", FOUR, &VIPS, &["Name=wrgre-102\nKind=gre", "Key=258"]),
    (
        "kind = \"gre\", gre_key = 4294967295",
        SIX,
        &VIPS,
        &["Name=wrgre6-ffffffff\nKind=ip6gre", "Key=4294967295"],
    ),
    ("kind = \"gue\"", FOUR, &VIPS, &["Name=wr-ipip\nKind=ipip", "Name=wr-sit\nKind=sit"]),
    ("kind = \"gue\", gue_variant = 1", SIX, &[VIPS[1]], &["Mode=ip6ip6"]),
    (
        "kind = \"ipip\", source_entropy = true, entropy_prefix = [\"172.16.0.0/16\"]",
        FOUR,
        &[VIPS[0]],
        &["Name=wr-ipip\nKind=ipip"],
    ),
    ("kind = \"l3dsr\", l3dsr_dscp = 5", FOUR, &[VIPS[0]], &[]),
    ("kind = \"l2\"", SIX, &["2001:db8:f:1::/64", VIPS[1]], &["Destination=2001:db8:f:1::/64"]),
];

/// What netplan makes of a file, all in one; its complaints are an error.
fn generated(host: &Host, yaml: &str) -> Result<String> {
    write(&host.machine.share().join("60-windrose-web.yaml"), yaml)?;
    host.machine.run(
        "install -m 600 /mnt/60-windrose-web.yaml /etc/netplan/
         complaint=$(netplan generate 2>&1)
         if [ -n \"$complaint\" ]; then echo \"$complaint\" >&2; exit 1; fi
         cat /run/systemd/network/*",
    )
}

/// Has systemd-networkd read the files; what it logs until `lo` is set up.
fn networkd(host: &Host) -> Result<String> {
    host.machine.run(
        "mkdir -p /run/systemd/system/systemd-networkd.service.d
         printf '[Service]\\nEnvironment=SYSTEMD_LOG_LEVEL=debug\\n' \
             >/run/systemd/system/systemd-networkd.service.d/test.conf
         systemctl daemon-reload
         systemctl restart systemd-networkd
         said() { journalctl -o cat _SYSTEMD_INVOCATION_ID=$(systemctl show --value -p InvocationID systemd-networkd); }
         for tenth in $(seq 200); do
             if said | grep -q 'lo: State changed: configuring -> configured'; then break; fi
             sleep 0.1
         done
         said",
    )
}

/// Tunnels that this kernel does not have are loaded all the same: that it cannot make them is said
/// after the file was taken.
#[test]
#[cfg_attr(no_netplan, ignore = "no netplan: testbed/setup.sh installs it (netplan.io)")]
fn netplan_takes_every_kind_and_networkd_what_it_makes_of_it() -> Result<()> {
    let host = Host::new()?;
    for (kind, backend, vips, expected) in CASES {
        let yaml = host.printed(kind, backend, vips, "--format netplan")?;
        let files = generated(&host, &yaml)?;
        for lines in expected {
            assert!(files.contains(lines), "{kind}: {lines}\n{files}\n{yaml}");
        }
        let said = networkd(&host)?;
        for name in expected.iter().filter_map(|lines| lines.strip_prefix("Name=")) {
            let name = name.lines().next().unwrap_or_default();
            assert!(said.contains(&format!("{name}: loaded ")), "{kind}: {name}\n{said}");
        }
        for complaint in ["ignoring assignment", "Unknown key", "Failed to parse", "Ignoring"] {
            assert!(!said.contains(complaint), "{kind}: {complaint}\n{said}");
        }
        let state = host.state()?;
        for vip in vips {
            assert!(state.contains(vip), "{kind}: {vip}\n{state}\n{said}");
        }
        host.machine
            .run("systemctl stop systemd-networkd; ip address flush dev lo scope global")?;
    }
    Ok(())
}
