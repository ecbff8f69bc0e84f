//! What is printed of each event: the JSON of the reference (`docs/simulate.md`).

use std::collections::BTreeMap;

use serde::Serialize;
use tables::{FieldSet, Outcome, Pool, Tables};

use super::desk::{Decision, EntryFate, Report};
use crate::model::Role;
use crate::state::{Service, State};

/// The result of one event.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum EventResult {
    /// Of a packet.
    Packet(Box<PacketResult>),
    /// Of a change, or of time that passed.
    Change(ChangeResult),
}

/// What became of a packet, and why.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PacketResult {
    /// The event's number.
    pub event: usize,
    /// Its time, as it was written.
    pub at: String,
    /// Where the packet went.
    pub verdict: Verdict,
    /// The service of the rule that took it.
    pub service: Option<String>,
    /// The rule that took it.
    pub rule: Option<String>,
    /// The backend that it was sent to, `group/name`.
    pub backend: Option<String>,
    /// tracked, selected, quoted, fragment, no_eligible_backend, no_rule, malformed; else the outcome's name.
    pub why: &'static str,
    /// What became of its entry.
    pub entry: EntryFate,
    /// The fields of its tracking key; null: not tracked, or nothing took it.
    pub tracking_key: Option<Vec<&'static str>>,
    /// The fields of its selection hash; null: nothing took it.
    pub selection_hash: Option<Vec<&'static str>>,
    /// Whom it could have gone to as a new connection, after the zonal step.
    pub eligible: Vec<String>,
    /// Their role.
    pub pool: PoolName,
    /// Whether they are a last resort.
    pub last_resort: bool,
    /// Entries that draining deadlines have ended since the last event.
    pub entries_removed: usize,
    /// Fragments that waited until this packet came: for it, or in vain. Each is the whole result
    /// of the event that brought it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub released: Vec<PacketResult>,
}

/// Where a packet went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// To a backend.
    Forward,
    /// Nowhere.
    Drop,
    /// To the host.
    Host,
    /// It waits for its first fragment (S-6).
    Held,
}

/// The role of an eligible set's members (T-17).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PoolName {
    /// Primary backends.
    Primary,
    /// Failover backends.
    Failover,
    /// Nobody.
    None,
}

impl From<Option<Role>> for PoolName {
    fn from(role: Option<Role>) -> Self {
        match role {
            Some(Role::Primary) => Self::Primary,
            Some(Role::Failover) => Self::Failover,
            None => Self::None,
        }
    }
}

/// What a change led to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChangeResult {
    /// The event's number.
    pub event: usize,
    /// Its time, as it was written.
    pub at: String,
    /// Each service's eligible set, before the zonal step.
    pub eligible: BTreeMap<String, Vec<String>>,
    /// Entries that the change, or a draining deadline before it, ended.
    pub entries_removed: usize,
    /// Why the new file was not taken; the old one goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// The names of a service's eligible backends, before the zonal step.
pub fn eligible(service: &Service) -> Vec<String> {
    let current = service.current();
    let members = service.eligible().members.iter();
    let mut names: Vec<_> = members.map(|index| current[*index].path.to_string()).collect();
    names.sort_unstable();
    names
}

/// Each service's eligible set.
pub(super) fn eligible_sets(state: &State) -> BTreeMap<String, Vec<String>> {
    let in_file = state.services().filter(|s| s.is_in_file());
    in_file.map(|s| (s.config.name.to_string(), eligible(s))).collect()
}

/// Fills in what one packet's report says; `None`: it is held.
pub(super) fn packet(report: Option<&Report>, state: &State, tables: &Tables) -> PacketResult {
    let mut result = PacketResult::undecided();
    let Some(report) = report else { return result };
    (result.verdict, result.why) = verdict(report);
    result.entry = report.entry;
    let Some((rule, id)) = report.rule else { return result };
    result.rule = tables.rules.rule(rule).map(|r| r.name.to_string());
    let known = state.services().find(|s| s.id == id);
    if let (Some(known), Some(service)) = (known, tables.service(id)) {
        result.of_service(report, known, service, tables);
    }
    result
}

impl PacketResult {
    fn undecided() -> Self {
        Self {
            event: 0,
            at: String::new(),
            verdict: Verdict::Held,
            service: None,
            rule: None,
            backend: None,
            why: "fragment",
            entry: EntryFate::None,
            tracking_key: None,
            selection_hash: None,
            eligible: Vec::new(),
            pool: PoolName::None,
            last_resort: false,
            entries_removed: 0,
            released: Vec::new(),
        }
    }

    fn of_service(
        &mut self,
        report: &Report,
        known: &Service,
        service: &tables::Service,
        tables: &Tables,
    ) {
        let plan = service.plan.class(report.class);
        let pool = pool_for(report, service, tables);
        let members: Vec<_> =
            known.backends.iter().filter(|b| pool.members.contains(&b.slot)).collect();
        self.service = Some(known.config.name.to_string());
        self.backend = (report.outcome == Outcome::Forwarded)
            .then(|| known.backends.iter().find(|b| Some(b.slot) == report.slot))
            .flatten()
            .map(|b| b.path.to_string());
        self.tracking_key = plan.track.map(names);
        self.selection_hash = Some(names(plan.select));
        self.eligible = members.iter().map(|b| b.path.to_string()).collect();
        self.eligible.sort_unstable();
        self.pool = members.first().map(|b| b.role).into();
        self.last_resort = known.eligible().last_resort;
    }
}

fn names(fields: FieldSet) -> Vec<&'static str> {
    fields.names().collect()
}

/// The pool that the worker chose from, or would have: after the zonal step.
fn pool_for<'t>(report: &Report, service: &'t tables::Service, tables: &Tables) -> &'t Pool {
    let zone = tables.client_zones.longest(report.flow.src());
    zone.and_then(|z| service.zonal.get(usize::from(z.0))).unwrap_or(&service.pool)
}

fn verdict(report: &Report) -> (Verdict, &'static str) {
    let why = match report.outcome {
        Outcome::Forwarded => match report.decision {
            Decision::Tracked => "tracked",
            Decision::Fragment => "fragment",
            Decision::Quoted => "quoted",
            Decision::Selected | Decision::Undecided => "selected",
        },
        Outcome::Host | Outcome::NoHostInterface | Outcome::HostFull | Outcome::VipNoRule => {
            "no_rule"
        }
        // Answered or not, no rule took it and no backend gets it.
        Outcome::EchoAnswered | Outcome::IcmpRateLimited => "no_rule",
        Outcome::MalformedIp
        | Outcome::MalformedL4
        | Outcome::RxTruncated
        | Outcome::WrongChecksum => "malformed",
        other => other.name(),
    };
    let verdict = match report.outcome {
        Outcome::Forwarded => Verdict::Forward,
        Outcome::Host | Outcome::NoHostInterface | Outcome::HostFull => Verdict::Host,
        _ => Verdict::Drop,
    };
    (verdict, why)
}
