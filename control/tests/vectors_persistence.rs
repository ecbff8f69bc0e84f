//! H-1 to H-4: every case of `persistence.json`.

use control::config::{self, Environment};
use control::model::{Affinity, Persistence, Profile, TrackingMode};
use control::plan::matrix;
use serde::Deserialize;
use serde_json::{Value, json};
use tables::Lifetime;

#[path = "common/judge.rs"]
mod judge;
#[path = "common/packet.rs"]
mod packet;
use judge::{judge, same};
use packet::Proto;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    #[serde(rename = "id")]
    _id: String,
    input: Input,
    expect: Expect,
    #[serde(default)]
    also_accept: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    scheme: Scheme,
    affinity: Affinity,
    mode: TrackingMode,
    persistence: Persistence,
    proto: Proto,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Scheme {
    External,
    Internal,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expect {
    persists: Value,
    trackable: bool,
}

#[test]
fn every_case_persists_as_expected() {
    judge("persistence.json", |case: &Case| {
        let profile = match case.input.scheme {
            Scheme::External => Profile::GcpExternal,
            Scheme::Internal => Profile::GcpInternal,
        };
        let (persists, trackable) = verdict(profile, &case.input);
        same("trackable", &trackable, &case.expect.trackable)?;
        if case.also_accept.contains(&persists) {
            return Ok(());
        }
        same("persists", &persists, &case.expect.persists)
    });
}

/// What a service with these settings does: `persists` in the vectors' words, and trackable.
fn verdict(profile: Profile, input: &Input) -> (Value, bool) {
    let Input { affinity, mode, persistence, .. } = *input;
    let class = packet::class(input.proto, false);
    let trackable = matrix::trackable(profile, affinity, class);
    if !loads(profile, input) {
        return (json!("not-configurable"), trackable);
    }
    let row = *matrix::compile(profile, affinity, mode, persistence).class(class);
    let persists = match row.track {
        None => json!("not-trackable"),
        Some(_) => json!(row.lifetime == Lifetime::Persisting),
    };
    (persists, trackable)
}

/// Whether a configuration with these settings is accepted (H-4).
fn loads(profile: Profile, input: &Input) -> bool {
    let text = format!(
        r#"
        [[service]]
        name = "web"
        profile = {profile}
        session_affinity = {affinity}
        tracking_mode = {mode}
        connection_persistence_on_unhealthy_backends = {persistence}
        [[service.group]]
        name = "g"
        backends = [ {{ name = "b", address = "10.1.0.11" }} ]
        "#,
        profile = json!(profile),
        affinity = json!(input.affinity),
        mode = json!(input.mode),
        persistence = json!(input.persistence),
    );
    let refused = match config::parse("case.toml", &text, &Environment::default()) {
        Ok(_) => return true,
        Err(errors) => errors,
    };
    // Refused for this, and for nothing else.
    let text = refused.render(false);
    assert_eq!(refused.errors(), 1, "{text}");
    assert!(text.contains("connection_persistence_on_unhealthy_backends"), "{text}");
    false
}
