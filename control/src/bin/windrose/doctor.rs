//! `windrose doctor`: what is wrong with this machine for a configuration.

mod gather;
mod interfaces;

use std::process::ExitCode;

use control::doctor;

use crate::operate::Format;
use crate::{ConfigFile, check, exit, say};

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  windrose doctor
  windrose doctor --config ./windrose.toml
  windrose doctor --format json | jq -r '.findings[] | select(.severity == \"error\").what'

It changes nothing, and works whether or not windrose runs; next hops can only be looked at while it does.
Each finding comes with its cure. Exit code 0 when nothing is wrong (notes may be there), 1 when something is,
71 when the machine cannot be looked at, 78 for a fault in FILE.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    file: ConfigFile,
    /// How to print it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    let config = match check::load_off_the_wire(&arguments.file) {
        Ok(loaded) => loaded.config,
        Err(code) => return code,
    };
    let facts = match gather::facts(&config) {
        Ok(facts) => facts,
        Err(error) => {
            return exit::with(exit::SYSTEM, &format!("cannot look at this machine: {error}"));
        }
    };
    let report = doctor::examine(&config, &facts);
    match arguments.format {
        Format::Text => say::out(report.words()),
        Format::Json => say::out(format_args!("{}\n", serde_json::json!(report))),
    }
    if report.is_well() { ExitCode::SUCCESS } else { ExitCode::from(exit::FOUND) }
}
