//! Huge pages, reserved for as long as a bench runs.

use std::fs;

const CONTROL: &str = "/proc/sys/vm/nr_hugepages";

/// Puts the number back when it goes.
#[derive(Debug)]
pub struct Reserved {
    before: u64,
    asked: u64,
}

impl Reserved {
    /// Reserves so many 2 MB pages beyond those that are taken; `None` where that cannot be done:
    /// everything works without.
    pub fn free(pages: u64) -> Option<Self> {
        let (before, free) = (total()?, meminfo("HugePages_Free:")?);
        let asked = before + pages.saturating_sub(free);
        if asked > before {
            fs::write(CONTROL, asked.to_string()).ok()?;
        }
        Some(Self { before, asked })
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        // If somebody else has set another number meanwhile, it is theirs.
        if total().is_some_and(|now| now > self.before && now <= self.asked) {
            let _ = fs::write(CONTROL, self.before.to_string());
        }
    }
}

fn total() -> Option<u64> {
    fs::read_to_string(CONTROL).ok()?.trim().parse().ok()
}

fn meminfo(key: &str) -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with(key))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
