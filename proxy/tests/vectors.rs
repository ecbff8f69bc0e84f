//! The proxy's part of the conformance vectors: to X-14 (`sni.json`), X-8
//! (`zone.json`), X-6 (`affinity.json`).

use std::collections::{BTreeMap, BTreeSet};

use proxy::affinity::Affinity;
use proxy::sni::{Close, Match, Opening, RouteTable, Target, TlsRoute};
use proxy::zone::{self, Share, Zone};
use serde::Deserialize;
use serde::de::IgnoredAny;

#[path = "../../control/tests/common/judge.rs"]
mod judge;
use judge::{judge, same};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SniCase {
    #[serde(rename = "id")]
    _id: String,
    #[serde(rename = "note", default)]
    _note: IgnoredAny,
    kind: Option<SniKind>,
    input: SniInput,
    expect: SniExpect,
    #[serde(default)]
    reason_is_informational: bool,
}

#[derive(Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum SniKind {
    Config,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SniInput {
    routes: Vec<SniRoute>,
    default_service: Option<String>,
    host: Option<String>,
    tls: Option<bool>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct SniRoute {
    name: String,
    sni: Vec<String>,
    services: Vec<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum SniExpect {
    Config(ConfigExpect),
    Decision(Decision),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ConfigExpect {
    config_ok: bool,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(tag = "action", rename_all = "lowercase", deny_unknown_fields)]
enum Decision {
    Route { route: Option<String>, sni: Option<String>, services: Vec<String> },
    Close { reason: String },
}

#[test]
fn every_case_of_sni_is_routed_or_closed_as_expected() {
    judge("sni.json", |case: &SniCase| {
        let target = target(&case.input);
        match (case.kind, &case.expect, target) {
            (Some(SniKind::Config), SniExpect::Config(expect), target) => {
                same("config_ok", &target.is_ok(), &expect.config_ok)
            }
            (None, SniExpect::Decision(expect), Ok(target)) => decision(case, &target, expect),
            (None, SniExpect::Decision(_), Err(error)) => Err(error),
            _ => Err("neither a configuration nor a connection".into()),
        }
    });
}

fn target(input: &SniInput) -> Result<Target, String> {
    let route = |r: &SniRoute| TlsRoute {
        name: r.name.clone(),
        sni: r.sni.clone(),
        services: r.services.clone(),
    };
    match (&input.default_service, &*input.routes) {
        (Some(_), [_, ..]) | (None, []) => Err("one service or TLS routes (X-3)".into()),
        (Some(service), []) => Ok(Target::Service(service.clone())),
        (None, routes) => RouteTable::new(routes.iter().map(route).collect())
            .map(Target::Routes)
            .map_err(|errors| format!("{errors:?}")),
    }
}

fn decision(case: &SniCase, target: &Target, expect: &Decision) -> Result<(), String> {
    let opening = match (case.input.tls, &case.input.host) {
        (Some(true), Some(host)) => Opening::Sni(host.as_bytes()),
        (Some(true), None) => Opening::NoSni,
        (Some(false), _) => Opening::NotTls,
        (None, _) => return Err("no word on whether it is TLS".into()),
    };
    let found = match target.services(opening) {
        Ok(services) => routed(services, matched(target, opening)),
        Err(close) => Decision::Close { reason: reason(close).into() },
    };
    match (&found, expect) {
        (Decision::Close { .. }, Decision::Close { .. }) if case.reason_is_informational => Ok(()),
        _ => same("the decision", &found, expect),
    }
}

fn matched<'a>(target: &'a Target, opening: Opening<'_>) -> Option<Match<'a>> {
    match target {
        Target::Service(_) => None,
        Target::Routes(routes) => routes.route(opening).ok(),
    }
}

fn routed(services: &[String], by: Option<Match<'_>>) -> Decision {
    Decision::Route {
        route: by.map(|m| m.route.name.clone()),
        sni: by.map(|m| m.sni.to_owned()),
        services: services.to_vec(),
    }
}

fn reason(close: Close) -> &'static str {
    match close {
        Close::NotTls => "not-tls",
        Close::NoSni => "no-sni",
        Close::InvalidName => "invalid-dns-name",
        Close::NoRoute => "no-match",
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ZoneCase {
    #[serde(rename = "id")]
    _id: String,
    input: ZoneInput,
    expect: ZoneExpect,
    /// With the ratio taken literally, as we take it: exactly 70 % does not spill.
    expect_literal_ratio: ZoneExpect,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ZoneInput {
    zones: BTreeMap<String, ZoneHealth>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ZoneHealth {
    healthy: u32,
    total: u32,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct ZoneExpect {
    terminate: bool,
    spill: BTreeMap<String, bool>,
    targets: BTreeMap<String, BTreeSet<String>>,
}

#[test]
fn every_case_of_zones_spills_as_expected() {
    judge("zone.json", |case: &ZoneCase| {
        let found = zones(&case.input.zones);
        same("the zones' plan", &found, &case.expect)?;
        same("the zones' plan", &found, &case.expect_literal_ratio)
    });
}

fn zones(input: &BTreeMap<String, ZoneHealth>) -> ZoneExpect {
    let names: Vec<_> = input.keys().cloned().collect();
    let healths: Vec<_> =
        input.values().map(|z| Zone { healthy: z.healthy, all: z.total }).collect();
    let plans = zone::plan(&healths);
    // When every connection is closed, none moves.
    let of = |i: usize| plans.as_ref().map(|plans| &plans[i]);
    let targets = |i: usize| of(i).map_or(&[][..], |plan| &plan.targets);
    for plan in plans.iter().flatten() {
        assert_eq!(plan.targets.is_empty(), plan.keeps == Share::ALL);
    }
    ZoneExpect {
        terminate: plans.is_none(),
        spill: names.iter().cloned().zip((0..).map(|i| of(i).is_some_and(|p| p.spills))).collect(),
        targets: (0..names.len())
            .map(|i| {
                let to = targets(i).iter().map(|t| names[*t].clone()).collect();
                (names[i].clone(), to)
            })
            .collect(),
    }
}

#[derive(Deserialize)]
struct AffinityCase {
    input: AffinityInput,
    expect: serde_json::Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AffinityInput {
    scheme: String,
    affinity: Option<String>,
    mode: Option<String>,
    packet: AffinityPacket,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AffinityPacket {
    proto: String,
    fragment: bool,
    #[serde(rename = "syn")]
    _syn: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AffinityExpect {
    selection_fields: BTreeSet<String>,
}

/// The other schemes' cases are judged where their code is, in `control`.
#[test]
fn every_proxy_case_of_affinity_hashes_as_expected() {
    judge("affinity.json", |case: &AffinityCase| match case.input.scheme.as_str() {
        "proxy" => affinity(case),
        "external" | "internal" | "azure" => Ok(()),
        other => Err(format!("the scheme {other:?} is not known")),
    });
}

fn affinity(case: &AffinityCase) -> Result<(), String> {
    let AffinityInput { affinity, mode, packet, .. } = &case.input;
    let affinity = match affinity.as_deref() {
        None | Some("NONE") => Affinity::None,
        Some("CLIENT_IP") => Affinity::ClientIp,
        Some(other) => return Err(format!("the affinity {other:?} is not known")),
    };
    same("the mode", mode, &None)?;
    same("the packet", &(packet.proto.as_str(), packet.fragment), &("tcp", false))?;
    let expect: AffinityExpect =
        serde_json::from_value(case.expect.clone()).map_err(|e| e.to_string())?;
    let long = |name| match name {
        "src" => "src_ip",
        "sport" => "src_port",
        "proto" => "protocol",
        "dst" => "dst_ip",
        "dport" => "dst_port",
        other => other,
    };
    let found = affinity.fields().names().map(|name| long(name).to_owned()).collect();
    same("selection", &found, &expect.selection_fields)
}
