//! Booleans, integers within bounds, exact ratios.

use serde_json::{Value as Json, json};
use toml::Spanned;
use toml::de::DeValue;

use crate::config::field::{FromToml, wrong_type};
use crate::config::report::Report;
use crate::model::Ratio;

impl FromToml for bool {
    fn read(
        value: &Spanned<DeValue<'_>>,
        key: &'static str,
        report: &mut Report<'_>,
    ) -> Option<Self> {
        let read = value.get_ref().as_bool();
        if read.is_none() {
            wrong_type(value, key, "true or false", report);
        }
        read
    }

    fn schema() -> Json {
        json!({ "type": "boolean" })
    }
}

/// An integer from `LOW` to `HIGH`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::config) struct Int<const LOW: i64, const HIGH: i64>(i64);

impl<const LOW: i64, const HIGH: i64> Int<LOW, HIGH> {
    /// The value, in a type that holds `HIGH`.
    pub(in crate::config) fn get<T: TryFrom<i64> + Default>(self) -> T {
        debug_assert!(T::try_from(HIGH).is_ok() && T::try_from(LOW).is_ok());
        T::try_from(self.0).unwrap_or_default()
    }
}

impl<const LOW: i64, const HIGH: i64> FromToml for Int<LOW, HIGH> {
    fn read(
        value: &Spanned<DeValue<'_>>,
        key: &'static str,
        report: &mut Report<'_>,
    ) -> Option<Self> {
        let DeValue::Integer(integer) = value.get_ref() else {
            wrong_type(value, key, &format!("a whole number from {LOW} to {HIGH}"), report);
            return None;
        };
        // What does not fit is out of bounds as well.
        let number = i64::from_str_radix(integer.as_str(), integer.radix());
        if let Some(number) = number.ok().filter(|number| (LOW..=HIGH).contains(number)) {
            return Some(Self(number));
        }
        let found = report.found(&value.span());
        let message = format!("{key} = {found}: out of bounds");
        report.error(value.span(), message, format!("allowed: {LOW} to {HIGH}"));
        None
    }

    fn schema() -> Json {
        json!({ "type": "integer", "minimum": LOW, "maximum": HIGH })
    }
}

impl FromToml for Ratio {
    /// From the number's own text, so that 0.07 is 7 of 100 exactly (E-7).
    fn read(
        value: &Spanned<DeValue<'_>>,
        key: &'static str,
        report: &mut Report<'_>,
    ) -> Option<Self> {
        let text = match value.get_ref() {
            DeValue::Float(float) => float.as_str(),
            DeValue::Integer(integer) if integer.radix() == 10 => integer.as_str(),
            _ => {
                wrong_type(value, key, "a number from 0.0 to 1.0", report);
                return None;
            }
        };
        match text.parse() {
            Ok(ratio) => Some(ratio),
            Err(error) => {
                let found = report.found(&value.span());
                let message = format!("{key} = {found}: {error}");
                report.error(value.span(), message, "allowed: 0.0 to 1.0".into());
                None
            }
        }
    }

    fn schema() -> Json {
        json!({ "type": "number", "minimum": 0.0, "maximum": 1.0 })
    }
}
