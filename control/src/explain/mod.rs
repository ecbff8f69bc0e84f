//! `windrose explain`: what happens to one packet, and why, in words.
//!
//! - `question`: the packet, as a person writes it;
//! - `reasons`: why a backend is eligible, or is not;
//! - `rules`: the rules around the packet's destination;
//! - this file: the answer, of the simulator's own result.

mod question;
pub(crate) mod reasons;
mod rules;

pub use question::{QuestionError, parse};

use std::fmt::Write;
use std::time::Duration;

use serde_json::Value;
use tables::{Outcome, ServiceId};

use crate::simulate::desk::{Decision, Desk, EntryFate, Report};
use crate::simulate::result::{self, PacketResult};
use crate::simulate::scenario::Packet;
use crate::simulate::{Simulator, Stop};
use crate::state::Service;

/// What became of a packet.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// And why, for a person.
    pub words: String,
    /// The same for a program: what `windrose simulate` prints of a packet.
    pub packet: Value,
}

impl Explanation {
    fn new(words: String, result: &PacketResult) -> Self {
        let mut packet = serde_json::to_value(result).unwrap_or_default();
        // There are no events here.
        if let Some(members) = packet.as_object_mut() {
            members.retain(|name, _| !["event", "at", "entries_removed"].contains(&name.as_str()));
        }
        Self { words, packet }
    }

    /// On one object, with the words among the rest.
    pub fn json(mut self) -> Value {
        if let Some(members) = self.packet.as_object_mut() {
            members.insert("words".to_owned(), self.words.into());
        }
        self.packet
    }
}

/// Sends `packet` through the simulator and says what became of it.
///
/// # Errors
/// The packet arrives at a port that there is not.
pub fn explain<D: Desk>(
    simulator: &mut Simulator<D>,
    packet: &Packet,
    now: Duration,
) -> Result<Explanation, Stop> {
    let report = simulator.step(packet, now)?;
    let result = simulator.describe(report.as_ref());
    let mut answer = format!("{}\n\n", question::written(packet));
    let service = report.and_then(|r| r.rule).map(|(_, id)| id);
    match (report, service) {
        (Some(report), Some(id)) => of_service(&mut answer, simulator, &report, &result, id),
        (Some(report), None) => without_rule(&mut answer, simulator, packet, &report),
        (None, _) => answer.push_str("It waits for the first fragment of its datagram.\n"),
    }
    Ok(Explanation::new(answer, &result))
}

fn of_service<D: Desk>(
    answer: &mut String,
    simulator: &Simulator<D>,
    report: &Report,
    result: &PacketResult,
    id: ServiceId,
) {
    let Some(service) = simulator.state().services().find(|s| s.id == id) else { return };
    let config = simulator.state().config();
    let chosen = service.backends.iter().find(|b| Some(b.slot) == report.slot);
    let head = match (report.outcome, chosen) {
        (Outcome::Forwarded, Some(b)) => format!("It goes to {} at {}.", b.path, b.address),
        (Outcome::NoEligibleBackend, _) => reasons::nobody(service),
        (outcome, _) => dropped(outcome),
    };
    let lines = [
        ("", head),
        ("", String::new()),
        ("Rule", rules::named(config, result.rule.as_deref().unwrap_or_default())),
        ("Service", settings(service)),
        ("Tracking", tracking(report, result, service)),
        ("Selection", selection(report, result)),
        ("Eligible", eligible(result)),
    ];
    for (name, text) in lines {
        let _ = writeln!(answer, "{}", format!("{name:<10} {text}").trim_end().trim_start());
    }
    backends(answer, service, report, result);
}

fn settings(service: &Service) -> String {
    let config = &service.config;
    format!(
        "{}: profile {}, session affinity {}, tracking {}",
        config.name,
        name(&config.profile),
        name(&config.affinity),
        name(&config.tracking_mode)
    )
}

