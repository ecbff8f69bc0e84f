//! `windrose health`

use std::process::ExitCode;

use control::admin::answer::ServiceStatus;
use control::admin::words;

use super::{Reading, look};

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  windrose health
  windrose health --failing
  windrose health --format json | jq '.[].backends[] | select(.health == \"unhealthy\") | .backend'

Exit code 0 when there is an answer, whatever it is; 69 when windrose is not running.")]
pub(crate) struct Arguments {
    /// Only backends that are unhealthy, disabled or drained
    #[arg(long)]
    failing: bool,
    #[command(flatten)]
    reading: Reading,
}

pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    let shown = |services: &Vec<ServiceStatus>| words::health(services, arguments.failing, look());
    arguments.reading.show("/v1/services", shown)
}
