//! What `windrose check` has found, for people and for programs.

use std::path::Path;

use control::config::{Diagnostics, Finding, Loaded, Severity};
use serde::Serialize;
use serde_json::Value;

use crate::workers;

/// The JSON of `windrose check`. Fields are only ever added.
#[derive(Serialize)]
pub(super) struct Told {
    /// The file, as it was given.
    file: String,
    /// Whether a start or a reload would take it.
    pub(super) valid: bool,
    /// What is wrong with it.
    errors: Vec<Finding>,
    /// What the operator should know of it.
    warnings: Vec<Finding>,
    /// How much it has of each; null: it is not valid.
    contents: Option<Contents>,
    /// What the connection table will take; null: the file has no port, or is not valid.
    connection_table_bytes: Option<usize>,
    /// With `--against-running`: `restart_needed`, `changes` and `diff`; else null.
    pub(super) running: Option<Value>,
}

/// How much a file has of each.
#[derive(Serialize)]
struct Contents {
    ports: usize,
    services: usize,
    backends: usize,
    forwarding_rules: usize,
}

impl Told {
    pub(super) fn of(file: &Path, loaded: &Result<Loaded, Diagnostics>) -> Self {
        let found = match loaded {
            Ok(loaded) => &loaded.warnings,
            Err(found) => found,
        };
        let with_ports = loaded.as_ref().ok().filter(|loaded| !loaded.config.ports.is_empty());
        Self {
            file: file.display().to_string(),
            valid: loaded.is_ok(),
            errors: found.findings(Severity::Error),
            warnings: found.findings(Severity::Warning),
            contents: loaded.as_ref().ok().map(Contents::of),
            connection_table_bytes: with_ports.map(|l| workers::memory(&l.config).bytes()),
            running: None,
        }
    }
}

impl Contents {
    fn of(loaded: &Loaded) -> Self {
        let config = &loaded.config;
        let groups = config.services.iter().flat_map(|service| &service.groups);
        Self {
            ports: config.ports.len(),
            services: config.services.len(),
            backends: groups.map(|group| group.backends.len()).sum(),
            forwarding_rules: config.rules.len(),
        }
    }
}

/// A valid file, in words.
pub(super) fn words(file: &Path, loaded: &Loaded) -> String {
    let Contents { ports, services, backends, forwarding_rules } = Contents::of(loaded);
    let counted = [
        (ports, "port"),
        (services, "service"),
        (backends, "backend"),
        (forwarding_rules, "forwarding rule"),
    ];
    let contents = counted.map(|(count, what)| plural(count, what)).join(", ");
    let valid = format!("{}: valid: {contents}\n", file.display());
    match ports {
        0 => valid,
        _ => format!("{valid}connection table: {}\n", workers::memory(&loaded.config)),
    }
}

fn plural(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
