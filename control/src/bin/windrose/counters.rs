//! The counters, for a person.

use std::fmt::{Display, Formatter, Result};

use tables::counters::Event;
use tables::{Counters, Outcome};

/// One line each, those that are zero left out, and the balance (D-7); then what was lost before
/// or behind the workers.
pub(crate) struct Summary<'a, L> {
    pub counters: &'a Counters,
    pub losses: L,
}

impl<L: Display> Display for Summary<'_, L> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Self { counters, losses } = self;
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
        writeln!(f, "  {:<24} {:>12}", "= received", counters.ended() + counters.held())?;
        write!(f, "{losses}")
    }
}
