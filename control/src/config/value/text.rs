//! Values that are written as text: addresses, prefixes, names, durations, sizes, the seed.

use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::time::Duration;

use ipnet::IpNet;
use serde_json::{Value as Json, json};
use tables::{HashSeed, Mac};
use toml::Spanned;
use toml::de::DeValue;

use crate::config::field::{FromToml, wrong_type};
use crate::config::report::Report;

/// What is written as text and can be read from it.
trait Text: Sized {
    /// What is allowed, for messages and the schema.
    const ALLOWED: &'static str;

    /// `Err` says why not.
    fn parse(text: &str) -> Result<Self, String>;
}

fn read_text<T: Text>(
    value: &Spanned<DeValue<'_>>,
    key: &'static str,
    report: &mut Report<'_>,
) -> Option<T> {
    let Some(text) = value.get_ref().as_str() else {
        wrong_type(value, key, T::ALLOWED, report);
        return None;
    };
    match T::parse(text) {
        Ok(read) => Some(read),
        Err(why) => {
            let message = format!("{key} = {}: {why}", report.found(&value.span()));
            report.error(value.span(), message, format!("allowed: {}", T::ALLOWED));
            None
        }
    }
}

macro_rules! texts {
    ($($name:ty),* $(,)?) => { $(
        impl FromToml for $name {
            fn read(
                value: &Spanned<DeValue<'_>>,
                key: &'static str,
                report: &mut Report<'_>,
            ) -> Option<Self> {
                read_text(value, key, report)
            }

            fn schema() -> Json {
                json!({ "type": "string", "title": <$name as Text>::ALLOWED })
            }
        }
    )* };
}
texts!(String, Name, IpAddr, IpNet, Vip, SocketAddr, Mac, Length, Bytes, HashSeed);

impl Text for String {
    const ALLOWED: &'static str = "text in quotes";

    fn parse(text: &str) -> Result<Self, String> {
        Ok(text.to_owned())
    }
}

/// The name of a thing of ours: it stands in metrics, in `group/backend`, and in host names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(in crate::config) struct Name(pub(in crate::config) String);

impl Text for Name {
    const ALLOWED: &'static str = "1 to 63 letters, digits, \"-\", \"_\" and \".\"";

    fn parse(text: &str) -> Result<Self, String> {
        let good = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        match text {
            "" => Err("a name may not be empty".into()),
            _ if text.len() > 63 => Err("too long for a name".into()),
            _ => match text.chars().find(|c| !good(*c)) {
                Some(bad) => Err(format!("{bad:?} may not stand in a name")),
                None => Ok(Self(text.to_owned())),
            },
        }
    }
}

impl Text for IpAddr {
    const ALLOWED: &'static str =
        "an IPv4 or IPv6 address, for example \"10.0.0.1\" or \"2001:db8::1\"";

    fn parse(text: &str) -> Result<Self, String> {
        text.parse().map_err(|_| "not an IP address".into())
    }
}

impl Text for IpNet {
    const ALLOWED: &'static str =
        "an address with a prefix length, for example \"10.0.0.0/24\" or \"2001:db8::/64\"";

    fn parse(text: &str) -> Result<Self, String> {
        text.parse().map_err(|_| match text.parse::<IpAddr>() {
            Ok(address) => {
                let bits = if address.is_ipv4() { 32 } else { 128 };
                format!("the prefix length is missing (/{bits} for one address)")
            }
            Err(_) => "not a prefix".into(),
        })
    }
}

/// A rule's address: one address, or a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::config) struct Vip(pub(in crate::config) IpNet);

impl Text for Vip {
    const ALLOWED: &'static str = "an IPv4 or IPv6 address, for example \"203.0.113.10\", or a prefix, for example \"203.0.113.0/24\"";

    fn parse(text: &str) -> Result<Self, String> {
        let host = text.parse::<IpAddr>().map(IpNet::from);
        host.or_else(|_| text.parse())
            .map(Self)
            .map_err(|_| "neither an address nor a prefix".into())
    }
}

impl Text for SocketAddr {
    const ALLOWED: &'static str = "an address with a port, for example \"127.0.0.1:9180\"";

    fn parse(text: &str) -> Result<Self, String> {
        text.parse().map_err(|_| "not an address with a port".into())
    }
}

impl Text for Mac {
    const ALLOWED: &'static str =
        "a unicast Ethernet address of six hexadecimal bytes, for example \"02:00:00:00:00:01\"";

