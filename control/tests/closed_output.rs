//! Nobody reads what is printed: a closed pipe, a full disk. That ends nothing.

use std::fs::OpenOptions;
use std::io::Write;
use std::process::{Command, Stdio};

use tempfile::NamedTempFile;

const PACKET: &str = "tcp 198.51.100.7:40000 > 203.0.113.10:80";

fn example() -> NamedTempFile {
    let mut file = NamedTempFile::new().expect("a file");
    file.write_all(include_bytes!("fixtures/example.toml")).expect("written");
    file
}

/// The exit code when both of its outputs go to `sink`.
fn code(arguments: &[&str], sink: impl Fn() -> Stdio) -> Option<i32> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_windrose"));
    command.args(arguments).stdout(sink()).stderr(sink());
    command.status().expect("run").code()
}

/// A pipe whose reader has gone.
fn closed_pipe() -> Stdio {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    writer.into()
}

/// A device without room.
fn full() -> Stdio {
    OpenOptions::new().write(true).open("/dev/full").expect("/dev/full").into()
}

#[test]
fn no_command_panics_when_nobody_reads() {
    let file = example();
    let file = file.path().to_str().expect("a path");
    for sink in [closed_pipe, full] {
        assert_eq!(code(&["schema"], sink), Some(0));
        assert_eq!(code(&["check", "--config", file], sink), Some(0));
        assert_eq!(code(&["check", "--config", "/nowhere"], sink), Some(78));
        assert_eq!(code(&["explain", "--config", file, PACKET], sink), Some(0));
        assert_eq!(code(&["diff", file, file], sink), Some(0));
        assert_eq!(code(&["frobnicate"], sink), Some(64));
    }
}
