//! Idle and draining timeouts (T-8, T-13, P-4).

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::config::field::Field;
use crate::config::file::service::Service;
use crate::config::report::Report;
use crate::config::value::text::Length;
use crate::model::{Affinity, Profile, TrackingMode};

/// Seconds that a removed backend's connections may go on (T-13).
const DRAINING: RangeInclusive<u64> = 0..=3_600;

/// T-8, in seconds.
struct Idle {
    default: u64,
    /// `None`: not configurable.
    bounds: Option<RangeInclusive<u64>>,
}

impl Idle {
    fn of(profile: Profile, affinity: Affinity, mode: TrackingMode) -> Self {
        let five_tuple = matches!(affinity, Affinity::None | Affinity::ClientIpPortProto);
        let (default, bounds) = match profile {
            Profile::GcpExternal => (60, None),
            Profile::GcpInternal if mode == TrackingMode::PerSession && !five_tuple => {
                (600, Some(60..=57_600))
            }
            Profile::GcpInternal => (600, Some(60..=600)),
            Profile::Native | Profile::Azure => (600, Some(1..=86_400)),
        };
        Self { default, bounds }
    }
}

/// The idle timeout in force.
pub(super) fn idle(raw: &Service, profile: Profile, report: &mut Report<'_>) -> Duration {
    let (affinity, mode) = (*raw.session_affinity, *raw.tracking_mode);
    let limits = Idle::of(profile, affinity, mode);
    let Some(given) = &raw.idle_timeout else { return Duration::from_secs(limits.default) };
    // The bounds hang on these two: with one of them wrong there is nothing to judge by.
    if raw.session_affinity.is_sound() && raw.tracking_mode.is_sound() {
        refuse_idle(given, raw, &limits, report);
    }
    given.0
}

fn refuse_idle(given: &Field<Length>, raw: &Service, limits: &Idle, report: &mut Report<'_>) {
    let profile = super::profile::name(*raw.profile);
    match &limits.bounds {
        None => {
            let why = format!("profile \"{profile}\" does not take this key");
            report.refuse(given, &why, format!("leave it out: it is {} s", limits.default));
        }
        Some(bounds) if !given.within(bounds) => {
            let place = match *raw.profile {
                super::profile::INTERNAL => format!(
                    " in {} with {}",
                    super::profile::word(&*raw.tracking_mode),
                    super::profile::word(&*raw.session_affinity)
                ),
                _ => String::new(),
            };
            let why = format!("out of bounds for profile \"{profile}\"{place}");
            let allowed = format!("allowed: {} s to {} s", bounds.start(), bounds.end());
            report.refuse(given, &why, allowed);
        }
        Some(_) => {}
    }
}

/// The draining timeout, in every profile.
pub(super) fn draining(raw: &Service, report: &mut Report<'_>) -> Duration {
    let timeout = &raw.connection_draining_timeout;
    if !timeout.within(&DRAINING) {
        report.refuse(timeout, "out of bounds", "allowed: 0 s to 3600 s");
    }
    timeout.0
}
