//! What is wrong with a file, with its place, and how it is shown.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

/// A place in the file: byte offsets.
pub type Span = Range<usize>;

/// Findings beyond this many are counted, not shown.
const SHOWN: usize = 200;

/// A line longer than this many bytes is named, not shown.
const LONGEST_LINE: usize = 4_096;

/// Whether a finding refuses the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The file is refused.
    Error,
    /// The file is accepted; the operator should know.
    Warning,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Whether it refuses the file.
    pub severity: Severity,
    /// What is wrong: where in the configuration, key, value, reason.
    pub message: String,
    /// What is allowed instead; may be empty.
    pub help: String,
    /// Where; `None` for the file as a whole.
    pub span: Option<Span>,
    /// Another place that matters, and what is there.
    pub beside: Option<(Span, String)>,
    /// Whether it is only about packets on a wire: simulations and captures know every next hop.
    pub on_the_wire: bool,
}

/// Everything that was found in one file, sorted by place.
#[derive(Clone, Debug)]
pub struct Diagnostics {
    name: String,
    text: Arc<str>,
    items: Vec<Diagnostic>,
}

impl Diagnostics {
    pub(super) fn new(name: &str, text: &str, mut items: Vec<Diagnostic>) -> Self {
        items.sort_by_key(|item| item.span.as_ref().map(|s| (s.start, s.end)));
        Self { name: name.to_owned(), text: text.into(), items }
    }

    /// One error about the file as a whole.
    pub(super) fn whole_file(name: &str, message: String) -> Self {
        let item = Diagnostic {
            severity: Severity::Error,
            message: format!("{name}: {message}"),
            help: String::new(),
            span: None,
            beside: None,
            on_the_wire: false,
        };
        Self::new(name, "", vec![item])
    }

    /// The findings, by place.
    pub fn items(&self) -> &[Diagnostic] {
        &self.items
    }

    /// Without those that are only about packets on a wire.
    pub fn off_the_wire(mut self) -> Self {
        self.items.retain(|item| !item.on_the_wire);
        self
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// How many errors there are.
    pub fn errors(&self) -> usize {
        self.items.iter().filter(|item| item.severity == Severity::Error).count()
    }

    /// The line and column (from 1, in characters) of a finding; `None` for the file as a whole.
    pub fn position(&self, item: &Diagnostic) -> Option<(usize, usize)> {
        let line = self.line(item.span.as_ref()?);
        let before = line.text.get(..line.span.start).unwrap_or_default();
        Some((line.number, before.chars().count() + 1))
    }

    /// For people: each finding with its line, a mark under the value and what is allowed, and
    /// the count at the end. Nothing where nothing was found.
    pub fn render(&self, colours: bool) -> String {
        if self.is_empty() {
            return String::new();
        }
        let renderer = if colours { Renderer::styled() } else { Renderer::plain() };
        let mut out = String::new();
        for item in self.items.iter().take(SHOWN) {
            out.push_str(&renderer.render(&[self.group(item)]));
            out.push_str("\n\n");
        }
        out.push_str(&self.summary());
        out
    }

    /// One finding as the renderer wants it.
    fn group<'a>(&'a self, item: &'a Diagnostic) -> Group<'a> {
        let level = match item.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let mut group = Group::with_title(level.primary_title(&item.message));
        if let Some(span) = &item.span {
            group = self.place(group, span, AnnotationKind::Primary, "");
        }
        if let Some((span, what)) = &item.beside {
            group = self.place(group, span, AnnotationKind::Primary, what);
        }
        if !item.help.is_empty() {
            group = group.element(Level::HELP.message(&item.help));
        }
        group
    }

    /// Adds a line with a mark; only that line is handed over, so the time for all findings does
    /// not grow with the file's size times their number.
    fn place<'a>(
        &'a self,
        group: Group<'a>,
        span: &Span,
        kind: AnnotationKind,
        label: &'a str,
    ) -> Group<'a> {
        let line = self.line(span);
        if line.text.len() > LONGEST_LINE {
            let before = line.text.get(..line.span.start).unwrap_or_default();
            let column = before.chars().count() + 1;
            return group.element(Origin::path(&self.name).line(line.number).char_column(column));
        }
        let mark = kind.span(line.span);
        let mark = if label.is_empty() { mark } else { mark.label(label) };
        let snippet = Snippet::source(line.text).path(&self.name).line_start(line.number);
        group.element(snippet.annotation(mark))
    }

    /// The line that a span starts in.
    fn line(&self, span: &Span) -> Line<'_> {
        let mut start = span.start.min(self.text.len());
        while !self.text.is_char_boundary(start) {
            start -= 1;
        }
        let (before, after) = self.text.split_at(start);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = after.find('\n').map_or(self.text.len(), |newline| start + newline);
        let text = self.text[line_start..line_end].trim_end_matches('\r');
        let start = (start - line_start).min(text.len());
        let end = span.end.saturating_sub(line_start).clamp(start, text.len());
        Line { number: before.matches('\n').count() + 1, text, span: start..end }
    }

    fn summary(&self) -> String {
        let errors = self.errors();
        let counts = [(errors, "error"), (self.items.len() - errors, "warning")];
        let counts = counts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| count(*n, what));
        let counts = counts.collect::<Vec<_>>().join(", ");
        match self.items.len().checked_sub(SHOWN) {
            Some(hidden @ 1..) => format!("{counts} (the last {hidden} not shown)\n"),
            _ => format!("{counts}\n"),
        }
    }
}

/// `1 error`, `2 errors`.
pub(super) fn count(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl std::error::Error for Diagnostics {}

/// One line of the file, and the part of it that a span covers.
struct Line<'a> {
    number: usize,
    text: &'a str,
    span: Span,
}
