//! T-1 to T-7, S-1: every case of `affinity.json` but the proxy's, which its own crate judges.

use std::collections::BTreeSet;

use control::model::{Affinity, Persistence, Profile, TrackingMode};
use control::plan::matrix;
use serde::Deserialize;
use tables::{FieldSet, PacketClass};

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
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    scheme: Scheme,
    affinity: Option<String>,
    mode: Option<TrackingMode>,
    packet: Packet,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Scheme {
    External,
    Internal,
    Azure,
    Proxy,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Packet {
    proto: Proto,
    fragment: bool,
    syn: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expect {
    selection_fields: BTreeSet<String>,
    #[serde(default, deserialize_with = "present")]
    tracking_fields: Option<Option<BTreeSet<String>>>,
    is_new_connection: Option<bool>,
    classify: Option<Classify>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Classify {
    Lookup,
    SynNew,
    Untracked,
}

/// Tells a null, which says "not tracked", from a case that says nothing.
fn present<'de, D: serde::Deserializer<'de>>(
    d: D,
) -> Result<Option<Option<BTreeSet<String>>>, D::Error> {
    Option::deserialize(d).map(Some)
}

#[test]
fn every_case_hashes_tracks_and_opens_as_expected() {
    judge("affinity.json", |case: &Case| match profile(case.input.scheme) {
        Some(profile) => check(profile, &case.input, &case.expect),
        None => Ok(()),
    });
}

fn profile(scheme: Scheme) -> Option<Profile> {
    match scheme {
        Scheme::External => Some(Profile::GcpExternal),
        Scheme::Internal => Some(Profile::GcpInternal),
        Scheme::Azure => Some(Profile::Azure),
        Scheme::Proxy => None,
    }
}

fn check(profile: Profile, input: &Input, expect: &Expect) -> Result<(), String> {
    let affinity = affinity(profile, input.affinity.as_deref())?;
    let mode = input.mode.unwrap_or_default();
    let plan = matrix::compile(profile, affinity, mode, Persistence::default());
    let row = plan.class(packet::class(input.packet.proto, input.packet.fragment));
    let syn_new = input.packet.syn && row.syn_is_new;
    let found = match row.track {
        None => Classify::Untracked,
        Some(_) if syn_new => Classify::SynNew,
        Some(_) => Classify::Lookup,
    };
    same("selection", &names(row.select), &expect.selection_fields)?;
    if let Some(tracking) = &expect.tracking_fields {
        same("tracking", &row.track.map(names), tracking)?;
    }
    if let Some(new) = expect.is_new_connection {
        same("is_new_connection", &(found != Classify::Lookup), &new)?;
    }
    expect.classify.as_ref().map_or(Ok(()), |classify| same("classify", &found, classify))
}

/// `azure` has names of its own for three of the affinities (P-3).
fn affinity(profile: Profile, name: Option<&str>) -> Result<Affinity, String> {
    match (profile, name) {
        (_, None) => Ok(Affinity::default()),
        (Profile::Azure, Some("None" | "Default")) => Ok(Affinity::None),
        (Profile::Azure, Some("Client IP" | "SourceIP")) => Ok(Affinity::ClientIp),
        (Profile::Azure, Some("Client IP and protocol" | "SourceIPProtocol")) => {
            Ok(Affinity::ClientIpProto)
        }
        (_, Some(name)) => serde_json::from_value(name.into()).map_err(|e| e.to_string()),
    }
}

fn names(fields: FieldSet) -> BTreeSet<String> {
    let long = |name| match name {
        "src" => "src_ip",
        "sport" => "src_port",
        "proto" => "protocol",
        "dst" => "dst_ip",
        "dport" => "dst_port",
        other => other,
    };
    fields.names().map(|name| long(name).to_owned()).collect()
}

#[test]
fn only_tcp_and_whole_udp_packets_have_ports() {
    let with_ports: Vec<_> = PacketClass::ALL.into_iter().filter(|c| c.has_ports()).collect();
    assert_eq!(with_ports, [PacketClass::Tcp, PacketClass::Udp]);
}
