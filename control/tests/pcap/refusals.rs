//! What the command refuses, and what it says.

use crate::capture::*;

#[test]
fn a_capture_that_is_none_is_refused_by_name() {
    let desk = Desk::new(&config(r#"kind = "ipip""#, "10.1.0.11"), &[]);
    std::fs::write(desk.path("in.pcap"), b"not a capture at all, but long enough")
        .expect("written");
    let output = desk.run(&[]);
    assert_eq!(output.status.code(), Some(71));
    assert!(String::from_utf8_lossy(&output.stderr).contains("in.pcap"), "{output:?}");
}

#[test]
fn a_port_that_is_not_there_names_those_that_are() {
    let desk = Desk::new(&config(r#"kind = "ipip""#, "10.1.0.11"), &packets(b""));
    let output = desk.run(&["--port", "downlink"]);
    assert_eq!(output.status.code(), Some(64));
    assert!(String::from_utf8_lossy(&output.stderr).contains("uplink"), "{output:?}");
}

#[test]
fn what_is_for_nobody_is_counted_and_not_written() {
    let mut frames = packets(b"");
    frames[0][33] = 99; // Another IPv4 address: for the host.
    frames[1][23] = 4; // IPv4 in IPv4 to the VIP: still a protocol that the rule takes.
    let desk = Desk::new(&config(r#"kind = "ipip""#, "10.1.0.11"), &frames);
    let output = desk.run(&[]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("host                                1"), "{said}");
    assert!(said.contains("= received                          6"), "{said}");
    assert_eq!(desk.sent().len(), 5);
}
