//! When events happen.

use std::time::Duration;

use super::fault::Fault;
use super::{Event, LONGEST};

const ALLOWED: &str =
    "allowed: a whole number with a unit of ms, s, m or h, for example \"90s\" or \"1500ms\"";

/// Reads `at`: the configuration's durations.
pub(super) fn parse(text: &str) -> Result<Duration, String> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let factor = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err(format!("at = {text:?} is no time; {ALLOWED}")),
    };
    let number: u64 = number.parse().map_err(|_| format!("at = {text:?} is no time; {ALLOWED}"))?;
    let at = Duration::from_millis(number.saturating_mul(factor));
    if at > LONGEST {
        let days = LONGEST.as_secs() / (24 * 3600);
        return Err(format!("at = {text:?} is too late: a scenario lasts at most {days} days"));
    }
    Ok(at)
}

/// Time never goes back.
pub(super) fn check_order(events: &mut [Event], faults: &mut Vec<Fault>) {
    for pair in events.windows(2) {
        let [before, event] = pair else { continue };
        if event.at < before.at {
            let message = format!(
                "at = {:?} goes back in time: event {} is at {:?}; events run in order",
                event.at_text, before.number, before.at_text
            );
            faults.push(Fault { place: event.place, event: Some(event.number), message });
        }
    }
}
