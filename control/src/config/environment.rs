//! What a file is checked against beside itself.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The machine that the file is for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// CPUs that are online; empty: not known, then `workers` may name any.
    pub online_cpus: Vec<u16>,
    /// The addresses of its interfaces.
    pub local_addresses: Vec<IpAddr>,
}

impl Environment {
    /// This machine.
    pub fn detect() -> Self {
        let list = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
        let [v4, v6] = ["fib_trie", "if_inet6"]
            .map(|file| std::fs::read_to_string(format!("/proc/net/{file}")).unwrap_or_default());
        Self {
            online_cpus: cpu_list(&list).unwrap_or_default(),
            local_addresses: local_v4(&v4).into_iter().chain(local_v6(&v6)).collect(),
        }
    }
}

/// The kernel's list format: `0-3,8`.
fn cpu_list(text: &str) -> Option<Vec<u16>> {
    let mut cpus = Vec::new();
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        cpus.extend(first.parse::<u16>().ok()?..=last.parse().ok()?);
    }
    Some(cpus)
}

/// The kernel's table of IPv4 routes: an address, and below it what it is.
fn local_v4(trie: &str) -> Vec<IpAddr> {
    let mut address = None;
    let mut found = Vec::new();
    for line in trie.lines().map(str::trim) {
        if let Some(leaf) = line.strip_prefix("|-- ") {
            address = leaf.parse::<Ipv4Addr>().ok().map(IpAddr::V4);
        } else if line == "/32 host LOCAL" {
            found.extend(address.filter(|a| !found.contains(a)));
        }
    }
    found
}

/// The kernel's list of IPv6 addresses: 32 hexadecimal digits, and more behind them.
fn local_v6(list: &str) -> impl Iterator<Item = IpAddr> {
    let digits = list.lines().filter_map(|line| line.split(' ').next());
    digits.filter_map(|d| Some(Ipv6Addr::from(u128::from_str_radix(d, 16).ok()?).into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_cpu_list_is_understood() {
        assert_eq!(cpu_list("0-2,8\n"), Some(vec![0, 1, 2, 8]));
        assert_eq!(cpu_list("0"), Some(vec![0]));
        assert_eq!(cpu_list(""), None);
    }

    #[test]
    fn the_hosts_own_addresses_are_read_from_the_kernels_tables() {
        let trie = "Main:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 10.0.1.0\n        /24 link UNICAST\n     \
                    |-- 10.0.1.7\n        /32 host LOCAL\nLocal:\n     |-- 10.0.1.7\n        /32 host LOCAL\n";
        assert_eq!(local_v4(trie), ["10.0.1.7".parse::<IpAddr>().unwrap()]);
        let list = "20010db8000000000000000000000001 02 40 00 80     eth0\n\n";
        assert_eq!(local_v6(list).collect::<Vec<_>>(), ["2001:db8::1".parse::<IpAddr>().unwrap()]);
    }
}
