//! Answers to what changes something.

use serde::{Deserialize, Serialize};

use crate::diff::Diff;

/// Which service, or which backend of it, an order is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OrderOf {
    /// The service's name.
    pub service: String,
    /// `group/name`; absent: the whole service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
}

/// An order that is in force now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changed {
    /// The generation of the Tables that say so.
    pub generation: u64,
    /// Why it will not outlive this process; null: it will (`admin.orders`).
    pub not_kept: Option<String>,
}

/// What came of a reload. `windrose reload` ends with 0 if `applied`, else with 78.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reloaded {
    /// Whether the new file is in force; else the old one goes on, whole.
    pub applied: bool,
    /// The generation of the Tables in force.
    pub generation: u64,
    /// What has changed: the text of `windrose diff`.
    pub changes: String,
    /// Warnings about the new file, as `windrose check` shows them.
    pub warnings: String,
    /// Why it was refused, every error with its place.
    pub error: Option<String>,
    /// The settings that need a restart; empty but for a refusal because of them.
    pub restart_needed: Vec<String>,
}

/// How a file differs from what is in force.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Compared {
    /// Settings that a reload would refuse.
    pub restart_needed: Vec<String>,
    /// The text of `windrose diff`.
    pub changes: String,
    /// The same as `windrose diff --format json` has it.
    pub diff: Diff,
}

/// The packet that `windrose explain --state-from-running` asks about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// `PROTOCOL SOURCE > DESTINATION [FLAGS]`
    pub packet: String,
    /// A configuration file's text: what would become of the packet after a reload of it. Absent:
    /// what becomes of it now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

/// Its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Explained {
    /// The text of `windrose explain`.
    pub answer: String,
    /// The same for a program: what `windrose simulate` prints of a packet.
    pub packet: serde_json::Value,
    /// The generation of the Tables that decided.
    pub generation: u64,
}
