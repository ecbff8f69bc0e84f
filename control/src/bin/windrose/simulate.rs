//! `windrose simulate`: which backend, and why; what would this change do to my connections?

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use control::config;
use control::model::Config;
use control::simulate::{Scenario, Simulator};

use crate::desk::WorkerDesk;
use crate::{ConfigFile, check, exit, say};

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  windrose simulate --config windrose.toml scenario.toml
  windrose simulate --config windrose.toml scenario.toml | jq -c 'select(.verdict == \"drop\")'

A scenario:
  [[event]]
  at = \"0s\"
  health = { service = \"web\", backend = \"rack-a/a1\", healthy = true }
  [[event]]
  at = \"1s\"
  packet = { protocol = \"tcp\", src = \"198.51.100.7\", sport = 40000, dst = \"203.0.113.10\", dport = 80, flags = \"S\" }

Events: packet, health, weight, drain, disable, enable, reload, batch; an event with only `at` lets time pass.
Exit code 0 when every event was run, 65 for a fault in the scenario (it names the event's number), 78 for one in FILE.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    file: ConfigFile,
    /// How to print it
    #[arg(long, value_enum, default_value_t = Format::Json)]
    format: Format,
    /// The file with the events
    #[arg(value_name = "SCENARIO")]
    scenario: PathBuf,
}

/// There is one, so that every command that shows something takes it.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Format {
    /// One JSON object a line for each event
    Json,
}

pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    let config = match check::load_off_the_wire(&arguments.file) {
        Ok(loaded) => loaded.config,
        Err(code) => return code,
    };
    let scenario = match scenario(&arguments.scenario) {
        Ok(scenario) => scenario,
        Err(fault) => return exit::with(exit::DATA, &fault),
    };
    let desk = match WorkerDesk::new(&config, scenario.packets()) {
        Ok(desk) => desk,
        Err(error) => return exit::with(exit::SYSTEM, &format!("no connection table: {error}")),
    };
    let Format::Json = arguments.format;
    let folder = arguments.scenario.parent().unwrap_or(Path::new("."));
    events(config, desk, &scenario, folder)
}

fn scenario(path: &Path) -> Result<Scenario, String> {
    let name = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("{name}: the scenario cannot be read: {error}"))?;
    Scenario::parse(&name.to_string(), &text).map_err(|faults| faults.to_string())
}

fn events(config: Config, desk: WorkerDesk, scenario: &Scenario, folder: &Path) -> ExitCode {
    let mut simulator = match Simulator::new(config, desk) {
        Ok(simulator) => simulator,
        Err(stopped) => return exit::with(exit::CONFIG, &stopped),
    };
    if let Err(faults) = scenario.check_names(simulator.state()) {
        return exit::with(exit::DATA, &faults);
    }
    let mut out = io::BufWriter::new(io::stdout().lock());
    for event in &scenario.events {
        let number = event.number;
        let load = |path: &Path| reload(&folder.join(path), number);
        let printed = match simulator.run(event, &load) {
            Ok(result) => print(&mut out, &result),
            Err(stopped) => {
                let _ = out.flush();
                return exit::with(exit::DATA, &format!("{}:{stopped}", scenario.name));
            }
        };
        if printed.is_err() {
            return ExitCode::SUCCESS;
        }
    }
    // Whoever reads may have had enough: that is no fault of ours.
    let _ = out.flush();
    ExitCode::SUCCESS
}

fn print(out: &mut impl Write, result: &control::simulate::EventResult) -> io::Result<()> {
    serde_json::to_writer(&mut *out, result)?;
    out.write_all(b"\n")
}

/// A new file; what is wrong with it is shown, and the old one goes on.
fn reload(path: &Path, event: usize) -> Result<Config, String> {
    match config::load(path) {
        Ok(loaded) => {
            say::err(loaded.warnings.off_the_wire().render(false));
            Ok(loaded.config)
        }
        Err(errors) => {
            say::err(format_args!(
                "windrose: event {event}: the reload is refused:\n{}",
                errors.render(false)
            ));
            let faults: Vec<_> = errors.items().iter().map(|fault| &*fault.message).collect();
            Err(faults.join("; "))
        }
    }
}
