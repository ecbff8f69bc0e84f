//! Commands that talk to the process that runs, by its control socket.

pub(crate) mod backend;
pub(crate) mod connections;
pub(crate) mod counters;
pub(crate) mod health;
pub(crate) mod reload;
pub(crate) mod service;
pub(crate) mod status;

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

use control::admin::answer::{Changed, OrderOf};
use control::admin::client::{self, Ask, NoAnswer};
use control::admin::words::Look;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{exit, say};

/// Where the process listens.
#[derive(clap::Args)]
pub(crate) struct Socket {
    /// The control socket: admin.socket of its configuration
    #[arg(long, value_name = "PATH", default_value = "/run/windrose/control.sock")]
    pub(crate) socket: PathBuf,
}

/// How an answer is printed.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// For people
    Text,
    /// One JSON object
    Json,
}

/// What every command that prints an answer takes.
#[derive(clap::Args)]
pub(crate) struct Reading {
    #[command(flatten)]
    pub(crate) socket: Socket,
    /// How to print it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

impl Socket {
    /// Asks; an error is already told.
    pub(crate) fn ask(&self, question: Ask<'_>) -> Result<Value, ExitCode> {
        client::ask(&self.socket, question).map_err(|why| {
            let code = match why {
                NoAnswer::NotRunning(_) => exit::NOT_RUNNING,
                NoAnswer::NotPermitted(_) => exit::NOT_PERMITTED,
                NoAnswer::Busy(_) => exit::BUSY,
                NoAnswer::Refused(_) => exit::DATA,
                NoAnswer::Broken { .. } => exit::INTERNAL,
            };
            exit::with(code, &why)
        })
    }
}

/// An answer as a type.
pub(crate) fn read<T: DeserializeOwned>(answer: Value) -> Result<T, ExitCode> {
    serde_json::from_value(answer).map_err(|e| {
        let why = format!("the process answers otherwise than this program expects: {e}");
        exit::with(exit::INTERNAL, &why)
    })
}

impl Reading {
    /// Asks, and prints the answer: as it came, or in the words that `shown` makes of it.
    pub(crate) fn show<T: DeserializeOwned>(
        &self,
        path: &str,
        shown: impl FnOnce(&T) -> String,
    ) -> ExitCode {
        let printed = self.socket.ask(Ask::get(path)).and_then(|answer| {
            match self.format {
                Format::Json => say::out(format_args!("{answer:#}\n")),
                Format::Text => say::out(shown(&read(answer)?)),
            }
            Ok(())
        });
        printed.err().unwrap_or(ExitCode::SUCCESS)
    }
}

/// Colours are for people at a terminal who have not asked for none (no-color.org).
pub(crate) fn look() -> Look {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    Look { colours: std::io::stdout().is_terminal() && !refused }
}

/// Gives an order, and says what is in force now.
pub(crate) fn order(reading: &Reading, path: &str, of: &OrderOf, said: &str) -> ExitCode {
    let ordered = reading.socket.ask(Ask::post(path, of)).and_then(|answer| {
        if reading.format == Format::Json {
            say::out(format_args!("{answer:#}\n"));
        }
        read::<Changed>(answer)
    });
    let changed = match ordered {
        Ok(changed) => changed,
        Err(code) => return code,
    };
    if reading.format == Format::Text {
        say::out(format_args!("{said} (generation {})\n", changed.generation));
    }
    if let Some(why) = changed.not_kept {
        say::err(format_args!(
            "windrose: it holds until a restart only: {why}; give it again when that is mended\n"
        ));
    }
    ExitCode::SUCCESS
}
