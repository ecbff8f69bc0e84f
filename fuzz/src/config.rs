//! Any text as a configuration file: it is read, or refused with an error that can be shown.

use control::config::{self, Environment};

/// Runs one input.
pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Err(errors) = config::parse("fuzz.toml", text, &Environment::default()) {
        assert!(errors.errors() > 0);
        assert!(!errors.to_string().is_empty());
    }
}
