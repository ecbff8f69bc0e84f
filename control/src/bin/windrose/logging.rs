//! Logs, to standard error.

use tracing_subscriber::EnvFilter;

/// Starts logging; `RUST_LOG` chooses how much, `info` by default.
pub(crate) fn start() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_target(false)
        .with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr()))
        .with_writer(std::io::stderr)
        // It would tell of a closed standard error there, and panic.
        .log_internal_errors(false)
        .init();
}
