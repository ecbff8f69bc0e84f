//! Says what this machine has: tests that need what it has not are ignored by name and with their
//! reason, for the harness knows no other way to skip.
//!
//! - `no_guest`: no guest for qemu (`src/guest.rs`);
//! - `no_ansible`, `no_netplan`: not installed.

use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo::rustc-check-cfg=cfg(no_guest, no_ansible, no_netplan)");
    println!("cargo::rerun-if-env-changed=WINDROSE_GUEST");
    println!("cargo::rerun-if-env-changed=PATH");
    let directory = std::env::var_os("WINDROSE_GUEST");
    let directory = PathBuf::from(directory.unwrap_or_else(|| "/var/cache/windrose-guest".into()));
    let made = ["vmlinuz", "initrd"].map(|name| directory.join(name));
    let programs = ["/usr/bin/ansible-playbook", "/usr/sbin/netplan"].map(PathBuf::from);
    for file in made.iter().chain(&programs) {
        // One that is missing is looked for in every build.
        println!("cargo::rerun-if-changed={}", file.display());
    }
    let qemu = Command::new("qemu-system-x86_64").arg("--version").output();
    if qemu.is_err() || !made.iter().all(|file| file.is_file()) {
        println!("cargo::rustc-cfg=no_guest");
    }
    for (program, without) in programs.iter().zip(["no_ansible", "no_netplan"]) {
        if !program.is_file() {
            println!("cargo::rustc-cfg={without}");
        }
    }
}
