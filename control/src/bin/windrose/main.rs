//! `windrose`: the composition root. Only here do the configuration, the policy, the packet path
//! and DPDK meet.

// They panic when nobody reads: `say` does not.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod admin;
mod appliance;
mod backend_setup;
mod background;
mod beats;
mod check;
mod checks;
mod claim;
mod counters;
mod desk;
mod diff;
mod doctor;
mod ending;
mod events;
mod exit;
mod explain;
mod failure;
mod first_results;
mod host;
mod lag;
mod listing;
mod logging;
mod members;
mod opening;
mod operate;
mod paperwork;
mod pcap;
mod ports;
mod quiet;
mod rounds;
mod routes;
mod run;
mod say;
mod service;
mod simulate;
mod state_explain;
mod tunnel_errors;
mod watch;
mod workers;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// A bare-metal layer-4 load balancer.
#[derive(Parser)]
#[command(name = "windrose", version, about = "A bare-metal layer-4 load balancer", after_help = exit::HELP)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Balance: start the workers, reload on SIGHUP, stop on SIGTERM or SIGINT
    Run(run::Arguments),
    /// Say everything that is wrong with a configuration file
    Check(check::Arguments),
    /// Send a capture through one worker and write what it would transmit
    Pcap(pcap::Arguments),
    /// Run events through the code that decides, and say where every packet goes and why
    Simulate(simulate::Arguments),
    /// Say in words where one packet goes and why
    Explain(explain::Arguments),
    /// Say what a reload would change; nothing is applied
    Diff(diff::Arguments),
    /// Look at this machine, and say what is wrong for a configuration and what helps
    Doctor(doctor::Arguments),
    /// Print what a service's backends need: tunnel, VIPs, settings
    BackendSetup(backend_setup::Arguments),
    /// Make the running process read its file again, and say what has changed
    Reload(operate::reload::Arguments),
    /// Rules, services and backends of the running process, and why each serves or does not
    Status(operate::status::Arguments),
    /// Every backend's health, and what its check last said
    Health(operate::health::Arguments),
    /// List or count the connections of the running process
    Connections(operate::connections::Arguments),
    /// What the running process has counted
    Counters(operate::counters::Arguments),
    /// Drain, disable or enable a backend
    Backend(operate::backend::Arguments),
    /// Drain or enable a whole service
    Service(operate::service::Arguments),
    /// Print the configuration file's JSON Schema
    #[command(
        after_help = "Example:\n  windrose schema >windrose.schema.json   # then, as the first line of windrose.toml:\n                                          # #:schema windrose.schema.json"
    )]
    Schema,
    /// Write man pages or shell completions
    #[command(hide = true)]
    Paperwork(paperwork::Arguments),
}

/// Where the configuration is.
#[derive(clap::Args)]
struct ConfigFile {
    /// The configuration file
    #[arg(long, value_name = "FILE", default_value = ConfigFile::DEFAULT)]
    config: PathBuf,
}

impl ConfigFile {
    const DEFAULT: &str = "/etc/windrose/windrose.toml";

    fn at(config: PathBuf) -> Self {
        Self { config }
    }
}

impl Default for ConfigFile {
    fn default() -> Self {
        Self::at(Self::DEFAULT.into())
    }
}

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(refused) => return exit::usage(&refused),
    };
    match arguments.command {
        Command::Run(arguments) => run::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Pcap(arguments) => pcap::run(&arguments),
        Command::Simulate(arguments) => simulate::run(&arguments),
        Command::Explain(arguments) => explain::run(&arguments),
        Command::Diff(arguments) => diff::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::BackendSetup(arguments) => backend_setup::run(&arguments),
        Command::Reload(arguments) => operate::reload::run(&arguments),
        Command::Status(arguments) => operate::status::run(&arguments),
        Command::Health(arguments) => operate::health::run(&arguments),
        Command::Connections(arguments) => operate::connections::run(&arguments),
        Command::Counters(arguments) => operate::counters::run(&arguments),
        Command::Backend(arguments) => operate::backend::run(&arguments),
        Command::Service(arguments) => operate::service::run(&arguments),
        Command::Schema => schema(),
        Command::Paperwork(arguments) => paperwork::run(&arguments),
    }
}

fn schema() -> ExitCode {
    say::out(format_args!("{:#}\n", control::config::schema()));
    ExitCode::SUCCESS
}
