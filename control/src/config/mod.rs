//! TOML → [`Config`]: every error at once, with its place and what is allowed.
//!
//! In reading order:
//!
//! - `file`: the tables as they are written; one field list each makes the type, the reader and
//!   the JSON Schema (`table`, `field`, `value`);
//! - `check`: the file → the model; limits of profiles, references, contradictions;
//! - `report`: collects what is wrong on the way; `diagnostics`: how it is shown,
//!   `finding`: to a program;
//! - `source`: the file's text, or why it cannot be had;
//! - `restart`: which changes a reload refuses.
//!
//! A file is either accepted whole, with warnings, or refused whole, with every error.

mod check;
mod diagnostics;
mod environment;
mod field;
mod file;
mod finding;
pub(crate) mod nearest;
mod report;
mod restart;
mod source;
mod table;
mod value;

use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

pub use diagnostics::{Diagnostic, Diagnostics, Severity, Span};
pub use environment::Environment;
pub use finding::Finding;
pub use restart::restart_needed;

use crate::model::Config;
use field::FromToml;
use report::Report;
use source::{Patience, Sought};

/// An accepted configuration.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// What the file says.
    pub config: Config,
    /// What the operator should know; to be shown, never a reason to refuse.
    pub warnings: Diagnostics,
}

/// Reads and checks a file on this machine.
///
/// # Errors
/// Everything that is wrong with the file, or one error about the file as a whole.
pub fn load(path: &Path) -> Result<Loaded, Diagnostics> {
    load_with(path, Patience::Pipes)
}

/// The same for a process that must not wait for a pipe's other end: only a regular file is read.
///
/// # Errors
/// As [`load`].
pub fn load_regular(path: &Path) -> Result<Loaded, Diagnostics> {
    load_with(path, Patience::None)
}

fn load_with(path: &Path, patience: Patience) -> Result<Loaded, Diagnostics> {
    let name = path.display().to_string();
    let text = source::read(path, patience, Sought::Configuration)
        .map_err(|why| Diagnostics::whole_file(&name, why))?;
    parse(&name, &text, &Environment::detect())
}

/// Checks a text; `name` is what messages call it.
///
/// # Errors
/// Everything that is wrong with it, sorted by place. After a syntax error nothing else is
/// reported: what the text means is not known.
pub fn parse(name: &str, text: &str, environment: &Environment) -> Result<Loaded, Diagnostics> {
    let mut report = Report::new(text);
    let config = document(text, &mut report)
        .and_then(|document| file::File::read(&document, "", &mut report))
        .map(|file| check::config(&file, environment, &mut report));
    let found = Diagnostics::new(name, text, report.into_items());
    match config {
        Some(config) if found.errors() == 0 => Ok(Loaded { config, warnings: found }),
        _ => Err(found),
    }
}

/// The text as a tree with places, unless its syntax is wrong.
fn document<'t>(text: &'t str, report: &mut Report<'t>) -> Option<Spanned<DeValue<'t>>> {
    let (table, errors) = DeTable::parse_recoverable(text);
    for error in &errors {
        let span = error.span().unwrap_or(text.len()..text.len());
        report.error(span, format!("not TOML: {}", error.message()), String::new());
    }
    errors.is_empty().then(|| Spanned::new(0..0, DeValue::Table(table.into_inner())))
}

/// The JSON Schema (draft 2020-12) of the file.
pub fn schema() -> serde_json::Value {
    let mut schema = file::File::schema();
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    schema["title"] = "Windrose configuration".into();
    schema
}
