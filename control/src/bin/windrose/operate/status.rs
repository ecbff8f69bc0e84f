//! `windrose status`

use std::process::ExitCode;

use control::admin::answer::Status;
use control::admin::client::Ask;
use control::admin::words;

use super::{Format, Reading, look, read};
use crate::{exit, say};

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  windrose status
  windrose status web
  windrose status --format json | jq '.services[] | {name, pool, eligible}'

SHARE is the share of new connections, exact over the slots of the Maglev table. Connections are counted in the background;
the first line says how old the figures are at most.
Exit code 0 when there is an answer, 69 when windrose is not running.")]
pub(crate) struct Arguments {
    /// Show this service alone
    #[arg(value_name = "SERVICE")]
    service: Option<String>,
    #[command(flatten)]
    reading: Reading,
}

pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    let Some(service) = arguments.service.as_deref() else {
        let shown = |status: &Status| words::status(status, None, look());
        return arguments.reading.show("/v1/status", shown);
    };
    of_service(&arguments.reading, service).unwrap_or_else(|code| code)
}

fn of_service(reading: &Reading, service: &str) -> Result<ExitCode, ExitCode> {
    let answer = reading.socket.ask(Ask::get("/v1/status"))?;
    let all = answer["services"].as_array().map(Vec::as_slice).unwrap_or_default();
    let Some(one) = all.iter().find(|s| s["name"] == service).cloned() else {
        let names: Vec<_> = all.iter().filter_map(|s| s["name"].as_str()).collect();
        let why = format!("there is no service {service:?}; there are {}", names.join(", "));
        return Err(exit::with(exit::DATA, &why));
    };
    match reading.format {
        Format::Json => say::out(format_args!("{one:#}\n")),
        Format::Text => say::out(words::status(&read(answer)?, Some(service), look())),
    }
    Ok(ExitCode::SUCCESS)
}
