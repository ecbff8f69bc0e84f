//! What is wrong with a machine for a configuration: facts in, findings out. Pure; the facts are
//! gathered in one place, by the program.
//!
//! - [`facts`]: what is known of the machine;
//! - `checks`: facts and configuration → findings, each with its cure.

mod checks;
pub mod facts;

use serde::Serialize;

use crate::model::Config;
use facts::Facts;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// It does not start, or traffic is lost.
    Error,
    /// It works, but not as well as it could, or not for everybody.
    Warning,
    /// Nothing is wrong, but it is worth knowing.
    Note,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How bad.
    pub severity: Severity,
    /// What was looked at: a name that stays.
    pub check: &'static str,
    /// What is wrong.
    pub what: String,
    /// What helps.
    pub cure: String,
}

/// All findings, the worst first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Whether the appliance runs: some things can only be seen then.
    pub running: bool,
    /// The worst first.
    pub findings: Vec<Finding>,
}

/// Looks at everything.
pub fn examine(config: &Config, facts: &Facts) -> Report {
    let mut findings = Vec::new();
    for finding in checks::ALL.iter().flat_map(|check| check(config, facts)) {
        if !findings.contains(&finding) {
            findings.push(finding);
        }
    }
    findings.sort_by_key(|finding| finding.severity);
    Report { running: facts.running, findings }
}

impl Report {
    /// Whether nothing is wrong. Notes are not.
    pub fn is_well(&self) -> bool {
        self.count(Severity::Error) + self.count(Severity::Warning) == 0
    }

    fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.severity == severity).count()
    }

    /// For people.
    pub fn words(&self) -> String {
        let mut text = String::new();
        for Finding { severity, check, what, cure } in &self.findings {
            let severity = format!("{severity:?}").to_lowercase();
            text += &format!("{severity}: {what} [{check}]\n  cure: {cure}\n");
        }
        let counted = [(Severity::Error, "error"), (Severity::Warning, "warning")];
        let counted = counted.map(|(severity, word)| match self.count(severity) {
            1 => format!("1 {word}"),
            count => format!("{count} {word}s"),
        });
        let state = if self.running { "windrose is running" } else { "windrose is not running" };
        text + &match self.is_well() {
            true => format!("nothing is wrong; {state}\n"),
            false => format!("{}; {state}\n", counted.join(", ")),
        }
    }
}
