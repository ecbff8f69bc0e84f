//! `windrose`: the composition root. Only here do the configuration, the policy, the packet path
//! and DPDK meet.

mod appliance;
mod check;
mod counters;
mod events;
mod exit;
mod host;
mod logging;
mod pcap;
mod ports;
mod run;
mod workers;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// A bare-metal layer-4 load balancer.
#[derive(Parser)]
#[command(name = "windrose", version, about, after_help = exit::HELP)]
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
    /// Print the configuration file's JSON Schema
    Schema,
}

/// Where the configuration is.
#[derive(clap::Args)]
struct ConfigFile {
    /// The configuration file
    #[arg(long, value_name = "FILE", default_value = "/etc/windrose/windrose.toml")]
    config: PathBuf,
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
        Command::Schema => schema(),
    }
}

fn schema() -> ExitCode {
    println!("{:#}", control::config::schema());
    ExitCode::SUCCESS
}
