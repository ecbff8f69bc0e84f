//! `windrose check`: everything that is wrong with a file, at once.

mod told;

use std::process::ExitCode;

use control::admin::client::Ask;
use control::config::{self, Diagnostics, Loaded};
use control::model::Config;
use serde_json::{Value, json};

use crate::operate::{self, Format, Reading};
use crate::{ConfigFile, exit, say};
use told::Told;

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  windrose check
  windrose check --config ./windrose.toml
  windrose check --config ./new.toml --against-running
  windrose check --against-running --format json | jq -r '.running.restart_needed[]'

--against-running also says what a reload of the file would change in the running process, and which settings need a restart.
Exit code 0 if the file is valid, 78 if not; every error is shown with its line, column and what is allowed. With
--against-running also 78 if a reload would be refused, and 69 if windrose is not running.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    file: ConfigFile,
    /// Compare it with what the running process does
    #[arg(long)]
    against_running: bool,
    #[command(flatten)]
    reading: Reading,
}

pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    let done = match arguments.reading.format {
        Format::Text => in_words(arguments),
        Format::Json => as_json(arguments),
    };
    done.unwrap_or_else(|code| code)
}

fn in_words(arguments: &Arguments) -> Result<ExitCode, ExitCode> {
    let loaded = load(&arguments.file)?;
    say::out(told::words(&arguments.file.config, &loaded));
    if !arguments.against_running {
        return Ok(ExitCode::SUCCESS);
    }
    let compared = compare(arguments)?;
    let read: Compared = operate::read(compared)?;
    say::out(&read.changes);
    Ok(read.code())
}

fn as_json(arguments: &Arguments) -> Result<ExitCode, ExitCode> {
    let file = &arguments.file.config;
    let mut told = Told::of(file, &config::load(file));
    let running = (told.valid && arguments.against_running).then(|| compare(arguments));
    told.running = running.as_ref().and_then(|answer| answer.as_ref().ok()).cloned();
    say::out(format_args!("{:#}\n", json!(told)));
    match running {
        None if told.valid => Ok(ExitCode::SUCCESS),
        None => Ok(ExitCode::from(exit::CONFIG)),
        Some(answer) => operate::read::<Compared>(answer?).map(|read| read.code()),
    }
}

/// What a reload of the file would change, or why it would be refused.
fn compare(arguments: &Arguments) -> Result<Value, ExitCode> {
    let path = &arguments.file.config;
    let text = std::fs::read(path)
        .map_err(|e| exit::with(exit::CONFIG, &format!("{}: {e}", path.display())))?;
    arguments.reading.socket.ask(Ask::post_text("/v1/compare", text))
}

/// What matters here of the answer.
#[derive(serde::Deserialize)]
struct Compared {
    changes: String,
    restart_needed: Vec<String>,
}

impl Compared {
    fn code(&self) -> ExitCode {
        match self.restart_needed.is_empty() {
            true => ExitCode::SUCCESS,
            false => ExitCode::from(exit::CONFIG),
        }
    }
}

/// Loads the file; prints its warnings, or its errors.
pub(crate) fn load(file: &ConfigFile) -> Result<Loaded, ExitCode> {
    load_with(file, |warnings| warnings)
}

/// The same for what sends nothing over a wire, and takes every next hop as known.
pub(crate) fn load_off_the_wire(file: &ConfigFile) -> Result<Loaded, ExitCode> {
    load_with(file, Diagnostics::off_the_wire)
}

/// The same for what a machine reads, or nothing depends on: errors alone are shown.
pub(crate) fn load_quietly(file: &ConfigFile) -> Result<Config, ExitCode> {
    config::load(&file.config).map(|loaded| loaded.config).map_err(|errors| {
        say::err(errors.render(std::io::IsTerminal::is_terminal(&std::io::stderr())));
        ExitCode::from(exit::CONFIG)
    })
}

fn load_with(
    file: &ConfigFile,
    shown: impl Fn(Diagnostics) -> Diagnostics,
) -> Result<Loaded, ExitCode> {
    let colours = std::io::IsTerminal::is_terminal(&std::io::stderr());
    match config::load(&file.config) {
        Ok(Loaded { config, warnings }) => {
            let warnings = shown(warnings);
            say::err(warnings.render(colours));
            Ok(Loaded { config, warnings })
        }
        Err(errors) => {
            say::err(errors.render(colours));
            Err(ExitCode::from(exit::CONFIG))
        }
    }
}
