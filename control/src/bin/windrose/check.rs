//! `windrose check`: everything that is wrong with a file, at once.

use std::process::ExitCode;

use control::admin::client::Ask;
use control::config::{self, Diagnostics, Loaded};
use control::model::Config;

use crate::operate::{self, Socket};
use crate::{ConfigFile, exit, say, workers};

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  windrose check
  windrose check --config ./windrose.toml
  windrose check --config ./new.toml --against-running

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
    socket: Socket,
}

pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    match load(&arguments.file) {
        Ok(loaded) => {
            say::out(format_args!(
                "{}: valid: {}\n",
                arguments.file.config.display(),
                contents(&loaded)
            ));
            if !loaded.config.ports.is_empty() {
                say::out(format_args!("connection table: {}\n", workers::memory(&loaded.config)));
            }
            match arguments.against_running {
                true => against_running(arguments).unwrap_or_else(|code| code),
                false => ExitCode::SUCCESS,
            }
        }
        Err(code) => code,
    }
}

/// What a reload of the file would change, or why it would be refused.
fn against_running(arguments: &Arguments) -> Result<ExitCode, ExitCode> {
    let path = &arguments.file.config;
    let text = std::fs::read(path)
        .map_err(|e| exit::with(exit::CONFIG, &format!("{}: {e}", path.display())))?;
    let answer = arguments.socket.ask(Ask::post_text("/v1/compare", text))?;
    let compared: Compared = operate::read(answer)?;
    say::out(compared.changes);
    match compared.restart_needed.is_empty() {
        true => Ok(ExitCode::SUCCESS),
        false => Ok(ExitCode::from(exit::CONFIG)),
    }
}

/// What matters here of the answer.
#[derive(serde::Deserialize)]
struct Compared {
    changes: String,
    restart_needed: Vec<String>,
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

fn contents(loaded: &Loaded) -> String {
    let config = &loaded.config;
    let backends: usize =
        config.services.iter().flat_map(|s| &s.groups).map(|g| g.backends.len()).sum();
    let counted = [
        (config.ports.len(), "port"),
        (config.services.len(), "service"),
        (backends, "backend"),
        (config.rules.len(), "forwarding rule"),
    ];
    counted.map(|(count, what)| plural(count, what)).join(", ")
}

fn plural(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
