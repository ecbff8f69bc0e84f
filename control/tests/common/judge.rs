//! Runs every case of a vector file, and names all that fail.

use serde::de::DeserializeOwned;

#[path = "vectors.rs"]
mod vectors;

/// Reads every case of `file` as a `Case`, which must know each of its fields, and asks for a
/// verdict on it. Fails with every failing case's id.
pub(crate) fn judge<Case: DeserializeOwned>(
    file: &str,
    verdict: impl Fn(&Case) -> Result<(), String>,
) {
    let cases = vectors::cases(file);
    assert!(!cases.is_empty(), "{file} has no cases");
    let failures: Vec<_> = cases
        .into_iter()
        .filter_map(|case| {
            let id = case["id"].as_str().unwrap_or("a case without an id").to_owned();
            let case = serde_json::from_value(case).map_err(|e| format!("not understood: {e}"));
            let error = case.and_then(|case| verdict(&case)).err()?;
            Some(format!("{id}: {error}"))
        })
        .collect();
    assert!(failures.is_empty(), "{file}:\n{}", failures.join("\n"));
}

/// Whether what came out is what the case expects.
pub(crate) fn same<T: PartialEq + std::fmt::Debug>(
    what: &str,
    found: &T,
    expected: &T,
) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("{what} is {found:?}, not {expected:?}")) }
}
