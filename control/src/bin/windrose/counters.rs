//! The counters, for a person.

use std::fmt::{Display, Formatter, Result};

use tables::counters::Event;
use tables::{Counters, Outcome};

/// One line each, those that are zero left out, and the balance (D-7).
pub(crate) struct Summary<'a>(pub &'a Counters);

impl Display for Summary<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Self(counters) = self;
        let outcomes = Outcome::ALL.iter().map(|o| (o.name(), counters.outcome(*o)));
        let events = Event::ALL.iter().map(|e| (e.name(), counters.event(*e)));
        writeln!(f, "counters:")?;
        for (name, count) in events.filter(|(_, count)| *count > 0) {
            writeln!(f, "  {name:<24} {count:>12}")?;
        }
        writeln!(f, "outcomes:")?;
        for (name, count) in outcomes.filter(|(_, count)| *count > 0) {
            writeln!(f, "  {name:<24} {count:>12}")?;
        }
        if counters.held() > 0 {
            writeln!(f, "  {:<24} {:>12}", "held", counters.held())?;
        }
        writeln!(f, "  {:<24} {:>12}", "= received", counters.ended() + counters.held())
    }
}
