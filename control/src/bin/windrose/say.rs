//! What is printed for a person.
//!
//! Nobody may be listening: `windrose run | head -1` leaves a closed pipe behind, and a disk gets
//! full. `print!` would panic then, and take the balancer down with it (D-12).

use std::fmt::Display;
use std::io::Write;

/// To standard output. What nobody can read any more is not worth an end.
pub(crate) fn out(text: impl Display) {
    let mut stdout = std::io::stdout().lock();
    let _ = write!(stdout, "{text}").and_then(|()| stdout.flush());
}

/// To standard error.
pub(crate) fn err(text: impl Display) {
    let _ = write!(std::io::stderr().lock(), "{text}");
}
