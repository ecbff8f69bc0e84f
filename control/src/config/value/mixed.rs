//! What is a word or a number; and the table of neighbours.

use std::net::IpAddr;

use serde_json::{Value as Json, json};
use tables::Mac;
use toml::Spanned;
use toml::de::DeValue;

use crate::config::diagnostics::Span;
use crate::config::field::{Field, FromToml, Origin, wrong_type};
use crate::config::report::Report;
use crate::model::{Dscp, GreKey};

/// A whole number within `0..=max`; anything else is `None`.
fn number(value: &DeValue<'_>, max: u32) -> Option<u32> {
    let integer = value.as_integer()?;
    let number = u32::from_str_radix(integer.as_str(), integer.radix()).ok()?;
    (number <= max).then_some(number)
}

/// Reports a value that is none of what is allowed.
fn neither(value: &Spanned<DeValue<'_>>, key: &str, allowed: &str, report: &mut Report<'_>) {
    let message = format!("{key} = {}: not a value of this key", report.found(&value.span()));
    report.error(value.span(), message, format!("allowed: {allowed}"));
}

/// One of two words, or a number within `0..=max`; anything else is reported.
fn word_or_number<T: Copy>(
    value: &Spanned<DeValue<'_>>,
    key: &str,
    words: [(&str, T); 2],
    max: u32,
    of_number: impl Fn(u32) -> T,
    report: &mut Report<'_>,
) -> Option<T> {
    let text = value.get_ref().as_str();
    let word = words.iter().find(|(word, _)| text == Some(*word)).map(|(_, meaning)| *meaning);
    let read = word.or_else(|| number(value.get_ref(), max).map(of_number));
    if read.is_none() {
        let [(one, _), (other, _)] = words;
        let allowed = format!("\"{one}\", \"{other}\", or a number from 0 to {max}");
        neither(value, key, &allowed, report);
    }
    read
}

impl FromToml for GreKey {
    fn read(
        value: &Spanned<DeValue<'_>>,
        key: &'static str,
        report: &mut Report<'_>,
    ) -> Option<Self> {
        let words = [("none", Self::None), ("service", Self::Service)];
        word_or_number(value, key, words, u32::MAX, Self::Number, report)
    }

    fn schema() -> Json {
        json!({ "anyOf": [
            { "enum": ["none", "service"] },
            { "type": "integer", "minimum": 0, "maximum": u32::MAX },
        ] })
    }
}

impl FromToml for Dscp {
    fn read(
        value: &Spanned<DeValue<'_>>,
        key: &'static str,
        report: &mut Report<'_>,
    ) -> Option<Self> {
        let words = [("copy", Self::Copy), ("zero", Self::Zero)];
        word_or_number(value, key, words, 63, |n| Self::Number(n as u8), report)
    }

    fn schema() -> Json {
        json!({ "anyOf": [
            { "enum": ["copy", "zero"] },
            { "type": "integer", "minimum": 0, "maximum": 63 },
        ] })
    }
}

/// `ports` as it is written (F-2).
#[derive(Clone, Debug)]
pub(in crate::config) enum PortList {
    /// `"ALL"`
    All,
    /// Single ports and ranges.
    Listed(Vec<Field<PortRange>>),
}

/// A single port, or a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::config) struct PortRange {
    pub(in crate::config) first: u16,
    pub(in crate::config) last: u16,
}

const PORTS: &str = "\"ALL\", or a list of up to five ports, or of ranges, for example [80, 443] or [\"8000-8100\"]";

impl FromToml for PortList {
    fn read(
        value: &Spanned<DeValue<'_>>,
        key: &'static str,
        report: &mut Report<'_>,
    ) -> Option<Self> {
        match value.get_ref() {
            DeValue::String(word) if word == "ALL" => Some(Self::All),
            DeValue::Array(_) => {
                let before = report.errors();
                let listed = FromToml::read(value, key, report).map(Self::Listed);
                // With an element missing, what follows from the rest would mislead.
                listed.filter(|_| report.errors() == before)
            }
            DeValue::String(_) => {
                neither(value, key, PORTS, report);
                None
            }
            _ => {
                wrong_type(value, key, PORTS, report);
                None
            }
        }
    }

    fn schema() -> Json {
        json!({ "anyOf": [
            { "const": "ALL" },
            { "type": "array", "minItems": 1, "items": PortRange::schema() },
        ] })
    }
}

impl FromToml for PortRange {
    fn read(
        value: &Spanned<DeValue<'_>>,
        key: &'static str,
        report: &mut Report<'_>,
    ) -> Option<Self> {
        let port = |text: &str| {
            // The standard library takes "+80" for a number; the schema does not.
            let digits = text.trim();
            digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse::<u16>().ok())?
        };
        let range = match value.get_ref() {
            DeValue::String(text) => match text.split_once('-') {
                Some((first, last)) => port(first).zip(port(last)),
                None => port(text).map(|port| (port, port)),
            },
            other => number(other, u32::from(u16::MAX)).map(|n| (n as u16, n as u16)),
        };
        match range {
            Some((first @ 1.., last)) if first <= last => Some(Self { first, last }),
            _ => {
                neither(value, key, "a port from 1 to 65535, or a range \"FIRST-LAST\"", report);
                None
            }
        }
    }

    fn schema() -> Json {
        json!({ "anyOf": [
            { "type": "integer", "minimum": 1, "maximum": 65535 },
            { "type": "string", "pattern": "^[0-9]+(-[0-9]+)?$" },
        ] })
    }
}

/// `neighbours`: address = Ethernet address.
#[derive(Clone, Debug, Default)]
pub(in crate::config) struct Neighbours(pub(in crate::config) Vec<(Field<IpAddr>, Mac)>);

impl FromToml for Neighbours {
    fn read(
        value: &Spanned<DeValue<'_>>,
        key: &'static str,
        report: &mut Report<'_>,
    ) -> Option<Self> {
        let DeValue::Table(table) = value.get_ref() else {
            wrong_type(
                value,
                key,
                "a table, for example { \"10.0.0.1\" = \"02:00:00:00:00:01\" }",
                report,
            );
            return None;
        };
        let read = |(name, mac): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
            let address = neighbour_address(name, key, report);
            Some((address?, Mac::read(mac, key, report)?))
        };
        Some(Self(table.iter().filter_map(read).collect()))
    }

    fn schema() -> Json {
        json!({ "type": "object", "additionalProperties": Mac::schema() })
    }
}

fn neighbour_address(
    name: &Spanned<std::borrow::Cow<'_, str>>,
    key: &'static str,
    report: &mut Report<'_>,
) -> Option<Field<IpAddr>> {
    let span: Span = name.span();
    match name.get_ref().parse() {
        Ok(value) => Some(Field { value, key, span, origin: Origin::Given }),
        Err(_) => {
            let message = format!("{key}: {} is not an IP address", report.found(&span));
            report.error(span, message, "allowed: an IPv4 or IPv6 address as the key".into());
            None
        }
    }
}
