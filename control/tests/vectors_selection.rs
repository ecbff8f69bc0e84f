//! S-1 to S-4, Z-1, W-1: every case of `selection.json`.

use std::collections::BTreeMap;

use control::model::{Affinity, Role, ZonalAffinity};
use control::plan::matrix;
use control::policy::{Member, eligible::Eligible, weights, zonal};
use serde::Deserialize;
use serde::de::IgnoredAny;
use tables::maglev::{self, Maglev};
use tables::{FieldSet, Flow, HashSeed, PacketClass, ZoneId};

#[path = "common/judge.rs"]
mod judge;
use judge::{judge, same};

const SEED: HashSeed = HashSeed(*b"conformance seed");
const SIZE: u32 = 65537;
const KEYS: u16 = 40_000;

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum Case {
    Share(Of<Set, BTreeMap<String, (u64, u64)>>),
    Property(Of<Name, Property>),
    ZonalStep(Of<Step, Applies>),
    WeightHeader(Of<Header, Weight>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Of<Input, Expect> {
    #[serde(rename = "id")]
    _id: String,
    #[serde(rename = "note", default)]
    _note: IgnoredAny,
    input: Input,
    expect: Expect,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Set {
    eligible: Vec<Backend>,
    weighted: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Backend {
    id: String,
    weight: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Name {
    name: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Property {
    #[serde(rename = "property")]
    _in_words: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    zonal_affinity_enabled: bool,
    client_compatible: bool,
    zonal_match: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Applies {
    step_applies: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    header: String,
    value: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Weight {
    weight: Option<u16>,
}

#[test]
fn every_case_of_selection_holds() {
    judge("selection.json", |case: &Case| match case {
        Case::Share(case) => share(&case.input, &case.expect),
        Case::Property(case) => property(&case.input.name),
        Case::ZonalStep(case) => zonal_step(&case.input, case.expect.step_applies),
        Case::WeightHeader(case) => weight_header(&case.input, case.expect.weight),
    });
}

/// S-4, within two points over 40,000 connections.
fn share(set: &Set, expect: &BTreeMap<String, (u64, u64)>) -> Result<(), String> {
    let members: Vec<_> = set
        .eligible
        .iter()
        .map(|b| (b.id.as_str(), if set.weighted { b.weight } else { 1 }))
        .collect();
    let chosen = choices(&members);
    same("the number of shares", &expect.len(), &members.len())?;
    for (id, (part, whole)) in expect {
        let count = chosen.iter().filter(|c| *c == id).count() as f64;
        let (found, ideal) = (count / f64::from(KEYS), *part as f64 / *whole as f64);
        if (found - ideal).abs() > 0.02 || (*part == 0 && count > 0.0) {
            return Err(format!("the share of {id} is {found}, not {ideal}"));
        }
    }
    Ok(())
}

fn property(name: &str) -> Result<(), String> {
    let ten: Vec<_> = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"].map(|id| (id, 10)).into();
    let nine = &ten[..9];
    let with_first = |weight| {
        let mut changed = ten.clone();
        changed[0].1 = weight;
        changed
    };
    match name {
        "minimal-disruption-remove" => mostly_stay(&ten, nine),
        "minimal-disruption-add" => mostly_stay(nine, &ten),
        "minimal-disruption-weight" => {
            [1, 5, 20].into_iter().try_for_each(|weight| mostly_stay(&ten, &with_first(weight)))
        }
        "determinism" | "order-invariance" => {
            let reversed: Vec<_> = ten.iter().rev().copied().collect();
            same("every choice", &choices(&reversed), &choices(&ten))
        }
        "affinity-invariance" => affinity_invariance(),
        other => Err(format!("the property {other:?} is not known")),
    }
}

/// S-3: of the connections whose backend keeps its weight, at most one in twenty moves.
fn mostly_stay(before: &[(&str, u32)], after: &[(&str, u32)]) -> Result<(), String> {
    let unchanged = |id: &str| before.iter().any(|b| b.0 == id && after.contains(b));
    let pairs: Vec<_> = choices(before).into_iter().zip(choices(after)).collect();
    let of_unchanged = pairs.iter().filter(|(was, _)| unchanged(was));
    let (mut all, mut moved) = (0, 0);
    for (was, is) in of_unchanged {
        all += 1;
        // To a backend whose share grew is where some must go.
        moved += usize::from(was != is && unchanged(is));
    }
    if moved * 20 <= all { Ok(()) } else { Err(format!("{moved} of {all} moved needlessly")) }
}

/// A field outside the selection hash never changes the choice, one inside does for somebody.
fn affinity_invariance() -> Result<(), String> {
    for affinity in [
        Affinity::None,
        Affinity::ClientIpPortProto,
        Affinity::ClientIpProto,
        Affinity::ClientIp,
        Affinity::ClientIpNoDestination,
    ] {
        for class in PacketClass::ALL {
            let fields = matrix::selection_fields(affinity, class);
            invariance(fields).map_err(|e| format!("{affinity:?} {class:?}: {e}"))?;
        }
    }
    Ok(())
}

fn invariance(fields: FieldSet) -> Result<(), String> {
    let (maglev, _) = table(&[("a", 1), ("b", 1), ("c", 1), ("d", 1), ("e", 1)]);
    let choice = |flow: Flow| maglev.lookup(flow.selection_hash(fields, &SEED));
    for (i, field) in
        [FieldSet::SRC, FieldSet::SPORT, FieldSet::PROTO, FieldSet::DST, FieldSet::DPORT]
            .into_iter()
            .enumerate()
    {
        let moved = (0..100).any(|step| {
            let changed = |by: u8| std::array::from_fn(|j| if i == j { by } else { 7 });
            choice(flow(changed(step))) != choice(flow(changed(step + 1)))
        });
        same(&format!("the choice depends on {field:?}, which"), &moved, &fields.contains(field))?;
    }
    Ok(())
}

fn flow([src, sport, proto, dst, dport]: [u8; 5]) -> Flow {
    Flow::v4([198, 51, 100, src], [203, 0, 113, dst], proto, sport.into(), dport.into())
}

fn table<'a>(members: &[(&'a str, u32)]) -> (Maglev, Vec<&'a str>) {
    let mut names: Vec<_> = members.iter().map(|(name, _)| *name).collect();
    names.sort_unstable();
    let members: Vec<_> =
        members.iter().map(|(name, weight)| maglev::Member { name, weight: *weight }).collect();
    (Maglev::build(&members, SIZE, &SEED).expect("a table"), names)
}

/// Whom each of 40,000 connections is given to.
fn choices(members: &[(&str, u32)]) -> Vec<String> {
    let (maglev, names) = table(members);
    let hash = |sport: u16| {
        let address = [198, 51, 100, (sport % 251) as u8];
        Flow::v4(address, [203, 0, 113, 10], 6, sport, 443)
            .selection_hash(FieldSet::FIVE_TUPLE, &SEED)
    };
    (0..KEYS).map(|key| names[maglev.lookup(hash(key)).expect("a member")].to_owned()).collect()
}

/// Z-1. A client is compatible when its zone is known; the zone matches when an eligible backend
/// is in it.
fn zonal_step(step: &Step, expected: bool) -> Result<(), String> {
    let client = step.client_compatible.then_some(ZoneId(1));
    let zone = Some(ZoneId(if step.zonal_match { 1 } else { 2 }));
    let member = Member { role: Role::Primary, healthy: true, weight: 1, zone };
    let set = Eligible { members: vec![0], pool: Some(Role::Primary), last_resort: false };
    let kinds = match step.zonal_affinity_enabled {
        false => vec![ZonalAffinity::Disabled],
        true => vec![
            ZonalAffinity::StayWithinZone,
            ZonalAffinity::SpillCrossZone("0.5".parse().expect("a ratio")),
        ],
    };
    kinds.into_iter().try_for_each(|kind| {
        let found = zonal::applies(kind, client, &[member], &set).is_some();
        same(&format!("{kind:?}: step_applies"), &found, &expected)
    })
}

fn weight_header(header: &Header, expected: Option<u16>) -> Result<(), String> {
    same("the header", &header.header.as_str(), &weights::HEADER)?;
    let mut weight = weights::HeaderWeight::default();
    weight.observe(header.value.as_deref().map(str::as_bytes));
    same("the weight", &weight.last_good(), &expected)
}
