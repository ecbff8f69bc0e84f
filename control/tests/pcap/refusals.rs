//! What the command refuses, and what it says.

use crate::capture::*;

#[test]
fn a_capture_that_is_none_is_refused_by_name() {
    let desk = Desk::new(&config(r#"kind = "ipip""#, "10.1.0.11"), &[]);
    std::fs::write(desk.path("in.pcap"), b"not a capture at all, but long enough")
        .expect("written");
    let output = desk.run(&[]);
    assert_eq!(output.status.code(), Some(71));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("in.pcap") && said.contains("give a pcap or pcapng file"), "{said}");
}

#[test]
fn a_capture_that_is_cut_is_refused_with_what_mends_it() {
    let desk = Desk::new(&config(r#"kind = "ipip""#, "10.1.0.11"), &packets(b""));
    let whole = std::fs::read(desk.path("in.pcap")).expect("read");
    for length in [0, 10, 30, whole.len() - 1] {
        std::fs::write(desk.path("in.pcap"), &whole[..length]).expect("written");
        let output = desk.run(&[]);
        assert_eq!(output.status.code(), Some(71));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("it ends in the middle") && said.contains("editcap"), "{said}");
    }
}

/// The header of a capture in microseconds, without packets.
fn header_of(link: u32) -> Vec<u8> {
    let words = [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, link];
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[test]
fn only_a_capture_of_ethernet_is_taken() {
    let desk = Desk::new(&config(r#"kind = "ipip""#, "10.1.0.11"), &[]);
    for (link, name) in [(101, "RAW"), (113, "LINUX_SLL"), (276, "LINUX_SLL2")] {
        std::fs::write(desk.path("in.pcap"), header_of(link)).expect("written");
        let output = desk.run(&[]);
        assert_eq!(output.status.code(), Some(71));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(name) && said.contains("only Ethernet"), "{said}");
    }
}

#[test]
fn a_capture_is_not_overwritten_by_what_comes_of_it() {
    let desk = Desk::new(&config(r#"kind = "ipip""#, "10.1.0.11"), &packets(b""));
    let before = std::fs::read(desk.path("in.pcap")).expect("read");
    std::os::unix::fs::symlink(desk.path("in.pcap"), desk.path("out.pcap")).expect("a link");
    let output = desk.run(&[]);
    assert_eq!(output.status.code(), Some(71));
    assert!(String::from_utf8_lossy(&output.stderr).contains("both the capture to read"));
    assert_eq!(std::fs::read(desk.path("in.pcap")).expect("read"), before);
}

#[test]
fn an_output_in_a_folder_that_is_not_there_is_refused_by_its_folder() {
    let desk = Desk::new(&config(r#"kind = "ipip""#, "10.1.0.11"), &packets(b""));
    let output = desk.run_into("nowhere/out.pcap", &[]);
    assert_eq!(output.status.code(), Some(71));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("nowhere/out.pcap: there is no folder nowhere"), "{said}");
    assert!(!said.contains("DPDK"), "{said}");
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
    bend(&mut frames[0], 33, 99); // Another IPv4 address: for the host.
    bend(&mut frames[1], 23, 4); // IPv4 in IPv4 to the VIP: still a protocol that the rule takes.
    let desk = Desk::new(&config(r#"kind = "ipip""#, "10.1.0.11"), &frames);
    let output = desk.run(&[]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("host                                1"), "{said}");
    assert!(said.contains("= received                          6"), "{said}");
    assert_eq!(desk.sent().len(), 5);
}

#[test]
fn a_damaged_ipv4_header_is_counted_by_its_name_and_not_written() {
    let mut frames = packets(b"");
    frames[0][33] ^= 1;
    let desk = Desk::new(&config(r#"kind = "ipip""#, "10.1.0.11"), &frames);
    let output = desk.run(&[]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("wrong_checksum                      1"), "{said}");
    assert_eq!(desk.sent().len(), 5);
}
