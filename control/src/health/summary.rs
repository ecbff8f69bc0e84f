//! The checks in a few lines, for a person.

use std::fmt::{Display, Formatter, Result};

use super::subject::Row;

/// So many unhealthy backends are written out.
const NAMED: usize = 20;

/// How many are healthy, and why the others are not.
#[derive(Clone, Debug)]
pub struct Summary(pub Vec<Row>);

impl Display for Summary {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let count = |has: fn(&Row) -> bool| self.0.iter().filter(|row| has(row)).count();
        let (up, down) = (count(|r| r.decided && r.healthy), count(|r| r.decided && !r.healthy));
        let waiting = count(|r| !r.decided);
        writeln!(f, "checks: {up} healthy, {down} unhealthy, {waiting} without a result")?;
        let bad = self.0.iter().filter(|row| !(row.decided && row.healthy));
        bad.clone().take(NAMED).try_for_each(|row| one(f, row))?;
        match bad.count().saturating_sub(NAMED) {
            0 => Ok(()),
            more => writeln!(f, "  and {more} more"),
        }
    }
}

fn one(f: &mut Formatter<'_>, row: &Row) -> Result {
    let said = match &row.answer {
        Some(Ok(answer) | Err(answer)) => answer.as_str(),
        None => "not answered yet",
    };
    writeln!(f, "  {} {}: {} ({said})", row.who.service, row.who.backend, row.question)
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;
    use crate::state::Who;

    fn row(
        backend: &str,
        healthy: bool,
        answer: Option<std::result::Result<String, String>>,
    ) -> Row {
        let address = IpAddr::from([10, 0, 0, 1]);
        Row {
            who: Who { service: "web".into(), backend: backend.into(), address },
            question: "HTTP port 80 of 203.0.113.10 through 10.0.0.1".into(),
            healthy,
            decided: answer.is_some(),
            answer,
            answered: None,
            since: None,
            against: 0,
            weight: None,
            weight_faults: 0,
        }
    }

    #[test]
    fn those_that_are_not_healthy_are_named_with_the_reason() {
        let rows = vec![
            row("g/1", true, Some(Ok("HTTP 200".into()))),
            row("g/2", false, Some(Err("HTTP 503".into()))),
            row("g/3", true, None),
        ];
        assert_eq!(
            Summary(rows).to_string(),
            "checks: 1 healthy, 1 unhealthy, 1 without a result\n\
             \x20 web g/2: HTTP port 80 of 203.0.113.10 through 10.0.0.1 (HTTP 503)\n\
             \x20 web g/3: HTTP port 80 of 203.0.113.10 through 10.0.0.1 (not answered yet)\n"
        );
        let many = (0..25).map(|_| row("g/2", false, Some(Err("HTTP 503".into())))).collect();
        assert!(Summary(many).to_string().ends_with("  and 5 more\n"));
    }
}
