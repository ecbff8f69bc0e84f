//! The conformance vectors: JSON arrays of cases, described in their own README.

use std::path::PathBuf;

use serde_json::Value;

/// Every case of one vector file, for example `config.json`.
///
/// Reads the specification's own folder where it lies beside the repository, else the copy that
/// the repository keeps.
pub(crate) fn cases(file: &str) -> Vec<Value> {
    let path = folder().join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn folder() -> PathBuf {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let beside = root.join("../shared/spec/vectors");
    if beside.is_dir() { beside } else { root.join("testdata/vectors") }
}