/// The name that the configuration has for a value.
fn name(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

fn tracking(report: &Report, result: &PacketResult, service: &Service) -> String {
    let Some(key) = &result.tracking_key else {
        return "none: packets of this protocol are not tracked here (T-4); each is selected"
            .into();
    };
    let by = format!("by {}", listed(key));
    match report.entry {
        EntryFate::Hit => format!("{by}: the connection is known, and its entry decides (T-3)"),
        EntryFate::Replaced => {
            format!("{by}: a SYN is a new connection, and its entry replaced the old one (T-1)")
        }
        EntryFate::Created => format!(
            "{by}: a new connection; its entry lives until nothing has matched it for {} s (T-8){}",
            service.config.idle_timeout.as_secs_f64(),
            persistence(service, report)
        ),
        EntryFate::None => format!("{by}: nothing is known of it, and no entry was made"),
    }
}

fn persistence(service: &Service, report: &Report) -> &'static str {
    match service.plan.class(report.class).lifetime {
        tables::Lifetime::Persisting => ", also while its backend is unhealthy (H-1, H-3)",
        tables::Lifetime::WhileHealthy => ", or until its backend becomes unhealthy (T-11)",
    }
}

fn selection(report: &Report, result: &PacketResult) -> String {
    let fields = listed(result.selection_hash.as_deref().unwrap_or_default());
    match report.decision {
        Decision::Tracked => format!("not needed; it would be the hash of {fields} (S-1)"),
        Decision::Selected => {
            format!("the hash of {fields} picks one of the eligible backends (S-1, S-2)")
        }
        Decision::Quoted => {
            format!(
                "as for the connection that it is about: its entry, else the hash of {fields} (S-7)"
            )
        }
        Decision::Fragment => format!("as for its first fragment, by {fields} (S-6)"),
        Decision::Undecided => format!("the hash of {fields} has nobody to pick from (S-1)"),
    }
}

fn eligible(result: &PacketResult) -> String {
    if result.eligible.is_empty() {
        return "nobody".into();
    }
    let last = match result.last_resort {
        true => ", as the last resort: none of those that should serve can",
        false => "",
    };
    let count = match result.eligible.len() {
        1 => "1 backend".to_owned(),
        several => format!("{several} backends"),
    };
    format!("{count}, {}{last}", name(&result.pool))
}

/// Every backend: the chosen one, who else could have been it, and why the others could not.
fn backends(answer: &mut String, service: &Service, report: &Report, result: &PacketResult) {
    let width = service.backends.iter().map(|b| b.path.len()).max().unwrap_or_default();
    let whole = result::eligible(service);
    for backend in &service.backends {
        let chosen = report.outcome == Outcome::Forwarded && report.slot == Some(backend.slot);
        let can = !backend.is_removed() && result.eligible.iter().any(|e| **e == *backend.path);
        let eligible = || reasons::eligible(backend, service, result.last_resort);
        let words = match (can, chosen) {
            (true, true) => format!("{}, and chosen", eligible()),
            (true, false) => eligible(),
            (false, chosen) => {
                let in_whole = whole.iter().any(|e| **e == *backend.path);
                let why = reasons::not_eligible(backend, service, in_whole);
                let by_entry = if chosen { "chosen by the entry; for new ones " } else { "" };
                format!("{by_entry}not eligible: {why}")
            }
        };
        let _ = writeln!(answer, "  {:width$}  {words}", backend.path);
    }
}

fn without_rule<D: Desk>(
    answer: &mut String,
    simulator: &Simulator<D>,
    packet: &Packet,
    report: &Report,
) {
    let dst = packet.tuple.dst;
    let config = simulator.state().config();
    let around = rules::around(config, dst);
    let head = match report.outcome {
        Outcome::Host => format!("It goes to the host: no rule claims {dst} (F-4)."),
        Outcome::VipNoRule => format!(
            "It is dropped (vip_no_rule): rules claim {dst}, but none takes this packet (F-4)."
        ),
        Outcome::EchoAnswered => format!(
            "It is answered in the name of {dst} (answer_echo): no rule takes ICMP for that address."
        ),
        Outcome::ClientDenied => format!(
            "It is dropped (client_denied): the rule's client_allow does not hold {}.",
            packet.tuple.src
        ),
        outcome => dropped(outcome),
    };
    let _ = writeln!(answer, "{head}");
    for rule in around {
        let _ = writeln!(answer, "  {rule}");
    }
}

fn dropped(outcome: Outcome) -> String {
    format!("It is dropped ({}): {}", outcome.name(), outcome.describe().trim())
}

fn listed(fields: &[&'static str]) -> String {
    let name = |field: &&'static str| match *field {
        "src" => "source address",
        "sport" => "source port",
        "proto" => "protocol",
        "dst" => "destination address",
        "dport" => "destination port",
        other => other,
    };
    fields.iter().map(name).collect::<Vec<_>>().join(", ")
}