    fn parse(text: &str) -> Result<Self, String> {
        let byte = |part: &str| match part.len() {
            2 if part.bytes().all(|b| b.is_ascii_hexdigit()) => u8::from_str_radix(part, 16).ok(),
            _ => None,
        };
        let bytes: Option<Vec<u8>> = text.split([':', '-']).map(byte).collect();
        let bytes: Option<[u8; 6]> = bytes.and_then(|bytes| bytes.try_into().ok());
        match bytes {
            None => Err("not an Ethernet address".into()),
            Some([0, 0, 0, 0, 0, 0]) => Err("the zero address belongs to nobody".into()),
            Some([first, ..]) if first & 1 == 1 => Err("a group address, not unicast".into()),
            Some(mac) => Ok(Mac(mac)),
        }
    }
}

/// A duration with its unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::config) struct Length(pub(in crate::config) Duration);

impl Length {
    /// Whether it is within bounds in seconds, both included.
    pub(in crate::config) fn within(self, seconds: &RangeInclusive<u64>) -> bool {
        let bounds = Duration::from_secs(*seconds.start())..=Duration::from_secs(*seconds.end());
        bounds.contains(&self.0)
    }
}

impl Text for Length {
    const ALLOWED: &'static str =
        "a whole number with a unit of ms, s, m or h, for example \"600s\", \"1500ms\" or \"2m\"";

    fn parse(text: &str) -> Result<Self, String> {
        let unit = |unit: &str| match unit {
            "ms" => Ok(1),
            "s" => Ok(1_000),
            "m" => Ok(60_000),
            "h" => Ok(3_600_000),
            "" => Err("the unit is missing".to_owned()),
            other => Err(format!("{other:?} is no unit")),
        };
        Ok(Self(Duration::from_millis(quantity(text, "a duration", unit)?)))
    }
}

/// A size in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::config) struct Bytes(pub(in crate::config) u64);

impl Text for Bytes {
    const ALLOWED: &'static str =
        "a whole number with a unit of K, M or G (times 1024 each), for example \"512M\" or \"1G\"";

    fn parse(text: &str) -> Result<Self, String> {
        let unit = |unit: &str| match unit {
            "K" => Ok(1 << 10),
            "M" => Ok(1 << 20),
            "G" => Ok(1 << 30),
            "" => Err("the unit is missing".to_owned()),
            other => Err(format!("{other:?} is no unit")),
        };
        Ok(Self(quantity(text, "a size", unit)?))
    }
}

/// Reads digits and a unit, in the smallest unit.
fn quantity(
    text: &str,
    what: &str,
    unit: impl Fn(&str) -> Result<u64, String>,
) -> Result<u64, String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, name) = text.split_at(digits);
    if number.is_empty() {
        return Err(format!("not {what}"));
    }
    let factor = unit(name)?;
    let number = number.parse::<u64>().ok();
    number.and_then(|n| n.checked_mul(factor)).ok_or_else(|| format!("too large for {what}"))
}

impl Text for HashSeed {
    const ALLOWED: &'static str = "32 hexadecimal digits (128 bits), the same on every appliance";

    fn parse(text: &str) -> Result<Self, String> {
        if !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err("not hexadecimal".into());
        }
        if text.len() != 32 {
            return Err(format!("{} digits", text.len()));
        }
        let number = u128::from_str_radix(text, 16).map_err(|e| e.to_string())?;
        Ok(HashSeed(number.to_be_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_sizes_have_units() {
        let length = |text: &str| Length::parse(text).map(|l| l.0);
        assert_eq!(length("600s"), Ok(Duration::from_secs(600)));
        assert_eq!(length("1500ms"), Ok(Duration::from_millis(1500)));
        assert_eq!(length("2m"), Ok(Duration::from_secs(120)));
        assert_eq!(length("1h"), Ok(Duration::from_secs(3600)));
        for bad in ["", "s", "5", "5 s", "-5s", "1.5s", "5d", "99999999999999999999s", "９s"] {
            assert!(length(bad).is_err(), "{bad}");
        }
        assert_eq!(Bytes::parse("512M"), Ok(Bytes(512 << 20)));
        assert!(Bytes::parse("512").is_err() && Bytes::parse("1T").is_err());
        assert!(Bytes::parse("99999999999999999G").is_err());
    }

    #[test]
    fn ethernet_addresses_are_unicast() {
        assert_eq!(Mac::parse("02:00:00:00:0a:01"), Ok(Mac([2, 0, 0, 0, 10, 1])));
        for bad in [
            "",
            "02:00:00:00:00",
            "03:00:00:00:00:01",
            "00:00:00:00:00:00",
            "2:0:0:0:0:1",
            "+2:00:00:00:00:01",
        ] {
            assert!(Mac::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_seed_has_128_bits() {
        let seed = HashSeed::parse("6ba7b8109dad11d180b400c04fd430c8").expect("valid");
        assert_eq!(&seed.0[..4], &[0x6b, 0xa7, 0xb8, 0x10]);
        assert!(HashSeed::parse("6ba7").is_err() && HashSeed::parse(&"g".repeat(32)).is_err());
    }
}
