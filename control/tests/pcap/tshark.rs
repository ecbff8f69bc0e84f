//! tshark's opinion of what was written.

use std::path::Path;
use std::process::Command;

/// Packets that say "wrong checksum" or "malformed" to it.
const WRONG: &str = "ip.checksum.status==0 || tcp.checksum.status==0 || udp.checksum.status==0 || icmp.checksum.status==0 || icmpv6.checksum.status==0 || _ws.malformed";

/// What tshark finds wrong with the checksums of a capture.
pub(crate) fn complaints(capture: &Path) -> String {
    packets(capture, WRONG)
}

/// The packets that it finds by a filter, a line each.
pub(crate) fn packets(capture: &Path, filter: &str) -> String {
    let mut tshark = Command::new("tshark");
    tshark.arg("-r").arg(capture);
    for layer in ["ip", "tcp", "udp"] {
        tshark.arg("-o").arg(format!("{layer}.check_checksum:TRUE"));
    }
    // It shall not guess what random bytes mean. It knows no GUE; behind 6081 is variant 1.
    for port in ["80,data", "6080,data", "6081,ip"] {
        tshark.arg("-d").arg(format!("udp.port=={port}"));
    }
    tshark.args(["-Y", filter]);
    let output = tshark.output().expect("tshark runs");
    if output.status.success() {
        String::from_utf8_lossy(&output.stdout).into()
    } else {
        format!("{output:?}")
    }
}
