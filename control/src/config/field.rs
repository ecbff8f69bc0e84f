//! A value with its place: what the checks need to point at it.

use std::ops::Deref;

use serde_json::Value as Json;
use toml::Spanned;
use toml::de::DeValue;

use super::diagnostics::Span;
use super::report::Report;

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// The file.
    Given,
    /// The file does not have the key.
    Default,
    /// The file has something wrong there, already reported; a stand-in lets the checks go on.
    Broken,
}

/// A value, the key that it stands under, and its place (the table's, where it is a default).
#[derive(Clone, Debug)]
pub(super) struct Field<T> {
    pub(super) value: T,
    pub(super) key: &'static str,
    pub(super) span: Span,
    pub(super) origin: Origin,
}

impl<T> Field<T> {
    /// Whether the file has the key.
    pub(super) fn is_given(&self) -> bool {
        self.origin != Origin::Default
    }

    /// Whether the value is what the file says, or its default.
    pub(super) fn is_sound(&self) -> bool {
        self.origin != Origin::Broken
    }
}

impl<T> Deref for Field<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

/// What can be read from a TOML value, and described by a JSON Schema.
pub(super) trait FromToml: Sized {
    /// Reads the value of `key`; reports what is wrong and gives `None`.
    fn read(
        value: &Spanned<DeValue<'_>>,
        key: &'static str,
        report: &mut Report<'_>,
    ) -> Option<Self>;

    /// Its JSON Schema.
    fn schema() -> Json;
}

impl<T: FromToml> FromToml for Field<T> {
    fn read(
        value: &Spanned<DeValue<'_>>,
        key: &'static str,
        report: &mut Report<'_>,
    ) -> Option<Self> {
        let inner = T::read(value, key, report)?;
        Some(Self { value: inner, key, span: value.span(), origin: Origin::Given })
    }

    fn schema() -> Json {
        T::schema()
    }
}

impl<T: FromToml> FromToml for Vec<T> {
    /// Keeps the good elements: the bad ones are reported, and the file is refused anyway.
    fn read(
        value: &Spanned<DeValue<'_>>,
        key: &'static str,
        report: &mut Report<'_>,
    ) -> Option<Self> {
        let DeValue::Array(array) = value.get_ref() else {
            wrong_type(value, key, "a list, for example [ … ]", report);
            return None;
        };
        Some(array.iter().filter_map(|item| T::read(item, key, report)).collect())
    }

    fn schema() -> Json {
        serde_json::json!({ "type": "array", "items": T::schema() })
    }
}

/// Reports a value that is of another type than the key takes.
pub(super) fn wrong_type(
    value: &Spanned<DeValue<'_>>,
    key: &str,
    allowed: &str,
    report: &mut Report<'_>,
) {
    let found = report.found(&value.span());
    let kind = match value.get_ref().type_str() {
        kind @ ("array" | "integer") => format!("an {kind}"),
        kind => format!("a {kind}"),
    };
    report.error(value.span(), format!("{key} = {found}: {kind}"), format!("allowed: {allowed}"));
}
