//! Says whether this machine can have a guest (`src/guest.rs`): tests that need one are ignored by
//! name and with their reason where it cannot, for the harness knows no other way to skip.

use std::path::PathBuf;

fn main() {
    println!("cargo::rustc-check-cfg=cfg(no_guest)");
    println!("cargo::rerun-if-env-changed=WINDROSE_GUEST");
    println!("cargo::rerun-if-env-changed=PATH");
    let directory = std::env::var_os("WINDROSE_GUEST");
    let directory = PathBuf::from(directory.unwrap_or_else(|| "/var/cache/windrose-guest".into()));
    let made = ["vmlinuz", "initrd"].map(|name| directory.join(name));
    for file in &made {
        // One that is missing is looked for in every build.
        println!("cargo::rerun-if-changed={}", file.display());
    }
    let qemu = std::process::Command::new("qemu-system-x86_64").arg("--version").output();
    if qemu.is_err() || !made.iter().all(|file| file.is_file()) {
        println!("cargo::rustc-cfg=no_guest");
    }
}
