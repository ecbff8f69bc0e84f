//! Whether a result is what a case expects.

use std::collections::BTreeSet;

use serde_json::Value;

/// The id of the backend that a packet was sent to.
pub(crate) fn backend(result: &Value) -> Option<String> {
    let path = result["backend"].as_str()?;
    Some(path.split_once('/')?.1.to_owned())
}

/// Judges one event, by one of the answers that are right.
pub(crate) fn event(
    result: &Value,
    expect: &Value,
    chosen: &[Option<String>],
) -> Result<(), String> {
    let first = one(result, expect, chosen);
    let others = expect["also_accept"].as_array().into_iter().flatten();
    let mut merged = others.map(|other| {
        let mut expect = expect.clone();
        for (key, value) in other.as_object().into_iter().flatten() {
            expect[key] = value.clone();
        }
        one(result, &expect, chosen)
    });
    if first.is_err() && merged.any(|other| other.is_ok()) { Ok(()) } else { first }
}

fn one(result: &Value, expect: &Value, chosen: &[Option<String>]) -> Result<(), String> {
    let mut faults = Vec::new();
    let mut check = |right: bool, what: &str| {
        if !right {
            faults.push(format!("{what} of {expect}"));
        }
    };
    if let Some(decision) = expect["decision"].as_str() {
        check(decided(result) == decision, "decision");
    }
    if let Some(entry) = expect["entry"].as_str() {
        check(result["entry"] == entry, "entry");
    }
    let backend = backend(result);
    if let Some(expected) = expect["backend"].as_str() {
        check(backend.as_deref() == Some(expected), "backend");
    }
    if expect["backend_in"].is_array() {
        check(
            backend.as_ref().is_some_and(|b| set(&expect["backend_in"]).contains(b)),
            "backend_in",
        );
    }
    if let Some(same) = expect["same_as"].as_u64() {
        check(backend == chosen[same as usize], "same_as");
    }
    for other in expect["differs_from"].as_array().into_iter().flatten() {
        check(backend != chosen[other.as_u64().unwrap_or(0) as usize], "differs_from");
    }
    check(result["entries_removed"] == removed(expect), "removed");
    if expect["eligible_after"].is_array() {
        check(eligible(result) == set(&expect["eligible_after"]), "eligible_after");
    }
    if expect["key_fields"].is_array() {
        check(key_fields(result) == set(&expect["key_fields"]), "key_fields");
    }
    if faults.is_empty() { Ok(()) } else { Err(format!("{}\ngot {result}", faults.join("\n"))) }
}

fn decided(result: &Value) -> &str {
    match (result["verdict"].as_str(), result["why"].as_str()) {
        (Some("forward"), Some("tracked")) => "tracked",
        (Some("forward"), Some("selected")) => "reselected",
        (Some("drop"), Some("no_eligible_backend")) => "dropped",
        _ => "something else",
    }
}

/// Entries removed by the event; what idle expiry took is not counted there (T-8: reclaimed
/// lazily).
fn removed(expect: &Value) -> u64 {
    let reasons = expect["removed_reasons"].as_array();
    match reasons {
        Some(reasons) => reasons.iter().filter(|reason| *reason != "idle").count() as u64,
        None => expect["removed"].as_u64().unwrap_or(0),
    }
}

fn eligible(result: &Value) -> BTreeSet<String> {
    let paths = match &result["eligible"] {
        Value::Object(services) => set(&services["s"]),
        paths => set(paths),
    };
    paths.iter().filter_map(|path| Some(path.split_once('/')?.1.to_owned())).collect()
}

fn key_fields(result: &Value) -> BTreeSet<String> {
    let name = |field: &String| match field.as_str() {
        "src" => "src_ip".to_owned(),
        "dst" => "dst_ip".to_owned(),
        "sport" => "src_port".to_owned(),
        "dport" => "dst_port".to_owned(),
        "proto" => "protocol".to_owned(),
        other => other.to_owned(),
    };
    set(&result["tracking_key"]).iter().map(name).collect()
}

fn set(values: &Value) -> BTreeSet<String> {
    let values = values.as_array().into_iter().flatten();
    values.filter_map(|v| Some(v.as_str()?.to_owned())).collect()
}
