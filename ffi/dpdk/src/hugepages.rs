//! Whether there are huge pages, and what to say if not.
//!
//! With `--in-memory` DPDK takes anonymous huge pages: what counts are the kernel's free pages; no
//! hugetlbfs needs to be mounted.

use std::path::Path;

use crate::Error;

/// The setting `hugepages`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HugePages {
    /// Use them if there are enough.
    #[default]
    Auto,
    /// Fail without them.
    Require,
    /// Never use them.
    Off,
}

impl HugePages {
    /// Whether DPDK shall use huge pages for this much memory.
    ///
    /// # Errors
    /// [`Error::NoHugePages`] if they are required and not there.
    pub fn decide(self, needed_mb: u64, free: &Free) -> Result<bool, Error> {
        let enough = free.kilobytes / 1024 >= needed_mb;
        match self {
            Self::Off => Ok(false),
            Self::Auto => Ok(enough),
            Self::Require if enough => Ok(true),
            Self::Require => Err(Error::NoHugePages {
                needed_mb,
                free_mb: free.kilobytes / 1024,
                pages: (needed_mb * 1024).div_ceil(free.default_kilobytes),
                page_kb: free.default_kilobytes,
            }),
        }
    }
}

/// The kernel's free huge pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Free {
    /// All sizes together, kB.
    pub kilobytes: u64,
    /// The size of a page of the default size, kB.
    pub default_kilobytes: u64,
}

impl Free {
    /// Asks the kernel.
    pub fn now() -> Self {
        Self {
            kilobytes: free_kilobytes(Path::new("/sys/kernel/mm/hugepages")),
            default_kilobytes: default_kilobytes(
                &std::fs::read_to_string("/proc/meminfo").unwrap_or_default(),
            ),
        }
    }
}

/// The sum over the directories `hugepages-<size>kB`; a kernel without huge pages has none.
fn free_kilobytes(root: &Path) -> u64 {
    let sizes = std::fs::read_dir(root).into_iter().flatten().flatten();
    sizes.filter_map(|entry| free_of_size(&entry.path())).sum()
}

fn free_of_size(directory: &Path) -> Option<u64> {
    let name = directory.file_name()?.to_str()?;
    let kilobytes: u64 = name.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse().ok()?;
    let free = std::fs::read_to_string(directory.join("free_hugepages")).ok()?;
    Some(kilobytes * free.trim().parse::<u64>().ok()?)
}

fn default_kilobytes(meminfo: &str) -> u64 {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("Hugepagesize:"));
    line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse().ok()).unwrap_or(2048)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Free = Free { kilobytes: 0, default_kilobytes: 2048 };
    const PLENTY: Free = Free { kilobytes: 1 << 20, default_kilobytes: 2048 };

    #[test]
    fn huge_pages_are_used_where_they_are_wanted_and_there() {
        assert_eq!(HugePages::Auto.decide(512, &PLENTY), Ok(true));
        assert_eq!(HugePages::Auto.decide(512, &NONE), Ok(false));
        assert_eq!(HugePages::Require.decide(512, &PLENTY), Ok(true));
        assert_eq!(HugePages::Off.decide(512, &PLENTY), Ok(false));
    }

    #[test]
    fn required_and_missing_huge_pages_are_an_error_that_says_how_to_reserve_them() {
        let error = HugePages::Require.decide(511, &NONE).unwrap_err().to_string();
        assert!(error.contains("511 MB, but 0 MB are free"), "{error}");
        assert!(error.contains("echo 256 > /proc/sys/vm/nr_hugepages"), "{error}");
    }

    #[test]
    fn the_default_size_is_read_from_meminfo() {
        assert_eq!(default_kilobytes("MemFree: 1 kB\nHugepagesize:    1048576 kB\n"), 1_048_576);
        assert_eq!(default_kilobytes(""), 2048);
    }
}
