//! `windrose backend`

use std::process::ExitCode;

use clap::Subcommand;
use control::admin::answer::OrderOf;

use super::{Reading, order};

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  windrose backend drain web rack-a/a1     # before maintenance: no new connections, the others end by themselves
  windrose backend disable web rack-a/a1   # as if its check failed
  windrose backend enable web rack-a/a1    # undoes both

drain is like taking the backend out of the file: established connections go on for connection_draining_timeout. disable is
like a failed check: they go on where connections persist on unhealthy backends. Both take effect before the command
returns, and stay over reloads and restarts until they are undone; windrose status shows them.
Exit code 0 when the order is in force, 65 when there is no such service or backend, 69 when windrose is not running.")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// No new connections; established ones go on for the draining timeout
    #[command(
        after_help = "Example:\n  windrose backend drain web rack-a/a1     # windrose backend enable undoes it"
    )]
    Drain(Backend),
    /// Take it as unhealthy, whatever its check says
    #[command(
        after_help = "Example:\n  windrose backend disable web rack-a/a1   # windrose backend enable undoes it"
    )]
    Disable(Backend),
    /// Undo drain and disable
    #[command(after_help = "Example:\n  windrose backend enable web rack-a/a1")]
    Enable(Backend),
}

#[derive(clap::Args)]
struct Backend {
    /// The service
    #[arg(value_name = "SERVICE")]
    service: String,
    /// The backend
    #[arg(value_name = "GROUP/NAME")]
    backend: String,
    #[command(flatten)]
    reading: Reading,
}

pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    let (path, said, backend) = match &arguments.verb {
        Verb::Drain(backend) => ("/v1/drain", "drained", backend),
        Verb::Disable(backend) => ("/v1/disable", "disabled", backend),
        Verb::Enable(backend) => ("/v1/enable", "enabled", backend),
    };
    let Backend { service, backend, reading } = backend;
    let of = OrderOf { service: service.clone(), backend: Some(backend.clone()) };
    order(reading, path, &of, &format!("{service} {backend} is {said}"))
}
