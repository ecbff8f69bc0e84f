//! Values as the file writes them: what messages about settings show.
//!
//! A value is JSON, which has a word for everything that TOML has; [`toml()`] makes TOML of it.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use serde_json::{Value, json};
use tables::Mac;

use super::{
    Affinity, AnnounceVips, BondMode, CheckProtocol, CheckTarget, Dscp, EncapsulationKind, GreKey,
    GueVariant, Hugepages, Idle, Persistence, Ports, Profile, Ratio, Role, RuleProtocol,
    TrackingMode,
};

/// What has a form in the file.
pub(crate) trait Written {
    /// That form.
    fn written(&self) -> Value;
}

macro_rules! by_serde {
    ($($name:ty),+ $(,)?) => { $(
        impl Written for $name {
            fn written(&self) -> Value {
                json!(self)
            }
        }
    )+ };
}
by_serde!(
    Affinity,
    AnnounceVips,
    BondMode,
    CheckProtocol,
    CheckTarget,
    EncapsulationKind,
    Hugepages,
    Idle,
    Persistence,
    Profile,
    Role,
    RuleProtocol,
    TrackingMode,
    bool,
    u8,
    u16,
    u32,
    str,
    String,
);

macro_rules! by_display {
    ($($name:ty),+ $(,)?) => { $(
        impl Written for $name {
            fn written(&self) -> Value {
                Value::String(self.to_string())
            }
        }
    )+ };
}
by_display!(Arc<str>, IpAddr, IpNet, Mac);

impl<T: Written> Written for Vec<T> {
    fn written(&self) -> Value {
        self.iter().map(Written::written).collect()
    }
}

impl Written for Duration {
    fn written(&self) -> Value {
        match self.as_millis() {
            ms if ms.is_multiple_of(1000) => json!(format!("{}s", ms / 1000)),
            ms => json!(format!("{ms}ms")),
        }
    }
}

impl Written for Ratio {
    fn written(&self) -> Value {
        json!(self.as_f64())
    }
}

impl Written for GueVariant {
    fn written(&self) -> Value {
        match self {
            Self::Zero => json!(0),
            Self::One => json!(1),
        }
    }
}

impl Written for GreKey {
    fn written(&self) -> Value {
        match self {
            Self::None => json!("none"),
            Self::Service => json!("service"),
            Self::Number(number) => json!(number),
        }
    }
}

impl Written for Dscp {
    fn written(&self) -> Value {
        match self {
            Self::Copy => json!("copy"),
            Self::Zero => json!("zero"),
            Self::Number(number) => json!(number),
        }
    }
}

impl Written for Ports {
    fn written(&self) -> Value {
        let range = |(first, last): &(u16, u16)| match first == last {
            true => json!(first),
            false => json!(format!("{first}-{last}")),
        };
        match self {
            Self::All => json!("ALL"),
            Self::Ranges(ranges) => ranges.iter().map(range).collect(),
        }
    }
}

/// A rule's `address`: an address, or a prefix of more than one.
pub(crate) fn vip(address: &IpNet) -> Value {
    match address.prefix_len() == address.max_prefix_len() {
        true => address.addr().written(),
        false => address.written(),
    }
}

/// A size in bytes, in the largest unit that it is a whole number of.
pub(crate) fn size(bytes: u64) -> Value {
    let units = [(30, "G"), (20, "M"), (10, "K")];
    let fits = units.iter().find(|(bits, _)| bytes.is_multiple_of(1 << bits));
    fits.map_or_else(|| json!(bytes), |(bits, unit)| json!(format!("{}{unit}", bytes >> bits)))
}

/// `neighbours`
pub(crate) fn neighbours(neighbours: &[(IpAddr, Mac)]) -> Value {
    neighbours.iter().map(|(address, mac)| (address.to_string(), mac.written())).collect()
}

/// A value as it stands in the file.
pub(crate) fn toml(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            format!("[{}]", items.iter().map(toml).collect::<Vec<_>>().join(", "))
        }
        Value::Object(keys) if keys.is_empty() => "{}".into(),
        Value::Object(keys) => {
            let keys: Vec<_> = keys.iter().map(|(k, v)| format!("{k:?} = {}", toml(v))).collect();
            format!("{{ {} }}", keys.join(", "))
        }
        // A TOML string of this kind escapes as JSON does.
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_told_in_the_words_of_the_file() {
        let ports = Ports::Ranges(vec![(80, 80), (443, 443), (8000, 8100)]);
        let seven_percent = "0.070".parse::<Ratio>().expect("a ratio");
        let gateway: IpAddr = "10.0.0.1".parse().expect("an address");
        for (value, expected) in [
            (ports.written(), "[80, 443, \"8000-8100\"]"),
            (Ports::All.written(), "\"ALL\""),
            (seven_percent.written(), "0.07"),
            (Ratio::default().written(), "0.0"),
            (Duration::from_secs(600).written(), "\"600s\""),
            (Duration::from_millis(1500).written(), "\"1500ms\""),
            (size(512 << 20), "\"512M\""),
            (size(1 << 30), "\"1G\""),
            (GreKey::Number(7).written(), "7"),
            (Dscp::Copy.written(), "\"copy\""),
            (EncapsulationKind::L3dsr.written(), "\"l3dsr\""),
            (RuleProtocol::L3Default.written(), "\"L3_DEFAULT\""),
            (Profile::GcpExternal.written(), "\"gcp-external\""),
            (Affinity::ClientIp.written(), "\"CLIENT_IP\""),
            (vec![gateway].written(), "[\"10.0.0.1\"]"),
            (
                neighbours(&[(gateway, Mac([2, 0, 0, 0, 10, 1]))]),
                "{ \"10.0.0.1\" = \"02:00:00:00:0a:01\" }",
            ),
        ] {
            assert_eq!(toml(&value), expected);
        }
    }
}
