//! Says what this machine cannot do, so that tests that need it are ignored by name and with their
//! reason: the harness knows no other way to skip. `control` and `ffi/dpdk` use this file too.
//!
//! In `testbed`:
//!
//! - `no_guest`, `no_old_guest`: qemu, or what `src/guest.rs` boots in it, is missing;
//! - `no_ansible`, `no_netplan`: not installed.
//!
//! Elsewhere:
//!
//! - `no_namespace`: network namespaces are for root;
//! - `no_tshark`: nobody to judge captures.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn main() {
    if std::env::var("CARGO_PKG_NAME").is_ok_and(|name| name == "testbed") {
        println!("cargo::rerun-if-env-changed=PATH");
        say("no_guest", !has_guest("WINDROSE_GUEST", "windrose-guest"));
        say("no_old_guest", !has_guest("WINDROSE_OLD_GUEST", "windrose-guest-old"));
        say("no_ansible", !has_file(Path::new("/usr/bin/ansible-playbook")));
        say("no_netplan", !has_file(Path::new("/usr/sbin/netplan")));
    } else {
        say("no_namespace", !has_namespaces());
        say("no_tshark", !has_tshark());
    }
}

fn say(what: &str, is_so: bool) {
    println!("cargo::rustc-check-cfg=cfg({what})");
    if is_so {
        println!("cargo::rustc-cfg={what}");
    }
}

fn has_guest(variable: &str, name: &str) -> bool {
    println!("cargo::rerun-if-env-changed={variable}");
    let directory = std::env::var_os(variable).map(PathBuf::from);
    let directory = directory.unwrap_or_else(|| Path::new("/var/cache").join(name));
    let [kernel, files] = ["vmlinuz", "initrd"].map(|name| has_file(&directory.join(name)));
    kernel && files && runs("qemu-system-x86_64", &["--version"])
}

/// One that is missing is looked for in every build.
fn has_file(path: &Path) -> bool {
    println!("cargo::rerun-if-changed={}", path.display());
    path.is_file()
}

fn has_namespaces() -> bool {
    // Who builds may be somebody else next time.
    println!("cargo::rerun-if-env-changed=USER");
    println!("cargo::rerun-if-env-changed=SUDO_USER");
    runs("unshare", &["--net", "true"])
}

/// A whole crate is built anew when this is asked again: not in every build where it is missing,
/// but when something is installed.
fn has_tshark() -> bool {
    let own = Path::new("/usr/bin/tshark");
    let watched = if own.exists() { own } else { Path::new("/usr/bin") };
    println!("cargo::rerun-if-changed={}", watched.display());
    runs("tshark", &["--version"])
}

fn runs(program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
