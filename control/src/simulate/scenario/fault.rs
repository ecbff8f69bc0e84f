//! What is wrong with a scenario, and where.

use std::fmt;
use std::ops::Range;

/// A place in a file: line and column, both from 1, the column in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl Place {
    /// The place of a byte offset.
    pub(super) fn of(text: &str, span: &Range<usize>) -> Self {
        let before = text.get(..span.start).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let column = before[line_start..].chars().count() + 1;
        Self { line: before.matches('\n').count() + 1, column }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// One fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where.
    pub place: Place,
    /// The event that it is in; `None`: in none.
    pub event: Option<usize>,
    /// What is wrong and what is allowed.
    pub message: String,
}

/// All faults of one file, by place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faults {
    name: String,
    faults: Vec<Fault>,
}

impl Faults {
    pub(super) fn new(name: &str, mut faults: Vec<Fault>) -> Self {
        faults.sort_by_key(|fault| fault.place);
        Self { name: name.to_owned(), faults }
    }

    /// The faults.
    pub fn iter(&self) -> impl Iterator<Item = &Fault> {
        self.faults.iter()
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, fault) in self.faults.iter().enumerate() {
            let line_break = if i == 0 { "" } else { "\n" };
            write!(f, "{line_break}{}:{}: ", self.name, fault.place)?;
            if let Some(event) = fault.event {
                write!(f, "event {event}: ")?;
            }
            f.write_str(&fault.message)?;
        }
        Ok(())
    }
}

impl std::error::Error for Faults {}
