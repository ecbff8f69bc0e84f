//! One word of several: the enums of the model and of the file.
//!
//! The words and their meaning come from the enum's own JSON Schema, so that the message, the
//! schema and the reader list the same.

use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error as SerdeError, StrDeserializer};
use serde_json::Value as Json;
use toml::Spanned;
use toml::de::DeValue;

use crate::config::field::{FromToml, wrong_type};
use crate::config::nearest::nearest;
use crate::config::report::Report;

/// Makes enums with serde's and schemars' derives readable from the file.
macro_rules! choices {
    ($($name:ty),* $(,)?) => { $(
        impl $crate::config::field::FromToml for $name {
            fn read(
                value: &toml::Spanned<toml::de::DeValue<'_>>,
                key: &'static str,
                report: &mut $crate::config::report::Report<'_>,
            ) -> Option<Self> {
                $crate::config::value::choice::read(value, key, report)
            }

            fn schema() -> serde_json::Value {
                let mut schema = schemars::schema_for!($name).to_value();
                if let Some(object) = schema.as_object_mut() {
                    object.remove("$schema");
                    object.remove("title");
                }
                schema
            }
        }
    )* };
}

use crate::config::file;
choices!(
    crate::model::AnnounceVips,
    crate::model::BondMode,
    crate::model::Hugepages,
    crate::model::Idle,
    crate::model::Affinity,
    crate::model::TrackingMode,
    crate::model::Persistence,
    crate::model::CheckProtocol,
    crate::model::CheckTarget,
    crate::model::EncapsulationKind,
    crate::model::Role,
    crate::model::RuleProtocol,
    file::service::Profile,
    file::service::Distribution,
    file::service::LocalityPolicy,
    file::service::InitialHealth,
    file::service::Spillover,
    file::proxy::ProxyProtocol,
    file::proxy::Tlv,
    file::proxy::BalancingMode,
);

/// Reads one word; what is wrong lists all of them.
pub(in crate::config) fn read<T: FromToml + for<'de> Deserialize<'de>>(
    value: &Spanned<DeValue<'_>>,
    key: &'static str,
    report: &mut Report<'_>,
) -> Option<T> {
    let words = words(&T::schema());
    let Some(text) = value.get_ref().as_str() else {
        wrong_type(value, key, &words.join(", "), report);
        return None;
    };
    let deserializer: StrDeserializer<'_, SerdeError> = text.into_deserializer();
    if let Ok(read) = T::deserialize(deserializer) {
        return Some(read);
    }
    let plain = words.iter().map(|word| word.trim_matches('"'));
    let meant = nearest(text, plain).map(|word| format!("did you mean \"{word}\"? "));
    let message = format!("{key} = {}: not a value of this key", report.found(&value.span()));
    let help = format!("{}allowed: {}", meant.unwrap_or_default(), words.join(", "));
    report.error(value.span(), message, help);
    None
}

/// The words of an enum's schema, quoted: plain ones are listed in `enum`, described ones stand
/// in `oneOf` as `const`.
fn words(schema: &Json) -> Vec<String> {
    let list = |key: &str| schema[key].as_array().cloned().unwrap_or_default();
    let described = list("oneOf").into_iter().flat_map(|one| match &one["enum"] {
        Json::Array(words) => words.clone(),
        _ => vec![one["const"].clone()],
    });
    list("enum").into_iter().chain(described).map(|word| word.to_string()).collect()
}
