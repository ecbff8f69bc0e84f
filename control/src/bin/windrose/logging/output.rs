//! Standard error, and the journal behind it.

use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;

use tracing::{Level, Metadata};
use tracing_subscriber::fmt::MakeWriter;

/// Standard error. In the journal a line gets its priority, so that `journalctl -p warning` works.
pub(super) struct Stderr {
    journal: bool,
}

impl Stderr {
    pub(super) fn new() -> Self {
        let stream = std::env::var("JOURNAL_STREAM").unwrap_or_default();
        Self { journal: std::fs::metadata("/proc/self/fd/2").is_ok_and(|m| is(&stream, &m)) }
    }
}

/// `JOURNAL_STREAM` names the journal's socket by device and inode; a redirected stream is another.
fn is(stream: &str, file: &impl MetadataExt) -> bool {
    stream == format!("{}:{}", file.dev(), file.ino())
}

impl<'a> MakeWriter<'a> for Stderr {
    type Writer = Line;

    fn make_writer(&'a self) -> Line {
        Line { prefix: "" }
    }

    fn make_writer_for(&'a self, event: &Metadata<'_>) -> Line {
        Line { prefix: if self.journal { priority(event.level()) } else { "" } }
    }
}

/// sd-daemon(3)
fn priority(level: &Level) -> &'static str {
    match *level {
        Level::ERROR => "<3>",
        Level::WARN => "<4>",
        Level::INFO => "<6>",
        _ => "<7>",
    }
}

/// One event's line, written at once: other threads' lines stay whole.
pub(super) struct Line {
    prefix: &'static str,
}

impl Write for Line {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let line_of_the_journal = [self.prefix.as_bytes(), line].concat();
        io::stderr().lock().write_all(&line_of_the_journal)?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_journals_own_stream_gets_priorities() {
        let own = std::fs::metadata("/proc/self/exe").expect("we run");
        assert!(is(&format!("{}:{}", own.dev(), own.ino()), &own));
        for other in ["", "1:2", "nonsense", &format!("{}:{}", own.dev(), own.ino() + 1)] {
            assert!(!is(other, &own), "{other}");
        }
    }

    #[test]
    fn warnings_are_found_by_their_priority() {
        assert_eq!(priority(&Level::WARN), "<4>");
        assert_eq!(priority(&Level::TRACE), "<7>");
    }
}
