//! What can go wrong in a testbed.

/// A testbed's result.
pub type Result<T> = std::result::Result<T, Error>;

/// Why something did not work.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A program ended with an error.
    #[error("`{command}` failed: {stderr}")]
    Command {
        /// What was run.
        command: String,
        /// What it said.
        stderr: String,
    },
    /// The system refused something.
    #[error("{what}: {source}")]
    Io {
        /// What was tried.
        what: String,
        /// The system's answer.
        source: std::io::Error,
    },
    /// Something that should have happened did not, in time.
    #[error("waited {seconds} s for {what}")]
    Timeout {
        /// How long.
        seconds: u64,
        /// For what.
        what: String,
    },
    /// A peer answered something else than expected.
    #[error("{0}")]
    Unexpected(String),
}

/// Names what was tried.
pub(crate) trait Context<T> {
    /// Turns a system error into ours.
    fn context(self, what: impl Into<String>) -> Result<T>;
}

impl<T, E: Into<std::io::Error>> Context<T> for std::result::Result<T, E> {
    fn context(self, what: impl Into<String>) -> Result<T> {
        self.map_err(|e| Error::Io { what: what.into(), source: e.into() })
    }
}
