//! Longest-prefix match over IPv4 and IPv6.

use std::net::IpAddr;

use ipnet::IpNet;
use prefix_trie::joint::JointPrefixMap;

/// Prefix → value, longest match. A prefix's host bits do not count: `10.1.2.3/8` is `10.0.0.0/8`.
#[derive(Clone, Debug)]
pub struct PrefixMap<V> {
    trie: JointPrefixMap<IpNet, V>,
}

impl<V> Default for PrefixMap<V> {
    fn default() -> Self {
        Self { trie: JointPrefixMap::new() }
    }
}

impl<V> PrefixMap<V> {
    /// Adds a prefix; gives back the value that it had before.
    pub fn insert(&mut self, prefix: IpNet, value: V) -> Option<V> {
        self.trie.insert(prefix.trunc(), value)
    }

    /// The value of the longest prefix that contains `address`.
    #[inline]
    pub fn longest(&self, address: IpAddr) -> Option<&V> {
        self.covering(address.into())
    }

    /// The value of the longest prefix that contains all of `prefix`, itself included.
    pub fn covering(&self, prefix: IpNet) -> Option<&V> {
        self.trie.get_lpm(&prefix).map(|(_, value)| value)
    }

    /// The value of exactly this prefix, to change.
    pub fn get_mut(&mut self, prefix: IpNet) -> Option<&mut V> {
        self.trie.get_mut(&prefix.trunc())
    }

    /// Takes a prefix out; gives back its value.
    pub fn remove(&mut self, prefix: IpNet) -> Option<V> {
        self.trie.remove(&prefix.trunc())
    }

    /// Every prefix that contains `address` and its value, the shortest first.
    pub fn containing(&self, address: IpAddr) -> impl Iterator<Item = (IpNet, &V)> {
        self.trie.cover(&address.into())
    }

    /// Whether there is no prefix at all.
    pub fn is_empty(&self) -> bool {
        self.trie.is_empty()
    }

    /// How many prefixes there are.
    pub fn len(&self) -> usize {
        self.trie.len()
    }

    /// Every prefix and its value: IPv4 first, in ascending order, a prefix before those within.
    pub fn iter(&self) -> impl Iterator<Item = (IpNet, &V)> {
        self.trie.iter()
    }
}

/// Of equal prefixes the last one's value stays.
impl<V> FromIterator<(IpNet, V)> for PrefixMap<V> {
    fn from_iter<I: IntoIterator<Item = (IpNet, V)>>(entries: I) -> Self {
        let mut map = Self::default();
        for (prefix, value) in entries {
            map.insert(prefix, value);
        }
        map
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(prefixes: &[&'static str]) -> PrefixMap<&'static str> {
        prefixes.iter().map(|p| (p.parse().expect(p), *p)).collect()
    }

    #[test]
    fn the_longest_prefix_wins() {
        let map = map(&["0.0.0.0/0", "10.0.0.0/8", "10.1.0.0/16", "10.1.2.3/32", "2001:db8::/32"]);
        for (address, want) in [
            ("10.1.2.3", Some("10.1.2.3/32")),
            ("10.1.2.4", Some("10.1.0.0/16")),
            ("10.2.0.0", Some("10.0.0.0/8")),
            ("255.255.255.255", Some("0.0.0.0/0")),
            ("2001:db8:ffff::1", Some("2001:db8::/32")),
            ("2001:db9::", None),
        ] {
            assert_eq!(map.longest(address.parse().expect(address)).copied(), want, "{address}");
        }
        let covering = |prefix: &str| map.covering(prefix.parse().expect(prefix)).copied();
        assert_eq!(covering("10.1.0.0/15"), Some("10.0.0.0/8"));
        assert_eq!(covering("10.1.0.0/16"), Some("10.1.0.0/16"));
    }

    #[test]
    fn what_contains_an_address_comes_shortest_first() {
        let mut map = map(&["10.1.0.0/16", "0.0.0.0/0", "10.1.2.3/32", "10.2.0.0/16", "::/0"]);
        let address = IpAddr::from([10, 1, 2, 3]);
        let found: Vec<_> = map.containing(address).map(|(_, value)| *value).collect();
        assert_eq!(found, ["0.0.0.0/0", "10.1.0.0/16", "10.1.2.3/32"]);
        let prefix = "10.1.9.9/16".parse().expect("valid");
        *map.get_mut(prefix).expect("there") = "other";
        assert_eq!(map.remove(prefix), Some("other"));
        assert_eq!(map.containing(address).count(), 2);
    }

    #[test]
    fn the_families_do_not_meet() {
        let map = map(&["::/0"]);
        assert_eq!(map.longest(IpAddr::from([0; 4])), None);
        assert_eq!(map.longest(IpAddr::from([0; 16])), Some(&"::/0"));
    }

    #[test]
    fn host_bits_do_not_count_and_the_last_of_equals_stays() {
        let map = map(&["10.9.9.9/8", "10.8.8.8/8"]);
        assert_eq!(map.len(), 1);
        let entries: Vec<_> = map.iter().collect();
        assert_eq!(entries, [("10.0.0.0/8".parse().expect("valid"), &"10.8.8.8/8")]);
    }

    #[test]
    fn an_empty_map_finds_nothing() {
        assert!(map(&[]).is_empty());
        assert_eq!(map(&[]).longest(IpAddr::from([1, 2, 3, 4])), None);
    }
}
