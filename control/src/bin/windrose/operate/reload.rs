//! `windrose reload`

use std::process::ExitCode;

use control::admin::answer::Reloaded;
use control::admin::client::Ask;

use super::{Format, Reading, read};
use crate::{exit, say};

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  windrose reload
  windrose check && windrose reload
  windrose reload --format json | jq .restart_needed

Reads the file again, as SIGHUP does, and waits for what comes of it: what has changed, in the words of windrose diff, or why the
old configuration goes on. All of a file takes effect at once, or nothing of it.
Exit code 0 when the new file is in force, 78 when it was refused, 69 when windrose is not running, 75 when it is too busy.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    reading: Reading,
}

pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    reload(&arguments.reading).unwrap_or_else(|code| code)
}

fn reload(reading: &Reading) -> Result<ExitCode, ExitCode> {
    let answer = reading.socket.ask(Ask::post("/v1/reload", &()))?;
    if reading.format == Format::Json {
        say::out(format_args!("{answer:#}\n"));
    }
    let reloaded: Reloaded = read(answer)?;
    if reading.format == Format::Text {
        say::err(&reloaded.warnings);
        say::out(&reloaded.changes);
    }
    match reloaded.error {
        None => {
            if reading.format == Format::Text {
                say::out(format_args!("In force, generation {}.\n", reloaded.generation));
            }
            Ok(ExitCode::SUCCESS)
        }
        Some(why) => {
            let why = why.trim_end();
            Err(exit::with(
                exit::CONFIG,
                &format!("the reload is refused, the old configuration goes on:\n{why}"),
            ))
        }
    }
}
