//! The answer as text.

use std::fmt::Write;

use super::{Cut, Diff, ServiceDiff, Setting};

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
    let _ = match (&setting.old, &setting.new) {
        (None, Some(new)) => writeln!(text, "  + {key}: {new}"),
        (Some(old), None) => writeln!(text, "  - {key}: {old}"),
        (old, new) => writeln!(text, "  ~ {key}: {} → {}", shown(old), shown(new)),
    };
}

fn shown(value: &Option<String>) -> &str {
    value.as_deref().unwrap_or("nothing")
}

fn of_service(text: &mut String, name: &str, service: &ServiceDiff) {
    let _ = writeln!(text, "Service {name}");
    service.settings.iter().chain(&service.backends).for_each(|setting| line(text, setting));
    let expected = if service.hash_changes { " (the hash changes; expected share)" } else { "" };
    let moved = service.new_connections_moved.unwrap_or(0.0);
    let _ = writeln!(text, "  new connections that go elsewhere: {}{expected}", percent(moved));
    for (zone, share) in &service.moved_by_zone {
        let _ = writeln!(text, "    of clients in zone {zone}: {}", percent(*share));
    }
    let total: f64 = service.established_cut.iter().map(|cut| cut.share).sum();
    let _ = writeln!(text, "  established connections that end: {}", percent(total));
    service.established_cut.iter().for_each(|cut| ends(text, cut));
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
