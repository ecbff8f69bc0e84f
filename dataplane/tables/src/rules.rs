//! Forwarding rules: destination → rule (F-1 to F-4).

use crate::ServiceId;

/// A rule's number: an index into [`RuleTable`] and the order of the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RuleId(pub u16);

/// One rule, as a worker reads it once matched.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Its name, for logs and answers.
    pub name: std::sync::Arc<str>,
    /// Where it leads.
    pub service: ServiceId,
}

/// All rules.
#[derive(Debug, Default)]
pub struct RuleTable {
    rules: Box<[Rule]>,
}

impl RuleTable {
    /// One rule.
    pub fn rule(&self, id: RuleId) -> Option<&Rule> {
        self.rules.get(usize::from(id.0))
    }
}
