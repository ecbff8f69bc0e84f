//! Collects findings while the file is read and checked; nothing stops at the first.

use super::diagnostics::{Diagnostic, Severity, Span};
use super::field::{Field, Origin};

/// The findings so far, and where in the configuration we are.
pub(super) struct Report<'t> {
    text: &'t str,
    place: Vec<String>,
    items: Vec<Diagnostic>,
}

impl<'t> Report<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, place: Vec::new(), items: Vec::new() }
    }

    pub(super) fn into_items(self) -> Vec<Diagnostic> {
        self.items
    }

    /// How many findings there are so far.
    pub(super) fn errors(&self) -> usize {
        self.items.len()
    }

    /// Whether the file is refused already.
    pub(super) fn refuses(&self) -> bool {
        self.items.iter().any(|item| item.severity == Severity::Error)
    }

    /// Enters a table, for example `service "web"`: every message starts with the tables around.
    pub(super) fn enter(&mut self, place: String) {
        self.place.push(place);
    }

    pub(super) fn leave(&mut self) {
        self.place.pop();
    }

    /// What the file says at `span`, shortened to one readable line.
    pub(super) fn found(&self, span: &Span) -> String {
        let text = self.text.get(span.clone()).unwrap_or_default();
        let line = text.lines().next().unwrap_or_default();
        let short: String = line.chars().take(60).collect();
        if short.len() < text.trim_end().len() { format!("{short}…") } else { short }
    }

    pub(super) fn error(&mut self, span: Span, message: String, help: String) -> &mut Diagnostic {
        self.add(Severity::Error, span, message, help)
    }

    pub(super) fn warn(&mut self, span: Span, message: String, help: &str) {
        self.add(Severity::Warning, span, message, help.to_owned());
    }

    /// The same, about packets on a wire only.
    pub(super) fn warn_on_the_wire(&mut self, span: Span, message: String, help: String) {
        self.add(Severity::Warning, span, message, help).on_the_wire = true;
    }

    fn add(
        &mut self,
        severity: Severity,
        span: Span,
        message: String,
        help: String,
    ) -> &mut Diagnostic {
        let place = self.place.iter().map(String::as_str).chain([message.as_str()]);
        // The file itself is a table without a name.
        let message = place.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": ");
        let (span, beside, on_the_wire) = (Some(span), None, false);
        self.items.push(Diagnostic { severity, message, help, span, beside, on_the_wire });
        let last = self.items.len() - 1;
        &mut self.items[last]
    }

    /// Refuses a value: key, value, why, and what is allowed.
    pub(super) fn refuse<T>(&mut self, field: &Field<T>, why: &str, allowed: impl Into<String>) {
        self.refuse_beside(field, why, allowed, None);
    }

    /// The same, with another place that matters. A value that is already known to be wrong is
    /// not refused twice.
    pub(super) fn refuse_beside<T>(
        &mut self,
        field: &Field<T>,
        why: &str,
        allowed: impl Into<String>,
        beside: Option<(Span, String)>,
    ) {
        if field.origin == Origin::Broken {
            return;
        }
        let subject = self.subject(field);
        self.error(field.span.clone(), format!("{subject}: {why}"), allowed.into()).beside = beside;
    }

    /// `key = value`; a table by its header, a default by its key.
    fn subject<T>(&self, field: &Field<T>) -> String {
        let found = self.found(&field.span);
        match field.origin {
            Origin::Given if found.starts_with('[') && found.contains(field.key) => found,
            Origin::Given => format!("{} = {found}", field.key),
            _ => field.key.to_owned(),
        }
    }
}
