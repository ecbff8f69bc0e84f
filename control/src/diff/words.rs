//! The answer as text.

use std::fmt::Write;

use super::{Becomes, Cut, Diff, ServiceDiff, Setting, Told, Traffic};
use crate::model::Ports;
use crate::model::written::toml;

/// The whole answer; one line where nothing differs.
pub(super) fn words(diff: &Diff) -> String {
    if diff.is_empty() {
        return "The two files say the same: a reload would change nothing.\n".into();
    }
    let mut text = String::new();
    if !diff.restart_needed.is_empty() {
        text += "A reload would be REFUSED: these need a restart (R-5)\n";
        for setting in &diff.restart_needed {
            let _ = writeln!(text, "  {setting}");
        }
    }
    section(&mut text, "Settings", &diff.settings);
    for (name, settings) in &diff.rules {
        section(&mut text, &format!("Rule {name}"), settings);
    }
    for (name, service) in &diff.services {
        of_service(&mut text, name, service);
    }
    if diff.services.values().any(tells_shares) {
        text += ASSUMED;
    }
    text
}

const ASSUMED: &str = "\
Shares are exact over the slots of the Maglev tables, for the case that every backend is healthy
and no check has given a weight; established connections are taken to be spread as the old file
spreads new ones.\n";

fn tells_shares(service: &ServiceDiff) -> bool {
    service.new_connections_moved.is_some()
        || !service.moved_by_zone.is_empty()
        || !service.established_cut.is_empty()
}

fn section(text: &mut String, title: &str, settings: &[Setting]) {
    if !settings.is_empty() {
        let _ = writeln!(text, "{title}");
        settings.iter().for_each(|setting| line(text, setting));
    }
}

fn line(text: &mut String, setting: &Setting) {
    let key = &setting.key;
    let _ = match (setting.old.as_ref().map(shown), setting.new.as_ref().map(shown)) {
        (None, Some(new)) => writeln!(text, "  + {key}: {new}"),
        (Some(old), None) => writeln!(text, "  - {key}: {old}"),
        (old, new) => {
            let or_nothing = |told: Option<String>| told.unwrap_or_else(|| "nothing".into());
            writeln!(text, "  ~ {key}: {} → {}", or_nothing(old), or_nothing(new))
        }
    };
}

fn shown(told: &Told) -> String {
    match told {
        Told::Value(value) => toml(value),
        Told::Words(words) => words.clone(),
    }
}

fn of_service(text: &mut String, name: &str, service: &ServiceDiff) {
    let _ = writeln!(text, "Service {name}");
    service.settings.iter().chain(&service.backends).for_each(|setting| line(text, setting));
    service.traffic.iter().for_each(|traffic| lost(text, traffic));
    if !service.traffic.is_empty() {
        text.push_str("  of what its rules still take:\n");
    }
    let expected = if service.hash_changes { " (the hash changes; expected share)" } else { "" };
    let moved = service.new_connections_moved.unwrap_or(0.0);
    let _ = writeln!(text, "  new connections that go elsewhere: {}{expected}", percent(moved));
    for (zone, share) in &service.moved_by_zone {
        let _ = writeln!(text, "    of clients in zone {zone}: {}", percent(*share));
    }
    let total = service.established_cut.iter().fold(0.0, |sum, cut| sum + cut.share);
    let _ = writeln!(text, "  established connections that end: {}", percent(total));
    service.established_cut.iter().for_each(|cut| ends(text, cut));
}

/// What a rule no longer brings.
fn lost(text: &mut String, traffic: &Traffic) {
    let Traffic { rule, address, protocol, why, .. } = traffic;
    let by = traffic.by_rule.as_deref().map(|rule| format!(" by rule {rule}")).unwrap_or_default();
    let becomes = match traffic.becomes {
        Becomes::Service => {
            format!("to service {}{by}", traffic.service.as_deref().unwrap_or_default())
        }
        Becomes::VipNoRule => "dropped (vip_no_rule)".into(),
        Becomes::Host => "to the host".into(),
        Becomes::ClientDenied => format!("dropped (client_denied){by} for some clients"),
    };
    let ports = ports(&traffic.ports);
    let _ = writeln!(text, "  rule {rule}: {address}, {protocol}, {ports}: {becomes}");
    let _ = match traffic.established_cut {
        Some(cut) => {
            writeln!(
                text,
                "    {} of these established connections end, at once: {why}",
                percent(cut)
            )
        }
        None => writeln!(text, "    their established connections end, at once: {why}"),
    };
}

/// `port 443`, `ports 80, 8000-8100` or `all ports`.
pub(crate) fn ports(ports: &Ports) -> String {
    let range = |(first, last): &(u16, u16)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    match ports {
        Ports::All => "all ports".into(),
        Ports::Ranges(ranges) => {
            let one = matches!(**ranges, [(first, last)] if first == last);
            let listed = ranges.iter().map(range).collect::<Vec<_>>().join(", ");
            format!("{} {listed}", if one { "port" } else { "ports" })
        }
    }
}

fn ends(text: &mut String, cut: &Cut) {
    let when = match cut.after_seconds {
        0.0 => "at once".to_owned(),
        seconds => format!("after {seconds} s"),
    };
    let _ = writeln!(text, "    {} on {}, {when}: {}", percent(cut.share), cut.backend, cut.why);
}

fn percent(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}
