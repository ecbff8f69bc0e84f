//! Tables of the file: one field list makes the type, its reader and its JSON Schema, so that
//! none of the three can differ from the others.

use serde_json::{Map, Value as Json};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::diagnostics::Span;
use super::field::{Field, FromToml, Origin, wrong_type};
use super::nearest::nearest;
use super::report::Report;

/// Declares a table: `"label"`, then fields of four kinds.
///
/// - `required key: T = stand_in`: must be there; the stand-in lets the checks go on without it;
/// - `default key: T = toml`: the default is written as TOML;
/// - `optional key: T`: may be absent, and that means something of its own;
/// - `inner key: T`: a table or a list of tables that is empty where it is absent.
macro_rules! config_table {
    (
        $(#[doc = $doc:literal])*
        $label:literal struct $name:ident {
            $( $(#[doc = $fdoc:literal])* $kind:ident $field:ident : $ty:ty $(= $default:tt)? ),* $(,)?
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Clone, Debug)]
        pub(in crate::config) struct $name {
            $( $(#[doc = $fdoc])*
            pub(in crate::config) $field: $crate::config::table::config_table!(@type $kind $ty), )*
        }

        impl $crate::config::field::FromToml for $name {
            fn read(
                value: &toml::Spanned<toml::de::DeValue<'_>>,
                key: &'static str,
                report: &mut $crate::config::report::Report<'_>,
            ) -> Option<Self> {
                let keys = &[$(stringify!($field)),*];
                let mut table = $crate::config::table::TableReader::new(value, key, $label, keys, report)?;
                let read = Self {
                    $( $field: table.$kind(stringify!($field) $(, stringify!($default))?), )*
                };
                table.finish();
                Some(read)
            }

            fn schema() -> serde_json::Value {
                let mut schema = $crate::config::table::TableSchema::new(concat!($($doc),*));
                $( schema.$kind(
                    stringify!($field),
                    concat!($($fdoc),*),
                    <$ty as $crate::config::field::FromToml>::schema()
                    $(, stringify!($default))?
                ); )*
                schema.finish()
            }
        }
    };
    (@type optional $ty:ty) => { Option<$crate::config::field::Field<$ty>> };
    (@type inner $ty:ty) => { $ty };
    (@type $kind:ident $ty:ty) => { $crate::config::field::Field<$ty> };
}
pub(super) use config_table;

/// Reads one table, key by key.
pub(super) struct TableReader<'a, 'r, 't> {
    table: &'a DeTable<'a>,
    span: Span,
    report: &'r mut Report<'t>,
}

impl<'a, 'r, 't> TableReader<'a, 'r, 't> {
    /// Enters the table, named by its `name` where it has one, and reports unknown keys.
    pub(super) fn new(
        value: &'a Spanned<DeValue<'a>>,
        key: &'static str,
        label: &str,
        keys: &[&'static str],
        report: &'r mut Report<'t>,
    ) -> Option<Self> {
        let DeValue::Table(table) = value.get_ref() else {
            wrong_type(value, key, &format!("a table with the keys {}", keys.join(", ")), report);
            return None;
        };
        report.enter(place(label, table));
        for (key, _) in table.iter().filter(|(key, _)| !keys.contains(&key.get_ref().as_ref())) {
            unknown_key(key, keys, report);
        }
        Some(Self { table, span: value.span(), report })
    }

    pub(super) fn required<T: FromToml>(&mut self, key: &'static str, stand_in: &str) -> Field<T> {
        if !self.table.contains_key(key) {
            self.report.error(self.span.clone(), format!("{key} is missing"), String::new());
            return self.stand_in(key, stand_in, Origin::Broken);
        }
        self.default(key, stand_in)
    }

    pub(super) fn default<T: FromToml>(&mut self, key: &'static str, default: &str) -> Field<T> {
        let Some(value) = self.table.get(key) else {
            return self.stand_in(key, default, Origin::Default);
        };
        match Field::read(value, key, self.report) {
            Some(field) => field,
            None => self.stand_in(key, default, Origin::Broken),
        }
    }

    fn stand_in<T: FromToml>(&self, key: &'static str, toml: &str, origin: Origin) -> Field<T> {
        Field { value: from_toml_text(key, toml), key, span: self.span.clone(), origin }
    }

    pub(super) fn optional<T: FromToml>(&mut self, key: &'static str) -> Option<Field<T>> {
        Field::read(self.table.get(key)?, key, self.report)
    }

    pub(super) fn inner<T: FromToml>(&mut self, key: &'static str, empty: &str) -> T {
        let read = self.table.get(key).and_then(|value| T::read(value, key, self.report));
        read.unwrap_or_else(|| from_toml_text(key, empty))
    }

    pub(super) fn finish(self) {
        self.report.leave();
    }
}

/// A default as the field list has it. Loading an empty file reads all of them, so a wrong one
/// does not survive the tests.
fn from_toml_text<T: FromToml>(key: &'static str, toml: &str) -> T {
    let value = DeValue::parse(toml).expect("a default of the field list is TOML");
    T::read(&value, key, &mut Report::new(toml)).expect("a default of the field list is valid")
}

/// A table that the file does not have: every default.
pub(super) fn defaults<T: FromToml>() -> T {
    from_toml_text("", "{}")
}

fn place(label: &str, table: &DeTable<'_>) -> String {
    match table.get("name").and_then(|name| name.get_ref().as_str()) {
        Some(name) => format!("{label} {name:?}"),
        None => label.to_owned(),
    }
}

fn unknown_key(key: &Spanned<std::borrow::Cow<'_, str>>, keys: &[&str], report: &mut Report<'_>) {
    let suggestion = nearest(key.get_ref(), keys.iter().copied())
        .map(|near| format!("did you mean {near}? "))
        .unwrap_or_default();
    report.error(
        key.span(),
        format!("{} is not a key of this table", report.found(&key.span())),
        format!("{suggestion}allowed: {}", keys.join(", ")),
    );
}

/// Builds the JSON Schema of one table.
pub(super) struct TableSchema {
    description: &'static str,
    properties: Map<String, Json>,
    required: Vec<Json>,
}

impl TableSchema {
    pub(super) fn new(description: &'static str) -> Self {
        Self { description: description.trim(), properties: Map::new(), required: Vec::new() }
    }

    pub(super) fn required(&mut self, key: &str, doc: &str, schema: Json, _stand_in: &str) {
        self.required.push(key.into());
        self.property(key, doc, schema);
    }

    pub(super) fn default(&mut self, key: &str, doc: &str, schema: Json, default: &str) {
        let value = DeValue::parse(default).expect("a default of the field list is TOML");
        self.property(key, doc, schema).insert("default".into(), json(value.get_ref()));
    }

    pub(super) fn optional(&mut self, key: &str, doc: &str, schema: Json) {
        self.property(key, doc, schema);
    }

    pub(super) fn inner(&mut self, key: &str, doc: &str, schema: Json, _empty: &str) {
        self.property(key, doc, schema);
    }

    /// Adds a property; the field's own words come before its type's.
    fn property(&mut self, key: &str, doc: &str, schema: Json) -> &mut Map<String, Json> {
        let mut schema = match schema {
            Json::Object(object) => object,
            other => Map::from_iter([("const".to_owned(), other)]),
        };
        schema.insert("description".into(), doc.trim().into());
        let entry = self.properties.entry(key).or_insert(Json::Null);
        *entry = Json::Object(schema);
        entry.as_object_mut().expect("an object was just put there")
    }

    pub(super) fn finish(self) -> Json {
        serde_json::json!({
            "type": "object",
            "description": self.description,
            "properties": self.properties,
            "required": self.required,
            "additionalProperties": false,
        })
    }
}

/// A default for the schema; the field lists hold no dates and no floats beyond 0.0 to 1.0.
fn json(value: &DeValue<'_>) -> Json {
    match value {
        DeValue::String(text) => text.as_ref().into(),
        DeValue::Boolean(on) => (*on).into(),
        DeValue::Integer(i) => i.as_str().parse::<i64>().map_or(Json::Null, Json::from),
        DeValue::Float(f) => f.as_str().parse::<f64>().map_or(Json::Null, Json::from),
        DeValue::Array(items) => items.iter().map(|item| json(item.get_ref())).collect(),
        DeValue::Table(table) => {
            table.iter().map(|(k, v)| (k.get_ref().to_string(), json(v.get_ref()))).collect()
        }
        DeValue::Datetime(date) => date.to_string().into(),
    }
}
