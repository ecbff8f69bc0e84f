//! Whether the machine has the memory that DPDK is to be given, where that is not in huge pages:
//! of a mapping that fails DPDK says no more than "Cannot init memory".

use crate::Error;

/// Refuses more (MB) than the kernel could give without swapping. A kernel that does not say how
/// much that is, is left to DPDK.
///
/// # Errors
/// [`Error::Memory`].
pub(crate) fn check(wanted: u64) -> Result<(), Error> {
    refuse(wanted, &std::fs::read_to_string("/proc/meminfo").unwrap_or_default())
}

fn refuse(wanted: u64, meminfo: &str) -> Result<(), Error> {
    match available(meminfo) {
        Some(available) if wanted > available => {
            Err(Error::Memory { wanted: size(wanted), available })
        }
        _ => Ok(()),
    }
}

/// In MB.
fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes / 1024)
}

/// As the configuration writes it.
fn size(megabytes: u64) -> String {
    match megabytes % 1024 {
        0 => format!("{}G", megabytes / 1024),
        _ => format!("{megabytes}M"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMINFO: &str = "MemTotal:       16314576 kB\nMemAvailable:    8388608 kB\n";

    #[test]
    fn more_than_is_available_is_refused_with_the_key_and_both_sizes() {
        let error = refuse(900 * 1024, MEMINFO).unwrap_err().to_string();
        let expected = "[dataplane] memory = \"900G\" is more than the 8192 MB that are available";
        assert!(error.starts_with(expected), "{error}");
        assert!(refuse(8193, MEMINFO).unwrap_err().to_string().contains("\"8193M\""));
    }

    #[test]
    fn what_fits_or_is_not_known_is_left_to_dpdk() {
        assert_eq!(refuse(8192, MEMINFO), Ok(()));
        assert_eq!(refuse(8192, ""), Ok(()));
    }
}
