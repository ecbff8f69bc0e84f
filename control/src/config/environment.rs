//! What a file is checked against beside itself.

/// The machine that the file is for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// CPUs that are online; empty: not known, then `workers` may name any.
    pub online_cpus: Vec<u16>,
}

impl Environment {
    /// This machine.
    pub fn detect() -> Self {
        let list = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
        Self { online_cpus: cpu_list(&list).unwrap_or_default() }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_cpu_list_is_understood() {
        assert_eq!(cpu_list("0-2,8\n"), Some(vec![0, 1, 2, 8]));
        assert_eq!(cpu_list("0"), Some(vec![0]));
        assert_eq!(cpu_list(""), None);
    }
}
