//! Findings for a program: the JSON of `windrose check`.

use serde::Serialize;

use super::diagnostics::{Diagnostics, Severity};

/// One error or warning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The line, from 1; null: it is about the file as a whole.
    pub line: Option<usize>,
    /// The column, from 1, in characters.
    pub column: Option<usize>,
    /// What is wrong: where in the configuration, key, value, reason.
    pub message: String,
    /// What is allowed instead; may be empty.
    pub help: String,
}

impl Diagnostics {
    /// The findings of one severity, by place.
    pub fn findings(&self, severity: Severity) -> Vec<Finding> {
        let items = self.items().iter().filter(|item| item.severity == severity);
        let finding = |item| {
            let (line, column) = self.position(item).unzip();
            Finding { line, column, message: item.message.clone(), help: item.help.clone() }
        };
        items.map(finding).collect()
    }
}
