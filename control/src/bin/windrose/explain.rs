//! `windrose explain`: one packet's way, in words.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use control::admin::answer::{Explained, Question};
use control::admin::client::Ask;
use control::explain::{self, Explanation, QuestionError};
use control::model::Config;
use control::simulate::scenario::Packet;
use control::simulate::{Simulator, Stop};
use control::state::{Change, Verb};

use crate::desk::WorkerDesk;
use crate::operate::{self, Format, Reading};
use crate::{ConfigFile, check, exit, say};

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  windrose explain --config windrose.toml 'tcp 198.51.100.7:40000 > 203.0.113.10:80'
  windrose explain --config windrose.toml 'udp [2001:db8::7]:5000 > [2001:db8::10]:53' --all-healthy
  windrose explain --config windrose.toml 'tcp 198.51.100.7:40000 > 203.0.113.10:80 A' --health 'web rack-a/a1=down'
  windrose explain --state-from-running 'tcp 198.51.100.7:40000 > 203.0.113.10:80 A'
  windrose explain --format json 'tcp 198.51.100.7:40000 > 203.0.113.10:80' | jq .backend

A packet is PROTOCOL SOURCE > DESTINATION [FLAGS]; TCP without flags is taken as a SYN.
Backends start as initial_health says; --all-healthy and --health say otherwise. --state-from-running takes health, weights,
drains and the packet's own connection from the process that runs, and its configuration too; with --config it says what would
become of the packet after a reload of that file.
Exit code 0 when there is an answer, 65 when the packet or a --health is not understood, 69 when windrose is not running, 78 for a
fault in FILE.")]
pub(crate) struct Arguments {
    /// The configuration file; by default /etc/windrose/windrose.toml
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Ask the running process, with what it knows
    #[arg(long, conflicts_with_all = ["all_healthy", "health"])]
    state_from_running: bool,
    #[command(flatten)]
    reading: Reading,
    /// Take every backend as healthy
    #[arg(long)]
    all_healthy: bool,
    /// Take one backend as up or down; may be given several times
    #[arg(long, value_name = "SERVICE GROUP/NAME=up|down")]
    health: Vec<String>,
    /// The packet
    #[arg(value_name = "PACKET")]
    packet: String,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Question(#[from] QuestionError),
    #[error(
        "--health {0:?}: write it as 'SERVICE GROUP/NAME=up' or '…=down', for example 'web rack-a/a1=down'"
    )]
    Health(String),
    #[error(transparent)]
    Stop(#[from] Stop),
    #[error("no connection table: {0}")]
    Memory(#[from] std::io::Error),
}

pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    if arguments.state_from_running {
        return from_running(arguments).unwrap_or_else(|code| code);
    }
    let file = arguments.config.clone().map_or_else(ConfigFile::default, ConfigFile::at);
    let config = match check::load_off_the_wire(&file) {
        Ok(loaded) => loaded.config,
        Err(code) => return code,
    };
    match answer(arguments, config) {
        Ok(explanation) => print(arguments, explanation),
        Err(failure @ Failure::Memory(_)) => exit::with(exit::SYSTEM, &failure),
        Err(failure) => exit::with(exit::DATA, &failure),
    }
}

/// The process that runs has the state, the connections, and the same code.
fn from_running(arguments: &Arguments) -> Result<ExitCode, ExitCode> {
    let file = arguments.config.as_ref().map(|path| {
        std::fs::read_to_string(path)
            .map_err(|e| exit::with(exit::CONFIG, &format!("{}: {e}", path.display())))
    });
    let question = Question { packet: arguments.packet.clone(), file: file.transpose()? };
    let answer = arguments.reading.socket.ask(Ask::post("/v1/explain", &question))?;
    let Explained { answer: words, packet, .. } = operate::read(answer)?;
    Ok(print(arguments, Explanation { words, packet }))
}

fn print(arguments: &Arguments, explanation: Explanation) -> ExitCode {
    match arguments.reading.format {
        Format::Text => say::out(explanation.words),
        Format::Json => say::out(format_args!("{:#}\n", explanation.json())),
    }
    ExitCode::SUCCESS
}

fn answer(arguments: &Arguments, config: Config) -> Result<Explanation, Failure> {
    let packet: Packet = explain::parse(&arguments.packet)?;
    let mut changes = if arguments.all_healthy { all_healthy(&config) } else { Vec::new() };
    for told in &arguments.health {
        changes.push(health(told).ok_or_else(|| Failure::Health(told.clone()))?);
    }
    let desk = WorkerDesk::new(&config, 1)?;
    let mut simulator = Simulator::new(config, desk)?;
    simulator.apply(&changes, Duration::ZERO)?;
    Ok(explain::explain(&mut simulator, &packet, Duration::ZERO)?)
}

fn all_healthy(config: &Config) -> Vec<Change> {
    let groups = config.services.iter().flat_map(|s| s.groups.iter().map(move |g| (s, g)));
    let backends = groups.flat_map(|(s, g)| g.backends.iter().map(move |b| (s, g, b)));
    let healthy = backends.map(|(service, group, backend)| Change::Backend {
        service: service.name.to_string(),
        backend: format!("{}/{}", group.name, backend.name),
        verb: Verb::Health(true),
    });
    healthy.collect()
}

/// `SERVICE GROUP/NAME=up|down`
fn health(told: &str) -> Option<Change> {
    let (who, verdict) = told.rsplit_once('=')?;
    let (service, backend) = who.trim().split_once(char::is_whitespace)?;
    let healthy = match verdict.trim() {
        "up" => true,
        "down" => false,
        _ => return None,
    };
    let (service, backend) = (service.to_owned(), backend.trim().to_owned());
    Some(Change::Backend { service, backend, verb: Verb::Health(healthy) })
}
