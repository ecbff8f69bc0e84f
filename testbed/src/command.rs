//! Programs that are run to their end.

use std::process::{Command, Output};

use crate::error::{Context, Error, Result};

/// Splits a command line at spaces; no argument here needs one inside.
pub fn command(line: &str) -> Command {
    let mut words = line.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words);
    command
}

/// Runs a command line and gives what it printed.
pub fn run(line: &str) -> Result<String> {
    output(&mut command(line)).map(|o| String::from_utf8_lossy(&o.stdout).into_owned())
}

/// Runs a command; an exit code that is not 0 is an error that carries what it said.
pub fn output(command: &mut Command) -> Result<Output> {
    let text = format!("{command:?}").replace('"', "");
    let output = command.output().context(text.clone())?;
    if output.status.success() {
        return Ok(output);
    }
    let mut stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if stderr.is_empty() {
        stderr = output.status.to_string();
    }
    Err(Error::Command { command: text, stderr })
}
