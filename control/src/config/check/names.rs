//! Names that must be unique, and names that must lead somewhere.

use std::collections::HashMap;
use std::hash::Hash;

use crate::config::diagnostics::Span;
use crate::config::field::Field;
use crate::config::report::Report;

/// Candidates for "did you mean" beyond this many are not looked at.
pub(super) const CANDIDATES: usize = 2_000;

/// Where each value was first seen.
pub(super) struct Unique<T> {
    seen: HashMap<T, Span>,
    why: &'static str,
    allowed: &'static str,
}

impl<T: Clone + Eq + Hash> Unique<T> {
    pub(super) fn new(why: &'static str, allowed: &'static str) -> Self {
        Self { seen: HashMap::new(), why, allowed }
    }

    /// Refuses a value that was seen before, and points at the first.
    pub(super) fn check(&mut self, field: &Field<T>, report: &mut Report<'_>) {
        self.check_as(field, field.value.clone(), report);
    }

    /// The same where the field's value is not itself what must be unique.
    pub(super) fn check_as<U>(&mut self, field: &Field<U>, value: T, report: &mut Report<'_>) {
        if !field.is_sound() {
            return;
        }
        match self.seen.get(&value) {
            Some(first) => {
                let beside = Some((first.clone(), "the first is here".to_owned()));
                report.refuse_beside(field, self.why, self.allowed, beside);
            }
            None => {
                self.seen.insert(value, field.span.clone());
            }
        }
    }
}
