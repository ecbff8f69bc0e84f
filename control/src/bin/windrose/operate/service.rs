//! `windrose service`

use std::process::ExitCode;

use clap::Subcommand;
use control::admin::answer::OrderOf;

use super::{Reading, order};

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  windrose service drain web
  windrose service enable web

A drained service takes no new connections: they are dropped and counted (no_eligible_backend). Established ones go on for
connection_draining_timeout. The order takes effect before the command returns and stays over reloads and restarts, for
backends that the file adds later too; enable undoes it, but not the orders about single backends.
Exit code 0 when the order is in force, 65 when there is no such service, 69 when windrose is not running.")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Drain every backend of it
    #[command(
        after_help = "Example:\n  windrose service drain web    # windrose service enable undoes it"
    )]
    Drain(Service),
    /// Undo that
    #[command(
        after_help = "Example:\n  windrose service enable web   # orders about single backends stay"
    )]
    Enable(Service),
}

#[derive(clap::Args)]
struct Service {
    /// The service
    #[arg(value_name = "SERVICE")]
    service: String,
    #[command(flatten)]
    reading: Reading,
}

pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    let (path, said, service) = match &arguments.verb {
        Verb::Drain(service) => ("/v1/drain", "drained", service),
        Verb::Enable(service) => ("/v1/enable", "enabled", service),
    };
    let Service { service, reading } = service;
    let of = OrderOf { service: service.clone(), backend: None };
    order(reading, path, &of, &format!("service {service} is {said}"))
}
