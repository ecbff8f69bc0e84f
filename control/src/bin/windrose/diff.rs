//! `windrose diff`: what a reload would change.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use control::config;
use control::diff;
use control::model::Config;

use crate::operate::Format;
use crate::{exit, say};

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  windrose diff /etc/windrose/windrose.toml new.toml
  windrose diff old.toml new.toml --format json | jq '.services.web.new_connections_moved'

Nothing is applied. Shares are exact over the slots of the Maglev tables, for the case that every backend is healthy.
Exit code 0 whether or not the files differ, 78 when one of them is not valid.")]
pub(crate) struct Arguments {
    /// The configuration in force
    #[arg(value_name = "OLD")]
    old: PathBuf,
    /// The one that a reload would read
    #[arg(value_name = "NEW")]
    new: PathBuf,
    /// How to print it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    // Both are read before anything is said, so that the faults of both are shown.
    let files = (load(&arguments.old), load(&arguments.new));
    let (Some(old), Some(new)) = files else {
        return ExitCode::from(exit::CONFIG);
    };
    let diff = match diff::diff(&old, &new) {
        Ok(diff) => diff,
        Err(kept) => return exit::with(exit::CONFIG, &kept),
    };
    match arguments.format {
        Format::Text => say::out(diff.words()),
        Format::Json => say::out(format_args!("{}\n", serde_json::json!(diff))),
    }
    ExitCode::SUCCESS
}

fn load(path: &Path) -> Option<Config> {
    match config::load(path) {
        Ok(loaded) => Some(loaded.config),
        Err(errors) => {
            say::err(errors.render(false));
            None
        }
    }
}
