//! The file's text, or one sentence on why it cannot be had.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

/// A configuration is text that people write; what is larger is something else.
const LARGEST: u64 = 16 << 20;

/// Reads the file, without ever holding more than [`LARGEST`] bytes (it may be a device or grow).
pub(super) fn read(path: &Path) -> Result<String, String> {
    let file = File::open(path).map_err(|e| cannot_read(&e))?;
    if file.metadata().is_ok_and(|m| m.is_dir()) {
        return Err("this is a directory; give the file in it".into());
    }
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(|e| cannot_read(&e))?;
    if bytes.len() as u64 > LARGEST {
        return Err(format!("larger than {} MB: this is no configuration file", LARGEST >> 20));
    }
    text(bytes)
}

fn text(bytes: Vec<u8>) -> Result<String, String> {
    if let Some(at) = bytes.iter().position(|b| *b == 0) {
        return Err(format!("a NUL byte in line {}: this is no text file", line(&bytes, at)));
    }
    String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        format!("not UTF-8 in line {}: TOML is UTF-8 text", line(e.as_bytes(), at))
    })
}

fn line(bytes: &[u8], at: usize) -> usize {
    bytes.iter().take(at).filter(|b| **b == b'\n').count() + 1
}

fn cannot_read(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "there is no such file".into(),
        ErrorKind::PermissionDenied => "this user may not read it".into(),
        _ => format!("cannot be read: {error}"),
    }
}
