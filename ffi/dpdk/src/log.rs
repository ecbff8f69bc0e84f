//! DPDK's log, kept for error messages instead of written to the terminal.

use std::collections::VecDeque;
use std::ffi::{c_char, c_void};

use parking_lot::Mutex;

use crate::error::Log;

/// How many lines are kept.
const KEPT: usize = 64;
/// How many of them an error shows where its beginning was not marked.
const RECENT: usize = 4;

static LINES: Mutex<Lines> = Mutex::new(Lines { written: 0, last: VecDeque::new() });

struct Lines {
    written: usize,
    last: VecDeque<String>,
}

impl Lines {
    fn push(&mut self, line: &str) {
        if self.last.len() == KEPT {
            self.last.pop_front();
        }
        self.last.push_back(line.to_owned());
        self.written += 1;
    }
}

/// Sends DPDK's log here. Before `rte_eal_init`, so that its first line is caught, too.
pub(crate) fn capture() {
    // SAFETY: `write` has the signature that the shim passes on to fopencookie and lives for ever;
    // the stream, once given to DPDK, is never closed. A null stream would mean DPDK's default.
    unsafe { dpdk_sys::rte_openlog_stream(dpdk_sys::shim_log_stream(Some(write))) };
}

/// A place in the log, to ask later what came after it.
pub(crate) struct Mark(usize);

impl Mark {
    /// Now.
    pub(crate) fn now() -> Self {
        Self(LINES.lock().written)
    }

    /// The last few lines, for a failure whose beginning was not marked.
    pub(crate) fn recent() -> Log {
        // A guard lives as long as its expression, and `since` wants the lock again.
        let written = Self::now().0;
        Self(written.saturating_sub(RECENT)).since()
    }

    /// The lines since.
    pub(crate) fn since(&self) -> Log {
        let lines = LINES.lock();
        let new = lines.written.saturating_sub(self.0).min(lines.last.len());
        Log(lines.last.iter().skip(lines.last.len() - new).cloned().collect())
    }
}

/// Called by the C library for each write to the log stream; DPDK flushes after each message.
unsafe extern "C" fn write(_cookie: *mut c_void, text: *const c_char, length: usize) -> isize {
    // SAFETY: the C library passes `length` readable bytes.
    let bytes = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), length) };
    let text = String::from_utf8_lossy(bytes);
    let mut lines = LINES.lock();
    text.lines().map(str::trim).filter(|l| !l.is_empty()).for_each(|line| lines.push(line));
    length as isize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_without_a_mark_shows_the_last_lines() {
        (1..=100).for_each(|n| LINES.lock().push(&format!("line {n}")));
        assert_eq!(Mark::recent().0, ["line 97", "line 98", "line 99", "line 100"]);
    }
}
