//! Logs, to standard error: lines for a person on a terminal, one JSON object a line otherwise.
//!
//! What changes is said as one event with fields, by the names that an operator searches for:
//! `service`, `backend`, `port`, `worker`, `from`, `to`, `reason`, `generation`. Workers say nothing.
//!
//! - [`repeats`]: what is said again and again is held back and counted;
//! - [`filter`]: that, as part of `tracing`;
//! - [`output`]: where lines go, and how the journal learns their level.

mod filter;
#[cfg(test)]
mod golden;
mod output;
mod repeats;

use std::fmt::Display;
use std::io::IsTerminal;
use std::panic::PanicHookInfo;
use std::path::Path;
use std::process::ExitCode;

use tracing_subscriber::Layer;
use tracing_subscriber::filter::{FilterExt, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use control::admin::answer::Reloaded;
use control::config::Diagnostics;
use filter::{ANSWER, Held, HoldBack};
#[cfg(test)]
pub(crate) use golden::lines;
use output::Stderr;

use crate::{exit, say};

/// What is logged, and how.
#[derive(clap::Args)]
pub(crate) struct Logging {
    /// How the log looks; auto: for a person on a terminal, JSON otherwise
    #[arg(long = "log-format", value_name = "FORMAT", value_enum, default_value_t)]
    format: Format,
    /// How much is logged: off, error, warn, info, debug or trace; of one part: info,h2=debug
    #[arg(long = "log-level", value_name = "LEVEL", env = "WINDROSE_LOG", default_value = "info")]
    level: Targets,
}

/// `--log-format`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    #[default]
    Auto,
    Human,
    Json,
}

impl Format {
    fn is_human(self) -> bool {
        match self {
            Self::Auto => std::io::stderr().is_terminal(),
            Self::Human => true,
            Self::Json => false,
        }
    }
}

/// The log, for what is more than an event: texts of many lines, and what was held back.
pub(crate) struct Log {
    human: bool,
    held: Held,
}

/// Starts logging, panics included.
pub(crate) fn start(arguments: &Logging) -> Log {
    let human = arguments.format.is_human();
    let (hold_back, held) = HoldBack::new();
    let filter = arguments.level.clone().and(hold_back);
    // A layer would tell of a closed standard error there, and panic.
    let lines = tracing_subscriber::fmt::layer().with_target(false).log_internal_errors(false);
    let layer = if human {
        lines.with_ansi(std::io::stderr().is_terminal()).with_writer(std::io::stderr).boxed()
    } else {
        lines.json().flatten_event(true).with_writer(Stderr::new()).boxed()
    };
    tracing_subscriber::registry().with(layer.with_filter(filter)).init();
    std::panic::set_hook(Box::new(log_panic));
    Log { human, held }
}

impl Log {
    /// The file's warnings.
    pub(crate) fn warnings(&self, warnings: &Diagnostics) {
        if self.human {
            say::err(warnings.render(std::io::stderr().is_terminal()));
        } else if !warnings.is_empty() {
            tracing::warn!(target: ANSWER, reason = warnings.render(false), "configuration");
        }
    }

    /// The file cannot be used; the process ends.
    pub(crate) fn invalid(&self, errors: &Diagnostics) -> ExitCode {
        if self.human {
            say::err(errors.render(std::io::stderr().is_terminal()));
            return ExitCode::from(exit::CONFIG);
        }
        self.end(exit::CONFIG, &errors.render(false))
    }

    /// What somebody asked for was not done, and why: a text of many lines.
    pub(crate) fn refused(&self, what: &str, why: &dyn Display) {
        if self.human {
            tracing::error!(target: ANSWER, "{what}:\n{why}");
        } else {
            tracing::error!(target: ANSWER, reason = %why, "{what}");
        }
    }

    /// What came of a reload: what has changed, or why nothing has.
    pub(crate) fn reloaded(&self, reloaded: &Reloaded, file: &Path) {
        let Reloaded { generation, warnings, changes, error, .. } = reloaded;
        if self.human {
            say::err(warnings);
        } else if !warnings.is_empty() {
            tracing::warn!(target: ANSWER, reason = warnings, "configuration");
        }
        let (changes, file) = (shortened(changes.trim_end()), file.display());
        match error {
            Some(why) => self.refused("reload refused, the old configuration goes on", why),
            None if self.human => {
                say::err(format_args!("{changes}\n"));
                tracing::info!(target: ANSWER, generation, %file, "reloaded");
            }
            None => tracing::info!(target: ANSWER, generation, %file, changes, "reloaded"),
        }
    }

    /// The last thing said.
    pub(crate) fn end(&self, code: u8, why: &dyn Display) -> ExitCode {
        if self.human {
            return exit::with(code, why);
        }
        tracing::error!(target: ANSWER, code, reason = %why, "ends");
        ExitCode::from(code)
    }

    /// How often what was held back was said, where a minute is over.
    pub(crate) fn tell_repeats(&self) {
        self.held.tell();
    }
}

/// The changes of a thousand services are not a matter of the log.
fn shortened(text: &str) -> String {
    const LOGGED: usize = 8_192;
    match text.char_indices().nth(LOGGED) {
        Some((end, _)) => format!("{}\n… ({} bytes more)", &text[..end], text.len() - end),
        None => text.to_owned(),
    }
}

/// The log is where people look, so a panic is one event of it, of a worker's too.
///
/// Where the control thread panics, workers go on without anybody who looks after them: the process
/// ends, and whoever supervises it starts it again. A worker's end is the control thread's business.
fn log_panic(panic: &PanicHookInfo<'_>) {
    let payload = panic.payload();
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let place = panic.location().map(ToString::to_string).unwrap_or_default();
    let thread = std::thread::current().name().unwrap_or("worker").to_owned();
    tracing::error!(place, thread, reason = text.unwrap_or("no message"), "panicked");
    if thread == "main" {
        std::process::exit(exit::INTERNAL.into());
    }
}
