//! Host names.

use std::fmt;

/// A valid host name: at most 253 octets; labels of 1 to 63 letters, digits and hyphens, no
/// hyphen at a label's edge; no trailing dot; no address literal. Kept in lower case, because
/// letter case does not matter.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostName(String);

impl HostName {
    /// The longest name, octets.
    pub const MAX: usize = 253;

    /// The longest label, octets.
    pub const MAX_LABEL: usize = 63;

    /// Reads a name as it was written, or as it came in a ClientHello; `None`: not valid.
    pub fn parse(name: &[u8]) -> Option<Self> {
        let valid = name.len() <= Self::MAX
            && name.split(|b| *b == b'.').all(is_label)
            && !is_address_literal(name);
        let text = std::str::from_utf8(name).ok().filter(|_| valid)?;
        Some(Self(text.to_ascii_lowercase()))
    }

    /// The name, in lower case.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The names above this one, nearest first: `b.c` and `c` above `a.b.c`.
    pub fn parents(&self) -> impl Iterator<Item = &str> {
        self.0.match_indices('.').map(|(dot, _)| &self.0[dot + 1..])
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn is_label(label: &[u8]) -> bool {
    (1..=HostName::MAX_LABEL).contains(&label.len())
        && label.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'-')
        && !label.starts_with(b"-")
        && !label.ends_with(b"-")
}

/// A name of nothing but numbers is an IPv4 address to resolvers, however many there are
/// (`127.1`, `2130706433`). IPv6 addresses have colons, which no label has.
fn is_address_literal(name: &[u8]) -> bool {
    name.iter().all(|b| b.is_ascii_digit() || *b == b'.')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn valid(name: &str) -> bool {
        HostName::parse(name.as_bytes()).is_some()
    }

    #[test]
    fn letters_digits_and_inner_hyphens_make_labels() {
        for name in ["a", "localhost", "a-b.c", "1a.2b", "1.2.3.a", "xn--bcher-kva.example", "A.B"]
        {
            assert!(valid(name), "{name}");
        }
        for name in [
            "",
            ".",
            "..",
            ".a",
            "a.",
            "a..b",
            "-a.b",
            "a-.b",
            "a.-b",
            "a.b-",
            "-",
            "a_b.c",
            "*.a",
            "a b",
            "a:443",
            "a@b",
            "bücher.example",
            "a\0b",
        ] {
            assert!(!valid(name), "{name:?}");
        }
        assert_eq!(HostName::parse(b"a\xff.b"), None);
    }

    #[test]
    fn address_literals_are_no_names() {
        for name in ["192.0.2.1", "127.1", "2130706433", "01.2.3.4", "::1", "[::1]", "2001:db8::1"]
        {
            assert!(!valid(name), "{name}");
        }
    }

    #[test]
    fn a_label_has_at_most_63_octets_and_a_name_253() {
        let label = "a".repeat(63);
        assert!(valid(&label));
        assert!(!valid(&format!("{label}a")));
        let longest = format!("{label}.{label}.{label}.{}", "a".repeat(61));
        assert_eq!(longest.len(), 253);
        assert!(valid(&longest));
        assert!(!valid(&format!("{longest}a")));
    }

    #[test]
    fn names_are_kept_in_lower_case_and_know_what_is_above_them() {
        let name = HostName::parse(b"Baz.BAR.foo").expect("valid");
        assert_eq!(name.to_string(), "baz.bar.foo");
        assert_eq!(name.parents().collect::<Vec<_>>(), ["bar.foo", "foo"]);
        assert_eq!(HostName::parse(b"foo").expect("valid").parents().count(), 0);
    }
}
